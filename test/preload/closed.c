/*
 * closed.c
 *	  A library that is closed before what it has allocated is freed.
 */
#include <stdlib.h>

extern void *closed_allocate(size_t size);

void *
closed_allocate(size_t size)
{
	return malloc(size);
}

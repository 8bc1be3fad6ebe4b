/*
 * heap.c
 *	  The memory that the search itself takes.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "heap/heap.h"

void *
plh_heap_reserve(Size bytes)
{
	void	   *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
							  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

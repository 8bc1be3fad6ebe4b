/*
 * assertions.c
 *	  What a failed Assert calls where the server has assertions.
 *
 * Its parameters differ between versions, so no header of the server is
 * included here, and none is looked at.
 */
#include <stdlib.h>

void
ExceptionalCondition(void)
{
	abort();
}

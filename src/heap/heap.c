/*
 * heap.c
 *	  The memory that the search itself takes.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "heap/heap.h"

/* Not in huge pages, of which each of many small tables would take one. */
void *
plh_heap_reserve(Size bytes)
{
	void	   *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
							  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	(void) madvise(memory, bytes, MADV_NOHUGEPAGE);
	return memory;
}

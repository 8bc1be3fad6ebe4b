/*
 * heap.c
 *	  The memory that the search itself takes.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/page_layout.h"
#include "heap/heap.h"

/* The child that searches has none when it begins. */
#define MOST_REGIONS 4096

static PLH_LARGE PLH_SURVIVES_FORK PlhHeapRegion regions[MOST_REGIONS];
static PLH_SURVIVES_FORK int region_count;

/* Not in huge pages, of which each of many small tables would take one. */
void *
plh_heap_reserve(Size bytes)
{
	void	   *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
							  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED || region_count == MOST_REGIONS)
		return NULL;
	regions[region_count++] = (PlhHeapRegion)
	{
		(uintptr_t) memory, (uintptr_t) memory + TYPEALIGN(getpagesize(), bytes)
	};
	(void) madvise(memory, bytes, MADV_NOHUGEPAGE);
	return memory;
}

const		PlhHeapRegion *
plh_heap_region(int number)
{
	return number < region_count ? &regions[number] : NULL;
}

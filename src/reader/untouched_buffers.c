/*
 * untouched_buffers.c
 *	  How much of shared_buffers takes no memory yet.
 *
 * Buffers are taken into use one after another, and stay in use.  mincore is asked of some pages at
 * equal distances, always the same: so what is told falls as memory is taken.  Of pages that are in
 * use it is not asked again.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "storage/bufmgr.h"

#include "base/fork.h"
#include "base/mappings.h"
#include "reader/untouched_buffers.h"

/* The pages that are asked of, which takes some 0.1 ms while all are untouched. */
#define ASKED_PAGES 256

/* Room for a list of mappings. */
#define LIST_BYTES 65536

typedef enum Answer
{
	NOT_ASKED,
	SOME_UNTOUCHED,
	NONE_UNTOUCHED
} Answer;

/* The same in each process, and never taken back. */
static PLH_SURVIVES_FORK Answer answer;
static PLH_SURVIVES_FORK bool touched[ASKED_PAGES];

/* Is an address in huge pages, or in no mapping that is found? */
static bool
is_huge(const void *address)
{
	char	   *list = palloc(LIST_BYTES);
	char	   *next = list;
	bool		huge = true;
	PlhMapping	mapping;

	if (plh_mappings_read("/proc/self/maps", list, LIST_BYTES))
		while (plh_mappings_next(&next, &mapping))
			if ((uintptr_t) address >= mapping.from && (uintptr_t) address < mapping.to)
				huge = strstr(mapping.path, "/anon_hugepage") != NULL;
	pfree(list);
	return huge;
}

/* How many of the pages that are asked of are there; -1: not known. */
static int
count_touched(Size bytes)
{
	Size		page = sysconf(_SC_PAGESIZE);
	int			count = 0;

	for (int i = 0; i < ASKED_PAGES; i++)
	{
		unsigned char there;
		char	   *address = BufferBlocks + (Size) ((double) bytes * (i + 1) / ASKED_PAGES) - 1;

		if (!touched[i] && mincore((char *) TYPEALIGN_DOWN(page, address), page, &there) != 0)
			return -1;
		touched[i] = touched[i] || (there & 1) != 0;
		count += touched[i];
	}
	return count;
}

int64
plh_untouched_buffers_bytes(void)
{
	Size		bytes = (Size) NBuffers * BLCKSZ;
	int			count;

	if (answer == NOT_ASKED)
		answer = BufferBlocks == NULL || is_huge(BufferBlocks) ? NONE_UNTOUCHED : SOME_UNTOUCHED;
	if (answer == NONE_UNTOUCHED)
		return 0;
	count = count_touched(bytes);
	if (count < 0 || count == ASKED_PAGES)
		answer = NONE_UNTOUCHED;
	return count < 0 ? 0 : (int64) bytes / ASKED_PAGES * (ASKED_PAGES - count);
}

/*
 * private_memory.c
 *	  Address ranges that are reserved whole and backed with memory as needed.
 *
 * This code runs inside palloc, so it makes system calls only.  Pages that are reserved and not
 * committed are PROT_NONE, for which no overcommit policy charges.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "base/fork.h"
#include "base/private_memory.h"

/* Committed bytes of all regions, with those of the parent that were not given back. */
static PLH_SURVIVES_FORK Size all_bytes;

/* Reserve address space.  A reserved region stays as it is, so that each use may ask for it. */
bool
plh_private_memory_reserve(PlhRegion *region, Size bytes)
{
	void	   *base;

	Assert(bytes > 0);
	if (region->base != NULL)
	{
		Assert(bytes <= region->reserved_bytes);
		return true;
	}

	bytes = TYPEALIGN(PLH_REGION_STEP, bytes);
	base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return false;

	region->base = base;
	region->reserved_bytes = bytes;
	region->committed_bytes = 0;
	return true;
}

/* Make the first "bytes" of the region usable.  New memory is zeroed. */
bool
plh_private_memory_commit(PlhRegion *region, Size bytes)
{
	Size		wanted = TYPEALIGN(PLH_REGION_STEP, bytes);

	if (bytes <= region->committed_bytes)
		return true;
	if (region->base == NULL || wanted > region->reserved_bytes)
		return false;
	if (mprotect(region->base + region->committed_bytes, wanted - region->committed_bytes,
				 PROT_READ | PROT_WRITE) != 0)
		return false;

	plh_private_memory_extend(region, wanted);
	return true;
}

/* Note that the region is backed up to "bytes": by the caller's mapping, or by a commit. */
void
plh_private_memory_extend(PlhRegion *region, Size bytes)
{
	Assert(bytes >= region->committed_bytes);
	Assert(bytes <= region->reserved_bytes);
	Assert(bytes % PLH_REGION_STEP == 0);
	all_bytes += bytes - region->committed_bytes;
	region->committed_bytes = bytes;
}

/* Give all memory and addresses back.  The region may be reserved again. */
void
plh_private_memory_discard(PlhRegion *region)
{
	Assert(all_bytes >= region->committed_bytes);
	/* a forked child need not write to what has nothing: a page fault each */
	if (region->base == NULL)
		return;
	all_bytes -= region->committed_bytes;
	munmap(region->base, region->reserved_bytes);
	memset(region, 0, sizeof(*region));
}

Size
plh_private_memory_bytes(void)
{
	return all_bytes;
}

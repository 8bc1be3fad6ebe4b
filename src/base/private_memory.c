/*
 * private_memory.c
 *	  Address ranges that are reserved whole and backed with memory as needed.
 *
 * Runs inside palloc: mmap and mprotect only.  Reserved but uncommitted pages
 * are PROT_NONE, which no overcommit policy charges for.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "base/private_memory.h"

/* The committed bytes of all regions of this process. */
static Size all_bytes;

/*
 * Reserve "bytes" of address space.  A region that is already reserved is
 * left alone, so callers may reserve lazily on each use.
 */
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
	base = mmap(NULL, bytes, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return false;

	region->base = base;
	region->reserved_bytes = bytes;
	region->committed_bytes = 0;
	return true;
}

/*
 * Make the first "bytes" of the region usable; new memory is zeroed.
 */
bool
plh_private_memory_commit(PlhRegion *region, Size bytes)
{
	Size		wanted = TYPEALIGN(PLH_REGION_STEP, bytes);

	if (bytes <= region->committed_bytes)
		return true;
	if (region->base == NULL || wanted > region->reserved_bytes)
		return false;
	if (mprotect(region->base + region->committed_bytes,
				 wanted - region->committed_bytes,
				 PROT_READ | PROT_WRITE) != 0)
		return false;

	plh_private_memory_extend(region, wanted);
	return true;
}

/*
 * Note that the caller has backed the region up to "bytes" by a mapping of its
 * own, or that plh_private_memory_commit has.
 */
void
plh_private_memory_extend(PlhRegion *region, Size bytes)
{
	Assert(bytes >= region->committed_bytes);
	Assert(bytes <= region->reserved_bytes);
	Assert(bytes % PLH_REGION_STEP == 0);
	all_bytes += bytes - region->committed_bytes;
	region->committed_bytes = bytes;
}

/*
 * Give the memory and the address space back.  All pointers into the region
 * become invalid; it may be reserved again.
 */
void
plh_private_memory_discard(PlhRegion *region)
{
	Assert(all_bytes >= region->committed_bytes);
	all_bytes -= region->committed_bytes;
	if (region->base != NULL)
		munmap(region->base, region->reserved_bytes);
	memset(region, 0, sizeof(*region));
}

/*
 * Bytes of memory behind all regions of this process.
 */
Size
plh_private_memory_bytes(void)
{
	return all_bytes;
}

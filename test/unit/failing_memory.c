/*
 * failing_memory.c
 *	  private_memory whose N-th request fails, for tests.
 *
 * The real implementation, each function behind a counter.
 */
#define plh_private_memory_reserve real_reserve
#define plh_private_memory_commit real_commit
#include "base/private_memory.c"
#undef plh_private_memory_reserve
#undef plh_private_memory_commit

#include "failing_memory.h"

int			memory_requests;
int			failing_request;

static bool
fails(void)
{
	memory_requests++;
	return failing_request != 0 && memory_requests >= failing_request;
}

bool
plh_private_memory_reserve(PlhRegion *region, Size bytes)
{
	if (region->base == NULL && fails())
		return false;
	return real_reserve(region, bytes);
}

bool
plh_private_memory_commit(PlhRegion *region, Size bytes)
{
	if (bytes > region->committed_bytes && fails())
		return false;
	return real_commit(region, bytes);
}

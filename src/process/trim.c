/*
 * trim.c
 *	  Gives back to the kernel what malloc keeps although it was freed.
 *
 * A process is asked to by PLH_ERRAND_TRIM.  It does so after a commit, outside of malloc and
 * palloc; what it asks of itself, at once.  The locks of the transaction are released only then.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/allocator.h"
#include "base/process_facts.h"
#include "process/trim.h"
#include "sampler/errands.h"

/* Give back what malloc keeps.  Returns how much that was. */
static int64
trim(void)
{
	int64		before = plh_process_facts_rss_anon_bytes(MyProcPid);

	plh_allocator_release();
	return Max(0, before - plh_process_facts_rss_anon_bytes(MyProcPid));
}

void
plh_trim_if_asked(void)
{
	uint32		request = plh_errands_asked(PLH_ERRAND_TRIM);

	if (unlikely(request != 0))
		plh_errands_done(PLH_ERRAND_TRIM, request, trim());
}

/*
 * trim.c
 *	  Gives back to the kernel what malloc keeps although it was freed.
 *
 * Requests go through the file of requests.  A process carries them out after a commit, outside of
 * malloc and palloc; what it asks of itself, at once.  The locks of the transaction are released
 * only then.
 */
#include "postgres.h"

#include <malloc.h>

#include "miscadmin.h"

#include "base/fork.h"
#include "base/process_facts.h"
#include "process/trim.h"
#include "sampler/control_file.h"

/* The number of requests, to whomever, that this process has looked at. */
static PLH_SURVIVES_FORK uint32 seen;

/* The place of a process, which it may share with others. */
static PlhControlTrim *
place_of(int pid)
{
	return &plh_control_file->trims[pid % PLH_CONTROL_TRIMS];
}

/* Is it this process that the place is of? */
static bool
is_own(const PlhControlTrim *place)
{
	return place->pid == MyProcPid &&
		place->process_start == plh_process_facts_start_ticks(MyProcPid);
}

/* Give back what malloc keeps.  Returns how much that was; 0 where malloc is another. */
static int64
trim(void)
{
	int64		before = plh_process_facts_rss_anon_bytes(MyProcPid);

#ifdef __GLIBC__
	(void) malloc_trim(0);
#endif
	return Max(0, before - plh_process_facts_rss_anon_bytes(MyProcPid));
}

void
plh_trim_if_asked(void)
{
	PlhControlTrim *place;
	uint32		requests;
	uint32		requested;

	if (plh_control_file == NULL)
		return;
	requests = pg_atomic_read_u32(&plh_control_file->trim_requests);
	if (likely(requests == seen))
		return;
	seen = requests;
	place = place_of(MyProcPid);
	requested = place->requested;
	pg_read_barrier();
	if (!is_own(place) || requested == place->done)
		return;
	place->given_back_bytes = trim();
	pg_write_barrier();
	place->done = requested;
}

uint32
plh_trim_ask(int pid)
{
	uint64		start = plh_process_facts_start_ticks(pid);
	PlhControlTrim *place;
	uint32		request;

	if (plh_control_file == NULL || start == 0 || start == PLH_TICKS_UNKNOWN)
		return 0;
	place = place_of(pid);
	request = pg_atomic_add_fetch_u32(&plh_control_file->trim_requests, 1);
	if (request == 0)
		request = pg_atomic_add_fetch_u32(&plh_control_file->trim_requests, 1);
	place->pid = 0;
	pg_write_barrier();
	place->process_start = start;
	place->requested = request;
	pg_write_barrier();
	place->pid = pid;

	/* the process may have looked meanwhile */
	(void) pg_atomic_add_fetch_u32(&plh_control_file->trim_requests, 1);
	return request;
}

bool
plh_trim_is_done(int pid, uint32 request, int64 *bytes)
{
	const volatile PlhControlTrim *place = place_of(pid);

	if (place->pid != pid || place->done != request)
		return false;
	pg_read_barrier();
	*bytes = place->given_back_bytes;
	return true;
}

/*
 * errands.c
 *	  What one process asks another to do for it, once, and whether that is done.
 *
 * This code may run inside palloc.
 */
#include "postgres.h"

#include <unistd.h>

#include "base/fork.h"
#include "base/process_facts.h"
#include "sampler/errands.h"

/* A child that is forked looks once, and finds that it was not asked. */
PLH_SURVIVES_FORK uint32 plh_errands_seen[PLH_ERRANDS];

/* The place of a process, which it may share with others. */
static PlhControlErrand *
place_of(PlhErrand errand, int pid)
{
	return &plh_control_file->errands[errand][pid % PLH_CONTROL_ERRANDS];
}

/* Is the first number as high as the second, or higher?  They go round. */
static inline bool
has_reached(uint32 number, uint32 least)
{
	return (int32) (number - least) >= 0;
}

/* Is it this process that the place is of?  MyProcPid may be its parent's. */
static bool
is_own(const PlhControlErrand *place)
{
	int			pid = getpid();

	return place->pid == pid && place->process_start == plh_process_facts_start_ticks(pid);
}

uint32
plh_errands_asked(PlhErrand errand)
{
	PlhControlErrand *place;
	uint32		requested;

	if (likely(!plh_errands_changed(errand)))
		return 0;
	plh_errands_seen[errand] = pg_atomic_read_u32(&plh_control_file->errand_requests[errand]);
	pg_read_barrier();
	place = place_of(errand, getpid());
	requested = pg_atomic_read_u32(&place->requested);
	return !is_own(place) || has_reached(pg_atomic_read_u32(&place->done), requested) ?
		0 : requested;
}

void
plh_errands_done(PlhErrand errand, uint32 request, int64 result)
{
	PlhControlErrand *place = place_of(errand, getpid());

	place->result = result;
	pg_write_barrier();
	pg_atomic_write_u32(&place->done, request);
}

static uint32
next_request(PlhErrand errand)
{
	uint32		request = pg_atomic_add_fetch_u32(&plh_control_file->errand_requests[errand], 1);

	return request != 0 ? request :
		pg_atomic_add_fetch_u32(&plh_control_file->errand_requests[errand], 1);
}

/*
 * Make the place that of a process.  Of two that do so for different processes at the same time,
 * one or both wait in vain.
 */
static void
take_place(PlhControlErrand *place, int pid, uint64 start, uint32 request)
{
	place->pid = 0;
	pg_write_barrier();
	place->process_start = start;
	pg_atomic_write_u32(&place->done, request - 1);
	pg_atomic_write_u32(&place->requested, request);
	pg_write_barrier();
	place->pid = pid;
}

/* Somebody who has a higher number may have come between. */
static void
raise_requested(PlhControlErrand *place, uint32 request)
{
	uint32		requested = pg_atomic_read_u32(&place->requested);

	while (!has_reached(requested, request) &&
		   !pg_atomic_compare_exchange_u32(&place->requested, &requested, request))
		;
}

uint32
plh_errands_ask(PlhErrand errand, int pid)
{
	uint64		start = plh_process_facts_start_ticks(pid);
	PlhControlErrand *place;
	uint32		request;

	if (plh_control_file == NULL || start == 0 || start == PLH_TICKS_UNKNOWN)
		return 0;
	place = place_of(errand, pid);
	request = next_request(errand);
	if (place->pid == pid && place->process_start == start)
		raise_requested(place, request);
	else
		take_place(place, pid, start, request);

	/* the process may have looked meanwhile */
	(void) pg_atomic_add_fetch_u32(&plh_control_file->errand_requests[errand], 1);
	return request;
}

bool
plh_errands_is_done(PlhErrand errand, int pid, uint32 request, int64 *result)
{
	PlhControlErrand *place = place_of(errand, pid);

	if (*(volatile int32 *) &place->pid != pid ||
		!has_reached(pg_atomic_read_u32(&place->done), request))
		return false;
	pg_read_barrier();
	*result = place->result;
	return true;
}

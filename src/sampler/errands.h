/*
 * errands.h
 *	  What one process asks another to do for it, once, and whether that is done.
 *
 * Requests go through the file of requests (control_file.h), in which a process has a place for
 * each kind.  Of several that ask a process at the same time, all are answered at once.
 *
 * All of these may be called inside palloc; they never palloc, lock or throw.
 */
#pragma once

#include "sampler/control_file.h"

/* The number of requests, to any process, as of when this process last looked. */
extern uint32 plh_errands_seen[PLH_ERRANDS];

/* Has anybody been asked since?  Then plh_errands_asked tells whether it was this process. */
static inline bool
plh_errands_changed(PlhErrand errand)
{
	return plh_control_file != NULL &&
		pg_atomic_read_u32(&plh_control_file->errand_requests[errand]) != plh_errands_seen[errand];
}

/* The number of the request that this process is to carry out; 0: there is none. */
extern uint32 plh_errands_asked(PlhErrand errand);

/* That request is carried out, with that result. */
extern void plh_errands_done(PlhErrand errand, uint32 request, int64 result);

/* Ask a process.  Returns the number of the request; 0: there is no way to. */
extern uint32 plh_errands_ask(PlhErrand errand, int pid);

/* Has the process carried out that request?  Then *result is what came of it. */
extern bool plh_errands_is_done(PlhErrand errand, int pid, uint32 request, int64 *result);

/*
 * control.h
 *	  Requests of other processes to start, stop or re-tune sampling.
 *
 * The server has one small file, which all of its processes map.  A process looks at it in the slow
 * path of its own allocations, which comes at least once per megabyte: so a request takes effect in
 * the middle of a statement, without a signal and without any cooperation of the target.
 *
 * plh_control_changed and plh_control_poll run inside palloc.
 */
#pragma once

/* A request to a process, or to all. */
typedef struct PlhControlRequest
{
	bool		present;		/* else the settings say how */
	bool		sampling;
	uint32		sample_interval;	/* bytes; 0 = as the settings say */
	int32		scope;			/* PlhScope; -1 = as the settings say */
	int64		duration_us;	/* after which it is as before; 0 = for good */
} PlhControlRequest;

/* What this process has seen of requests. */
typedef struct PlhControlSeen
{
	uint32		changes;		/* how many */
	int64		ends_at_us;		/* when its next one ends, by the coarse clock */
	uint64		own_start;		/* of the process; 0: not looked up yet */
} PlhControlSeen;

extern PlhControlSeen plh_control_seen;

/* Where their number is; NULL without a control file. */
extern const volatile uint32 *plh_control_changes;

extern bool plh_control_request_ended(void);

/* Is there a request that this process has not looked at, or has one ended? */
static inline bool
plh_control_changed(void)
{
	if (plh_control_changes == NULL)
		return false;
	return *plh_control_changes != plh_control_seen.changes ||
		(unlikely(plh_control_seen.ends_at_us != 0) && plh_control_request_ended());
}

extern void plh_control_start(const char *directory, uint64 cluster, bool new_server);
extern void plh_control_note_enabled(bool enabled);
extern void plh_control_poll(PlhControlRequest *request);
extern void plh_control_request_of(int pid, PlhControlRequest *request);
extern bool plh_control_request(int pid, const PlhControlRequest *request);
extern void plh_control_forget(void);

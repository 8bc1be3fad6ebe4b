/*
 * control.h
 *	  Requests of other processes to start, stop or re-tune sampling.
 *
 * The server has one small file, which all of its processes map.  A process
 * looks at it in the slow path of its own allocations, which comes at least
 * once per megabyte: so a request takes effect in the middle of a statement,
 * without a signal and without any cooperation of the target.
 *
 * plh_control_changed and plh_control_poll run inside palloc.
 */
#ifndef PLH_CONTROL_H
#define PLH_CONTROL_H

#include "port/atomics.h"

/* A request to a process, or to all. */
typedef struct PlhControlWish
{
	bool		present;		/* else the settings say how */
	bool		sampling;
	uint32		sample_interval;	/* bytes; 0 = as the settings say */
	int32		scope;			/* PlhScope; -1 = as the settings say */
	int64		duration_us;	/* after which it is as before; 0 = for good */
} PlhControlWish;

/* How many changes of requests this process has seen. */
extern uint32 plh_control_seen;

/* Where their number is; NULL without a control file. */
extern const volatile uint32 *plh_control_changes;

/*
 * When the next request that concerns this process ends, by the coarse monotonic
 * clock in microseconds; 0 = none ends.
 */
extern int64 plh_control_ends_at_us;

extern bool plh_control_request_ended(void);

/* Is there a request that this process has not looked at, or has one ended? */
static inline bool
plh_control_changed(void)
{
	if (plh_control_changes == NULL)
		return false;
	return *plh_control_changes != plh_control_seen ||
		(unlikely(plh_control_ends_at_us != 0) && plh_control_request_ended());
}

extern void plh_control_start(const char *directory, bool new_server);
extern void plh_control_note_enabled(bool enabled);
extern void plh_control_poll(PlhControlWish *wish);
extern void plh_control_wish_of(int pid, PlhControlWish *wish);
extern bool plh_control_request(int pid, const PlhControlWish *wish);
extern bool plh_control_reset(void);
extern void plh_control_forget(void);

#endif							/* PLH_CONTROL_H */

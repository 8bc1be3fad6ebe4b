/*
 * owner.h
 *	  The owner of a profile begins it, says who the process is, looks around
 *	  at samples, and publishes the profile.
 *
 * These functions may be called inside palloc, except in a critical section;
 * they never palloc, throw or lock.  Readers call plh_owner_publish outside
 * palloc, to publish their own profile first.
 */
#ifndef PLH_OWNER_H
#define PLH_OWNER_H

#include "datatype/timestamp.h"

/*
 * One sample of so many is an occasion to look around, even if by the coarse clock
 * no time has passed since the last look.
 */
#define PLH_LOOK_SAMPLES 16

/* Samples at smaller intervals than this many bytes are frequent. */
#define PLH_LOOK_INTERVAL 4096

/* Samples at such intervals that were not kept. */
extern uint32 plh_owner_samples_not_kept;

/* Is a sample of that interval, which is not kept, an occasion to look around? */
static inline bool
plh_owner_is_occasion(uint32 interval)
{
	return interval >= PLH_LOOK_INTERVAL ||
		plh_owner_samples_not_kept++ % PLH_LOOK_SAMPLES == 0;
}

extern void plh_owner_start(const char *directory, uint64 cluster);
extern bool plh_owner_begin_profile(void);
extern void plh_owner_settings_changed(uint32 sample_interval, int scope);
extern void plh_owner_note_malloc(const uint64 *other_bytes);
extern void plh_owner_sampled(void);
extern void plh_owner_sample_not_kept(void);
extern bool plh_owner_wants_stock(TimestampTz end);
extern void plh_owner_transaction_over(int64 length_us);
extern void plh_owner_publish(void);
extern void plh_owner_forget(void);

#endif							/* PLH_OWNER_H */

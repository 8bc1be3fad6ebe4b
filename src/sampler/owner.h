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

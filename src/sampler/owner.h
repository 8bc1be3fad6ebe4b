/*
 * owner.h
 *	  What the owner of a profile does about it: begin it, say who it is, look
 *	  around at samples, publish it.
 *
 * Callable inside palloc, except in a critical section; never pallocs, throws
 * or locks.  Called outside palloc as well, by readers that publish their own
 * profile first.
 */
#ifndef PLH_OWNER_H
#define PLH_OWNER_H

extern void plh_owner_start(const char *directory);
extern bool plh_owner_begin_profile(uint32 sample_interval, int scope);
extern void plh_owner_settings_changed(uint32 sample_interval, int scope);
extern void plh_owner_sampled(void);
extern void plh_owner_sampled_out_of_scope(void);
extern void plh_owner_take_stock(int64 gap_us);
extern void plh_owner_publish(void);
extern void plh_owner_forget(void);

#endif							/* PLH_OWNER_H */

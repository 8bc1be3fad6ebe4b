/*
 * process.h
 *	  The life of a process as far as its profile goes: start, fork, first
 *	  samples, exit.
 */
#ifndef PLH_PROCESS_H
#define PLH_PROCESS_H

#include "profile/profile_layout.h"

/* Called when the module is loaded, outside palloc. */
extern const char *plh_process_start(void);
extern void plh_process_give_up(const char *refusal);
extern void plh_process_watch_transactions(void);

/* Callable inside palloc, except in a critical section; never throw. */
extern bool plh_process_begin_profile(uint32 sample_interval, int scope);
extern void plh_process_settings_changed(uint32 sample_interval, int scope);
extern void plh_process_sampled(void);
extern void plh_process_sampled_out_of_scope(void);
extern void plh_process_publish(void);

/* For readers. */
extern const char *plh_process_profile_directory(void);
extern const char *plh_process_refusal(void);
extern bool plh_process_is_preloaded(void);
extern double plh_process_surely_live_bytes(const PlhProfileHeader *header);

#endif							/* PLH_PROCESS_H */

/*
 * filled_profile.h
 *	  A profile that tests fill with sites of numbered stacks and statements, and what
 *	  must be true of it.
 */
#ifndef FILLED_PROFILE_H
#define FILLED_PROFILE_H

#include "base/sampling.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"

#define BYTES 10				/* of a sample */

static const PlhDraw exact = {.interval_bytes = 1};

/* The longest that timed_filled_site took, for whoever reads the output. */
extern int64 longest_filling_ns;

extern void begin_filling(int max_profile_size);
extern void end_filling(void);
extern PlhSiteRecord *site_at(uint32 offset);
extern uint32 filled_stack(int number, int depth);
extern uint32 numbered_stack(int number);
extern uint32 filled_site(int stack, const char *statement);
extern uint32 timed_filled_site(int stack, const char *statement);
extern void free_sample(uint32 site, Size bytes);
extern uint32 fill_and_free(int stack, const char *statement);
extern const char *numbered_text(int number);
extern const char *text_of_site(uint32 site);
extern void run_round(void);
extern const char *check_filled_profile(bool references_too);

/* The most records that share a bucket. */
extern int	longest_chain(void);

#endif							/* FILLED_PROFILE_H */

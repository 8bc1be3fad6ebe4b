/*
 * current_site.h
 *	  The site of an allocation that is being recorded: stack, routines and statement.
 *
 * Code of the hooks, inlined into the function that libunwind has to step over at each sample.  May
 * be called inside palloc and malloc, under the guard, except in a critical section, by a process
 * that has a profile.
 */
#pragma once

#include "base/settings.h"
#include "profile/profile.h"
#include "stack/unwind.h"

/* Samples are frequent at intervals up to this: more stacks are remembered then. */
#define PLH_FREQUENT_INTERVAL (64 * 1024)

extern void plh_current_site_add_routines(PlhStack *stack);
extern uint32 plh_current_site_statement(void);
extern void plh_current_site_forget(void);

static pg_attribute_always_inline void
plh_current_stack(PlhStack *stack, uint32 interval)
{
	plh_unwind_capture(stack, plh_load_settings.max_stack_depth, interval <= PLH_FREQUENT_INTERVAL);
}

/* The site of an allocation with that stack; the context's name is an offset in the profile. */
static pg_attribute_always_inline uint32
plh_current_site(PlhStack *stack, uint32 context_name, PlhLifetime lifetime)
{
	PlhSiteKey	key = {
		.context_name = context_name,
		.lifetime = lifetime
	};

	if (unlikely(error_context_stack != NULL))
		plh_current_site_add_routines(stack);
	key.stack = plh_profile_stack(stack);
	if (key.stack == 0 || key.context_name == 0)
		return plh_profile->catch_all_site;
	key.statement = plh_current_site_statement();
	return stack->known != NULL ? plh_profile_site_of(stack->known, &key) : plh_profile_site(&key);
}

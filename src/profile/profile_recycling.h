/*
 * profile_recycling.h
 *	  Gives up records that hold nothing, so that their room is used again.
 *
 * These functions may be called inside palloc, except in a critical section; they never palloc or
 * throw.  Callers hold the guard, but for plh_profile_recycling_suspend and
 * plh_profile_recycling_resume, which belong to code outside of palloc.
 */
#pragma once

/* What was looked up last is not given up, as a site is just about to refer to it. */
typedef struct PlhRecyclingPins
{
	uint32		stack;
	uint32		statement;
} PlhRecyclingPins;

extern PlhRecyclingPins plh_profile_recycling_pins;

/* These change when a stack, or a site, is given up: its offset may become that of another. */
extern uint32 plh_profile_recycling_generation;
extern uint32 plh_profile_recycling_site_generation;

extern void plh_profile_recycling_hurry(void);
extern void *plh_profile_recycling_take(Size bytes);
extern void plh_profile_recycling_suspend(void);
extern void plh_profile_recycling_resume(void);
extern void plh_profile_recycling_forget(void);

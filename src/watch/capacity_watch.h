/*
 * capacity_watch.h
 *	  Looks at all sessions for what they have grown to, and what their statements take together.
 *
 * Only the keeper calls this.  Nothing throws.
 */
#pragma once

/* Go on with what was seen before, by this server or the one before it. */
extern void plh_capacity_watch_start(void);

/* Look, if it is time to. */
extern void plh_capacity_watch_look(void);

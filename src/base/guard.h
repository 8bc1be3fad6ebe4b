/*
 * guard.h
 *	  The guard of the live samples and the profile of this process.
 *
 * Whoever changes them sets the guard before.  A signal handler may interrupt the change, when they
 * are halfway between two states, and may allocate and free before it exits: while the guard is
 * held, the hooks only call the original methods.  The guard does not nest.
 */
#pragma once

/* Is a change under way? */
extern volatile bool plh_guard_held;

/* Take the guard, if it is not held.  Returns whether it was, for the other. */
static inline bool
plh_guard_take(void)
{
	bool		was_held = plh_guard_held;

	plh_guard_held = true;
	return was_held;
}

/* Let the guard go, unless it was held before it was taken. */
static inline void
plh_guard_restore(bool was_held)
{
	plh_guard_held = was_held;
}

/* Call a function under the guard, unless the guard is held already. */
static inline void
plh_guard_call(void (*function) (void))
{
	if (plh_guard_held)
		return;
	plh_guard_held = true;
	function();
	plh_guard_held = false;
}

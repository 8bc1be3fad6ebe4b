/*
 * guard.h
 *	  The guard of the live samples and the profile of this process.
 *
 * Whoever changes them sets the guard before.  A signal handler may interrupt
 * the change, when they are halfway between two states, and may allocate and
 * free before it exits: while the guard is held, the hooks only call the
 * original methods.  The guard does not nest.
 */
#ifndef PLH_GUARD_H
#define PLH_GUARD_H

/* Is a change under way? */
extern volatile bool plh_guard_held;

#endif							/* PLH_GUARD_H */

/*
 * guard.h
 *	  The guard of all that the code inside palloc keeps of a process.
 *
 * Whoever changes live samples or the profile sets the guard before, so that
 * an allocation or a free in between, by a signal handler that exits, leaves
 * them alone: they may be halfway between two states.  The guard does not
 * nest.  Callable from anywhere.
 */
#ifndef PLH_GUARD_H
#define PLH_GUARD_H

/* Is somebody at work? */
extern volatile bool plh_guard_held;

#endif							/* PLH_GUARD_H */

/*
 * sweep.h
 *	  What becomes of the profiles of processes that did not exit cleanly.
 *
 * Called in the postmaster, outside palloc.
 */
#ifndef PLH_SWEEP_H
#define PLH_SWEEP_H

extern void plh_sweep_start(void);

#endif							/* PLH_SWEEP_H */

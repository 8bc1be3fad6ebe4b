/*
 * sweep.h
 *	  Bounds what a crash has left in the directory of the profiles.
 *
 * Never called inside palloc.
 */
#pragma once

/* Called once, in the postmaster, while it loads the module. */
extern void plh_sweep_start(void);

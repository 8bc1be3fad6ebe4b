/*
 * fork.h
 *	  What a forked child keeps of its parent's variables.
 *
 * A child has samples, a profile and requests of its own.  So a module whose variables tell of its
 * parent's has them in one struct, "state", which a function plh_..._forget clears by one memset:
 * at the fork (process.c), or when the child begins a profile (profile.c).  A variable that
 * survives a fork says so by one of these words.  test/lint finds variables that do neither.
 */
#pragma once

/* Set when the module is loaded, and never changed. */
#define PLH_SET_AT_LOAD

/* About code, or an address, or a number: all of these are the same in the child. */
#define PLH_SAME_IN_CHILD

/* Any other; a comment says why. */
#define PLH_SURVIVES_FORK

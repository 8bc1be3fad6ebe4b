/*
 * guard.c
 *	  The guard of the live samples and the profile of this process.
 *
 * The hooks take the guard; it lies here, so that the lower folders can assert that it is held.
 */
#include "postgres.h"

#include "base/fork.h"
#include "base/guard.h"

/* A forked child lets it go (process.c). */
PLH_SURVIVES_FORK volatile bool plh_guard_held;

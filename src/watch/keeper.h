/*
 * keeper.h
 *	  The background worker that makes dumps after a crash, tends them, and watches for findings.
 *
 * Never called inside palloc.
 */
#pragma once

/* Its name, type and title. */
#define PLH_KEEPER_NAME "pg_leakhunt keeper"

/* Called once, in the postmaster, while it loads the module. */
extern void plh_keeper_register(void);

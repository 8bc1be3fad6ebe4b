/*
 * keeper.h
 *	  The background worker that makes dumps of what a crash has left, looks after the directory
 *	  of the dumps, and watches for findings.
 *
 * Never called inside palloc.
 */
#pragma once

/* Its name, type and title. */
#define PLH_KEEPER_NAME "pg_leakhunt keeper"

/* Called once, in the postmaster, while it loads the module. */
extern void plh_keeper_register(void);

/*
 * debuginfod.h
 *	  Which debuginfod servers are asked for debug files, and the files that they have.
 *
 * Runs in the symbolizer, and in tests: uses nothing of PostgreSQL's but types.
 */
#pragma once

#include "symbols/binary.h"

/* The setting's words that are no address. */
#define PLH_DEBUGINFOD_SYSTEM "system"
#define PLH_DEBUGINFOD_NONE "none"

/*
 * Sets the environment as pg_leakhunt.debuginfod_urls says.  To be called before libdw is loaded,
 * which looks for it then.
 */
extern void plh_debuginfod_choose(const char *setting);

extern void plh_debuginfod_asked_in_vain(int64 since_us);

/*
 * The path of the debug file of a binary, fetched now or before, which the caller must free(); NULL
 * if there is none, or if nobody is to be asked.
 */
extern char *plh_debuginfod_fetch(const PlhBinary *binary);

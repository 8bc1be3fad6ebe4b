/*
 * pg_leakhunt.c
 *	  Hunts memory leaks inside a running server: start of the module.
 *
 * The folders, each of which includes only those that are named before it:
 *
 * Inside palloc, where nothing may allocate, lock, throw or report:
 *	base		what everything stands on; knows nothing of samples
 *	profile		the format of a profile, its owner's writes, checked access to it
 *	dump		heap files: how they are written
 *	sampler		the hooks, and what they keep
 *
 * Outside of it:
 *	reader		any process' profile, baseline or dump, as one form in memory
 *	process		load, fork, the ends of transactions, exit, crash
 *	symbols		from an address to functions, files and lines
 *	report		stacks as text, and the pictures and files made of them
 *	verdict		what counts as a leak
 *	functions	SQL arguments in, rows out
 *
 * README in this folder explains how they work together; test/lint holds the
 * walls between them.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "base/compat.h"
#include "base/modules.h"
#include "base/settings.h"
#include "base/unwind.h"
#include "process/process.h"
#include "process/sweep.h"
#include "sampler/method_hooks.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

/*
 * Module load: by shared_preload_libraries, in the postmaster; else in one
 * session.  Whatever goes wrong, the server must work as without us.
 */
void
_PG_init(void)
{
	const char *refusal;

	plh_settings_define(plh_method_hooks_rearm);
	plh_modules_start();
	plh_unwind_start();

	refusal = plh_process_start();
	if (refusal == NULL)
		refusal = plh_method_hooks_install();
	if (refusal != NULL)
		plh_process_give_up(refusal);
	else
	{
		plh_process_watch_transactions();
		if (plh_process_is_preloaded())
			plh_sweep_start();
	}
}

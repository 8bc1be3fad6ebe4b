/*
 * pg_leakhunt.c
 *	  Hunts memory leaks inside a running server: start of the module.
 *
 * README in this folder explains how the folders work together, and that of each folder how it
 * works; test/lint holds up the walls between them.
 */
#include "postgres.h"

#include "fmgr.h"

#include "base/allocator.h"
#include "base/compat.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "crash/child_deaths.h"
#include "plan/explained_query.h"
#include "plan/plan_watch.h"
#include "process/process.h"
#include "sampler/control.h"
#include "sampler/countdown.h"
#include "sampler/malloc_hooks.h"
#include "sampler/method_hooks.h"
#include "sampler/method_registry.h"
#include "stack/modules.h"
#include "stack/unwind.h"
#include "watch/keeper.h"

PLH_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);
extern void plh_pg_leakhunt_fini(void);

/*
 * The server calls this when it loads the module: in the postmaster if shared_preload_libraries
 * names it, else in one session.  If a step fails, the server must work as if pg_leakhunt had not
 * been loaded.
 */
void
_PG_init(void)
{
	const char *refusal;

	plh_settings_define(plh_countdown_rearm, plh_control_note_enabled);
	plh_allocator_find();
	plh_modules_refresh();
	plh_unwind_start();

	refusal = plh_process_start();
	if (refusal == NULL)
		refusal = plh_method_hooks_install();
	if (refusal != NULL)
		plh_process_give_up(refusal);
	else
	{
		plh_settings_show_methods(plh_method_registry_is_open() ? PLH_METHODS_REGISTERED :
								  PLH_METHODS_PATCHED);
		plh_process_watch_transactions();
		plh_plan_watch_start();
		plh_explained_query_start();
		plh_process_warn_of_malloc(plh_malloc_hooks_install());
		if (plh_process_is_preloaded())
		{
			plh_child_deaths_start();
			plh_keeper_register();
		}
	}
}

/*
 * The dynamic linker calls this at an exit, in the place of _fini (Makefile).  That of the C
 * library does nothing, either, but lies behind all other code, where nothing else of ours runs in
 * a short connection.
 */
PLH_EVERY_PROCESS void
plh_pg_leakhunt_fini(void)
{
}

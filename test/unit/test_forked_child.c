/*
 * test_forked_child.c
 *	  What a forked child forgets of its parent.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/resowner.h"
#include "tcop/dest.h"
#include "utils/memutils.h"

#include "logged_line.h"
#include "profile/profile_counters.h"
#include "process/capacity_dump.h"
#include "process/exit_dump.h"
#include "process/limit_report.h"
#include "process/profile_directory.h"
#include "process/statements_dump.h"
#include "process/trim.h"
#include "sampler/control.h"
#include "sampler/current_site.h"
#include "sampler/growth_dump.h"
#include "sampler/malloc_hooks.h"
#include "sampler/owner.h"
#include "sampler/process_limit.h"
#include "sampler/publication.h"
#include "stack/unwind.h"

static bool preloads;
static CommandDest destination;
static void *log_hook;
static uint32 wrong_stacks;
static int	forgotten;			/* of what has no test here */

static bool
samples_stub(void)
{
	return false;
}

/* What a process does but at a fork, and what needs a server. */
#define process_shared_preload_libraries_in_progress preloads
#define whereToSendOutput destination
#define emit_log_hook log_hook
#define plh_unwind_wrong_stacks wrong_stacks
#define plh_malloc_hooks_samples_thread samples_stub
#define plh_malloc_hooks_forget() ((void) forgotten++)
#define plh_malloc_hooks_reap() ((void) 0)
#define plh_growth_dump_forget() ((void) forgotten++)
#define plh_current_site_forget() ((void) forgotten++)
#define plh_publication_forget() ((void) forgotten++)
#define plh_publication_start(directory) ((void) 0)
#define plh_exit_dump_write() ((void) 0)
#define plh_limit_report NULL
#define plh_process_limit_start(report) ((void) 0)
#define plh_owner_start(cluster) ((void) 0)
#define plh_control_start(directory, cluster, new_server) ((void) 0)
#define plh_capacity_dump_save() ((void) 0)
#define plh_capacity_dump_start(cluster) ((void) 0)
#define plh_statements_dump_save() ((void) 0)
#define plh_statements_dump_start(directory, cluster, preloaded) ((void) 0)
#define plh_profile_directory_claim() NULL
#define plh_profile_directory_note_server() ((void) 0)
#define plh_profile_directory_path() ""
#define plh_profile_directory_remove() ((void) 0)
#define plh_trim_if_asked() ((void) 0)
#define RegisterXactCallback(callback, arg) ((void) (callback))
#define RegisterResourceReleaseCallback(callback, arg) ((void) (callback))
#define GetCurrentTransactionStartTimestamp() 0
#define MemoryContextStrdup(context, text) strdup(text)
#include "process/process.c"

#include "unit_tests.h"

/* Nothing is proven here, and so nothing is published. */
void
plh_publication_begin(void)
{
}

static const PlhDraw exact = {.interval_bytes = 1};

static void
on_reset(void *arg)
{
}

/* Is a sample of the context live? */
static bool
has_sample(MemoryContext context)
{
	const PlhWatchedContext *watched = plh_live_samples_find_watched(context);

	return watched != NULL && watched->entry.user != PLH_NO_ENTRY;
}

void
test_forked_child(void)
{
	static MemoryContextData context;
	PlhWatchedContext *watched;
	PlhSiteKey	key = {0};

	plh_live_samples_start(16, on_reset);
	if (!plh_profile_begin())
		abort();
	plh_profile_counters_start();
	key.context_name = plh_profile_string("of the parent", PLH_CONTEXT_NAME_MAX);
	watched = plh_live_samples_watch(&context, PLH_LIFETIME_SESSION);
	ok(watched != NULL &&
	   plh_live_samples_insert(watched, fake_pointer(1), 100, exact, plh_profile_site(&key)) != NULL &&
	   has_sample(&context), "a parent has a profile, and a sample in it");
	before_fork();
	plh_guard_held = true;
	after_fork_in_child();
	ok(plh_profile == NULL, "its child has no profile of its own yet");
	ok(!has_sample(&context), "nor a sample in its parent's contexts");
	ok(plh_profile_run_is_paused() && plh_profile_counters_held.live_bytes[PLH_LIFETIME_SESSION] == 0,
	   "nor a statement, nor anything that lives");
	ok(!plh_guard_held, "it does not hold the guard");
	ok(forgotten == 4, "and what belongs to malloc, dumps, statements and the file is forgotten, too");
	plh_guard_held = true;
}

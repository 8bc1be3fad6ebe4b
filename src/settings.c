/*
 * settings.c
 *	  The settings (GUCs) of pg_leakhunt.
 *
 * Any process may load the module at any time, so that no setting is one that
 * only a postmaster start can define.  What can't follow a later change is
 * fixed once the module is loaded: its check hook refuses another value.
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "settings.h"
#include "unwind.h"

bool		plh_enabled;
int			plh_sample_interval;
int			plh_scope;
bool		plh_track_queries;
int			plh_max_stack_depth;
int			plh_max_profile_size;
int			plh_max_live_samples;
char	   *plh_profile_directory;
bool		plh_dump_on_exit;
int			plh_dump_min_bytes;
int			plh_dump_keep;
char	   *plh_dump_directory;
bool		plh_log_summary;

static const struct config_enum_entry scope_options[] = {
	{"long_lived", PLH_SCOPE_LONG_LIVED, false},
	{"all", PLH_SCOPE_ALL, false},
	{NULL, 0, false}
};

/* Told of every change of what is sampled and how. */
static void (*sampling_changed) (void);

/* Set once the fixed settings are in use. */
static bool loaded;

static void
assign_bool(bool newval, void *extra)
{
	sampling_changed();
}

static void
assign_int(int newval, void *extra)
{
	sampling_changed();
}

static bool
refuse_change(void)
{
	GUC_check_errdetail("This setting is fixed when pg_leakhunt is loaded.");
	GUC_check_errhint("Restart the server to change it, or start a new session where pg_leakhunt is loaded by each session.");
	return false;
}

/* Refuse another depth once loaded. */
static bool
check_max_stack_depth(int *newval, void **extra, GucSource source)
{
	return !loaded || *newval == plh_max_stack_depth || refuse_change();
}

/* Refuse another size once loaded. */
static bool
check_max_profile_size(int *newval, void **extra, GucSource source)
{
	return !loaded || *newval == plh_max_profile_size || refuse_change();
}

/* Refuse another number once loaded. */
static bool
check_max_live_samples(int *newval, void **extra, GucSource source)
{
	return !loaded || *newval == plh_max_live_samples || refuse_change();
}

/* Refuse another directory once loaded. */
static bool
check_profile_directory(char **newval, void **extra, GucSource source)
{
	return !loaded || strcmp(*newval, plh_profile_directory) == 0 ||
		refuse_change();
}

/* Refuse another directory once loaded. */
static bool
check_dump_directory(char **newval, void **extra, GucSource source)
{
	if (*newval[0] == '\0')
	{
		GUC_check_errdetail("The directory of the dump files must have a name.");
		return false;
	}
	return !loaded || strcmp(*newval, plh_dump_directory) == 0 ||
		refuse_change();
}

/* What is sampled, and how often. */
static void
define_sampling_settings(void)
{
	DefineCustomBoolVariable("pg_leakhunt.enabled",
							 "Samples memory allocations.",
							 NULL,
							 &plh_enabled, true,
							 PGC_SIGHUP, 0,
							 NULL, assign_bool, NULL);
	DefineCustomIntVariable("pg_leakhunt.sample_interval",
							"Mean number of allocated bytes between two samples.",
							"1 takes every allocation: exact, and slow.",
							&plh_sample_interval, 512 * 1024, 1, INT_MAX,
							PGC_SUSET, GUC_UNIT_BYTE,
							NULL, assign_int, NULL);
	DefineCustomEnumVariable("pg_leakhunt.scope",
							 "Selects the memory contexts whose samples are kept.",
							 "\"long_lived\" keeps those that live as long as the session, \"all\" keeps all.",
							 &plh_scope, PLH_SCOPE_LONG_LIVED, scope_options,
							 PGC_SUSET, 0,
							 NULL, assign_int, NULL);
	DefineCustomBoolVariable("pg_leakhunt.track_queries",
							 "Tells samples apart by the statement that was running.",
							 NULL,
							 &plh_track_queries, true,
							 PGC_SIGHUP, 0,
							 NULL, NULL, NULL);
}

/* How much room a process' profile may take, and where. */
static void
define_profile_settings(void)
{
	DefineCustomIntVariable("pg_leakhunt.max_stack_depth",
							"Number of frames kept of each stack, counted from the allocation.",
							NULL,
							&plh_max_stack_depth, 64, 4, PLH_MAX_FRAMES,
							PGC_SIGHUP, 0,
							check_max_stack_depth, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.max_profile_size",
							"Maximum size of each process' profile.",
							"Samples of call sites that find no room are counted at a catch-all site.",
							&plh_max_profile_size, 8 * 1024 * 1024,
							128 * 1024, 1024 * 1024 * 1024,
							PGC_SIGHUP, GUC_UNIT_BYTE,
							check_max_profile_size, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.max_live_samples",
							"Maximum number of live samples that each process keeps.",
							"Rounded up to a power of two.  Samples beyond it are dropped and counted as such.",
							&plh_max_live_samples, 1000000, 16, 100000000,
							PGC_SIGHUP, 0,
							check_max_live_samples, NULL, NULL);
	DefineCustomStringVariable("pg_leakhunt.profile_directory",
							   "Directory of the processes' profiles.",
							   "Empty selects a directory of this server's own in /dev/shm.",
							   &plh_profile_directory, "",
							   PGC_SIGHUP, GUC_SUPERUSER_ONLY,
							   check_profile_directory, NULL, NULL);
}

/* What is left when a process exits. */
static void
define_dump_settings(void)
{
	DefineCustomBoolVariable("pg_leakhunt.dump_on_exit",
							 "Writes a dump file when a process exits.",
							 NULL,
							 &plh_dump_on_exit, true,
							 PGC_SIGHUP, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.dump_min_bytes",
							"Live bytes from which on an exiting process writes a dump file.",
							"What counts is the lower end of the estimate.",
							&plh_dump_min_bytes, 1024 * 1024, 0, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_BYTE,
							NULL, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.dump_keep",
							"Number of dump files to keep.",
							"The oldest ones beyond it are removed.",
							&plh_dump_keep, 100, 1, 1000000,
							PGC_SIGHUP, 0,
							NULL, NULL, NULL);
	DefineCustomStringVariable("pg_leakhunt.dump_directory",
							   "Directory of the dump files.",
							   "A relative path starts in the data directory.",
							   &plh_dump_directory, "pg_leakhunt",
							   PGC_SIGHUP, GUC_SUPERUSER_ONLY,
							   check_dump_directory, NULL, NULL);
	DefineCustomBoolVariable("pg_leakhunt.log_summary",
							 "Logs one line with each dump file written at exit.",
							 NULL,
							 &plh_log_summary, true,
							 PGC_SIGHUP, 0,
							 NULL, NULL, NULL);
}

/*
 * Define all settings; called once, when the module is loaded.  "on_change"
 * is called, before a change takes effect, whenever the process must draw a
 * new sampling gap; it must be callable at once.
 */
void
plh_settings_define(void (*on_change) (void))
{
	sampling_changed = on_change;
	define_sampling_settings();
	define_profile_settings();
	define_dump_settings();
	MarkGUCPrefixReserved("pg_leakhunt");
	loaded = true;
}

/*
 * The name that users see.  Takes what a profile says, which may be anything.
 */
const char *
plh_settings_scope_name(uint32 scope)
{
	for (int i = 0; scope_options[i].name != NULL; i++)
	{
		if ((uint32) scope_options[i].val == scope)
			return scope_options[i].name;
	}
	return "unknown";
}

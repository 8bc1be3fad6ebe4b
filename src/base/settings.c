/*
 * settings.c
 *	  The settings (GUCs) of pg_leakhunt.
 *
 * Any process may load pg_leakhunt at any time, so that no setting needs a start of the postmaster
 * to be defined.  Settings that can't follow a later change are fixed once pg_leakhunt is loaded.
 * If the postmaster loads it, only a restart changes these settings; elsewhere a check hook refuses
 * another value.
 */
#include "postgres.h"

#include <limits.h>

#include "access/parallel.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "base/limits.h"
#include "base/page_layout.h"
#include "base/settings.h"

bool		plh_enabled;
int			plh_sample_interval;
int			plh_scope = PLH_SCOPE_ALL;	/* as its default, which core checks */
bool		plh_track_queries;
bool		plh_track_malloc;
int			plh_statement_min_bytes;
bool		plh_dump_on_exit;
double		plh_dump_min_bytes;
double		plh_dump_min_peak;
double		plh_dump_growth;
int			plh_dump_keep;
double		plh_dump_max_size;
bool		plh_dump_text;
bool		plh_log_summary;
bool		plh_log_verdicts;
bool		plh_check_trace;
double		plh_process_memory_limit;
double		plh_server_memory_limit;
int			plh_limit_action = PLH_LIMIT_LOG;	/* as its default */
int			plh_proof_max_memory;
int			plh_forecast_warning;
char	   *plh_debuginfod_urls;
int			plh_keeper_interval;
PLH_LARGE PlhLoadSettings plh_load_settings;

/*
 * These are the GUC variables of sizes beyond INT_MAX bytes.  They count kB, as work_mem does:
 * pg_settings shows a real in exponent form.
 */
static int	dump_min_bytes_setting;
static int	dump_min_peak_setting;
static int	dump_growth_setting;
static int	dump_max_size_setting;
static int	process_memory_limit_setting;
static int	server_memory_limit_setting;

/* These are the GUC variables of the settings in plh_load_settings. */
static int	max_stack_depth_setting;
static int	max_profile_size_setting;
static int	max_live_samples_setting;
static int	max_statements_setting;
static char *profile_directory_setting;
static char *dump_directory_setting;

/* The GUC variable of a list, and what each name of it switches on. */
static char *log_setting;
static const struct
{
	const char *name;
	bool	   *is_logged;
}			log_topics[] = {
	{"exits", &plh_log_summary},
	{"findings", &plh_log_verdicts}
};

/* The GUC variable that says how methods were replaced, by a PlhMethodTables. */
static int	method_tables_setting = PLH_METHODS_UNTOUCHED;
static const struct config_enum_entry method_tables_options[] = {
	{"untouched", PLH_METHODS_UNTOUCHED, false},
	{"patched", PLH_METHODS_PATCHED, false},
	{"registered", PLH_METHODS_REGISTERED, false},
	{NULL, 0, false}
};

static const struct config_enum_entry scope_options[] = {
	{"long_lived", PLH_SCOPE_LONG_LIVED, false},
	{"all", PLH_SCOPE_ALL, false},
	{NULL, 0, false}
};

/* The least that process_memory_limit may be, but for 0. */
#define LEAST_PROCESS_LIMIT_KB 16384

static const struct config_enum_entry limit_options[] = {
	{"log", PLH_LIMIT_LOG, false},
	{"error", PLH_LIMIT_ERROR, false},
	{"terminate", PLH_LIMIT_TERMINATE, false},
	{NULL, 0, false}
};

/* These functions are called at every change of the sampling, and of "enabled". */
static void (*sampling_changed) (void);
static void (*enabled_changed) (bool enabled);

/* Set once plh_load_settings is in use, unless the server itself keeps it fixed. */
static bool loaded;

static void
assign_enabled(bool newval, void *extra)
{
	enabled_changed(newval);
	sampling_changed();
}

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

/* Defines the hook that keeps a size, which its GUC variable has in kB, in bytes. */
#define ASSIGN_BYTES(setting) \
	static void \
	assign_##setting(int newval, void *extra) \
	{ \
		plh_##setting = newval * 1024.0; \
	}

ASSIGN_BYTES(dump_min_bytes)
ASSIGN_BYTES(dump_min_peak)
ASSIGN_BYTES(dump_growth)
ASSIGN_BYTES(dump_max_size)
ASSIGN_BYTES(process_memory_limit)
ASSIGN_BYTES(server_memory_limit)

/* A limit that a new session has reached, or nearly, would leave nobody to change it. */
static bool
check_process_memory_limit(int *newval, void **extra, GucSource source)
{
	if (*newval == 0 || *newval >= LEAST_PROCESS_LIMIT_KB)
		return true;
	GUC_check_errdetail("A session needs some megabytes before it does anything.");
	GUC_check_errhint("Use 16MB or more, or 0 for no limit.");
	return false;
}

/*
 * May a fixed setting take a value?  Once pg_leakhunt is loaded, only the one it has.  A parallel
 * worker is exempt, which resets all settings before it takes over its leader's.
 */
static bool
may_be_set(bool is_same)
{
	if (!loaded || is_same || InitializingParallelWorker)
		return true;
	GUC_check_errdetail("This setting is fixed when pg_leakhunt is loaded.");
	GUC_check_errhint("Start a new session to change it.");
	return false;
}

/* Defines the hook of a fixed setting that is a number. */
#define CHECK_FIXED(setting) \
	static bool \
	check_##setting(int *newval, void **extra, GucSource source) \
	{ \
		return may_be_set(*newval == plh_load_settings.setting); \
	}

CHECK_FIXED(max_stack_depth)
CHECK_FIXED(max_profile_size)
CHECK_FIXED(max_live_samples)
CHECK_FIXED(max_statements)

/* Does the path of a directory leave room for the names of its files? */
static bool
check_path_length(const char *path)
{
	if (strlen(path) < MAXPGPATH - 64)
		return true;
	GUC_check_errdetail("The path is too long.");
	return false;
}

static bool
check_profile_directory(char **newval, void **extra, GucSource source)
{
	return check_path_length(*newval) &&
		may_be_set(strcmp(*newval, plh_load_settings.profile_directory) == 0);
}

static bool
check_dump_directory(char **newval, void **extra, GucSource source)
{
	if ((*newval)[0] == '\0')
	{
		GUC_check_errdetail("The directory of the dump files must have a name.");
		return false;
	}
	return check_path_length(*newval) &&
		may_be_set(strcmp(*newval, plh_load_settings.dump_directory) == 0);
}

/*
 * Switch on what a list names, or nothing if "apply" is false.  Returns whether it has only such
 * names.  Allocates nothing, as a list is set where an error would be fatal.
 */
static bool
read_log_list(const char *list, bool apply)
{
	bool		is_known = true;

	while (is_known && *(list += strspn(list, ", \t\n")) != '\0')
	{
		Size		length = strcspn(list, ", \t\n");

		is_known = false;
		for (int i = 0; i < lengthof(log_topics); i++)
		{
			if (strlen(log_topics[i].name) != length ||
				pg_strncasecmp(log_topics[i].name, list, length) != 0)
				continue;
			is_known = true;
			if (apply)
				*log_topics[i].is_logged = true;
		}
		list += length;
	}
	return is_known;
}

static bool
check_log(char **newval, void **extra, GucSource source)
{
	if (read_log_list(*newval, false))
		return true;
	GUC_check_errdetail("Available values are exits and findings, separated by commas.");
	return false;
}

static void
assign_log(const char *newval, void *extra)
{
	for (int i = 0; i < lengthof(log_topics); i++)
		*log_topics[i].is_logged = false;
	(void) read_log_list(newval, true);
}

static void
define_sampling_settings(void)
{
	DefineCustomBoolVariable("pg_leakhunt.enabled", "Samples memory allocations.", NULL,
							 &plh_enabled, true, PGC_SIGHUP, 0, NULL, assign_enabled, NULL);
	DefineCustomIntVariable("pg_leakhunt.sample_interval",
							"Mean number of allocated bytes between two samples.",
							"1 takes every allocation: exact, and slow. From 256 kB on, memory that ends with a query or transaction has eight times the interval while there is little of it.",
							&plh_sample_interval, 512 * 1024, 1, INT_MAX, PGC_SUSET, GUC_UNIT_BYTE,
							NULL, assign_int, NULL);
	DefineCustomEnumVariable("pg_leakhunt.scope",
							 "Selects the memory contexts whose samples are kept.",
							 "\"long_lived\" keeps those that live as long as the session, \"all\" keeps all.",
							 &plh_scope, PLH_SCOPE_ALL, scope_options, PGC_SUSET, 0,
							 NULL, assign_int, NULL);
	DefineCustomBoolVariable("pg_leakhunt.track_queries",
							 "Tells samples of different statements apart.", NULL,
							 &plh_track_queries, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("pg_leakhunt.track_malloc",
							 "Samples calls of malloc outside of memory contexts.",
							 "Needs pg_leakhunt_malloc.so in LD_PRELOAD.",
							 &plh_track_malloc, true, PGC_SIGHUP, 0, NULL, assign_bool, NULL);
}

static void
define_profile_settings(GucContext fixed)
{
	DefineCustomIntVariable("pg_leakhunt.max_stack_depth",
							"Number of frames kept of each stack, counted from the allocation.",
							NULL, &max_stack_depth_setting, 64, 4, PLH_MAX_FRAMES, fixed, 0,
							check_max_stack_depth, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.max_profile_size",
							"Maximum size of each process' profile.",
							"Samples of call sites that do not fit are counted at the site [no room].",
							&max_profile_size_setting, 8 * 1024 * 1024,
							128 * 1024, 1024 * 1024 * 1024, fixed, GUC_UNIT_BYTE,
							check_max_profile_size, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.max_live_samples",
							"Maximum number of live samples that each process keeps.",
							"Rounded up to a power of two.  Samples beyond it are dropped and counted as such.",
							&max_live_samples_setting, 1000000, 16, 100000000, fixed, 0,
							check_max_live_samples, NULL, NULL);
	DefineCustomStringVariable("pg_leakhunt.profile_directory",
							   "Directory of the processes' profiles.",
							   "Empty selects a directory of this server's own in /dev/shm.",
							   &profile_directory_setting, "", fixed, GUC_SUPERUSER_ONLY,
							   check_profile_directory, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.statement_min_bytes",
							"Minimum peak of a statement in a process to be counted in pg_leakhunt_statements.",
							"Of an estimate, the lower end counts.",
							&plh_statement_min_bytes, 1024 * 1024, 0, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_BYTE, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.max_statements",
							"Maximum number of statements in pg_leakhunt_statements.",
							"Beyond it, the statement that was used least has to go.  0 keeps none.",
							&max_statements_setting, 5000, 0, PLH_MAX_STATEMENTS, fixed, 0,
							check_max_statements, NULL, NULL);
}

static void
define_dump_settings(GucContext fixed)
{
	DefineCustomBoolVariable("pg_leakhunt.dump_on_exit", "Writes a dump file when a process exits.",
							 NULL, &plh_dump_on_exit, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.dump_min_bytes",
							"Minimum live bytes for an exiting process to write a dump.",
							"A quarter of that is enough at a single call site.  The lower end of the estimate counts.",
							&dump_min_bytes_setting, 32 * 1024, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_KB,
							NULL, assign_dump_min_bytes, NULL);
	DefineCustomIntVariable("pg_leakhunt.dump_min_peak",
							"Minimum peak of a process' memory for it to write a dump when it exits.",
							"Its live bytes, or all of its private memory, at their highest.  Never less than twice what work_mem allows a node of a plan.",
							&dump_min_peak_setting, 256 * 1024, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_KB,
							NULL, assign_dump_min_peak, NULL);
	DefineCustomIntVariable("pg_leakhunt.dump_growth",
							"Growth of a process' memory that makes it write another dump.",
							"Of its live bytes, or all of its private memory.  0 writes none.  At most one per second and process, and none that would take more than a hundredth of its time.",
							&dump_growth_setting, 1024 * 1024, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_KB,
							NULL, assign_dump_growth, NULL);
	DefineCustomIntVariable("pg_leakhunt.dump_keep", "Number of dump files of each reason to keep.",
							"The oldest ones beyond it are removed.  All files in the directory count, whichever server wrote them.",
							&plh_dump_keep, 100, 1, 1000000, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.dump_max_size",
							"Maximum size of all dump files together, with their texts.",
							"The oldest ones of the reason that has most bytes are removed.  The youngest of each reason always stays.",
							&dump_max_size_setting, 1024 * 1024, 0, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_KB, NULL, assign_dump_max_size, NULL);
	DefineCustomBoolVariable("pg_leakhunt.dump_text",
							 "Writes a text for jeprof and pprof beside each dump file.", NULL,
							 &plh_dump_text, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("pg_leakhunt.dump_directory", "Directory of the dump files.",
							   "A relative path starts in the data directory.",
							   &dump_directory_setting, "pg_leakhunt", fixed, GUC_SUPERUSER_ONLY,
							   check_dump_directory, NULL, NULL);
}

/* Define the settings of limits, of the log, and of the names of functions. */
static void
define_watch_settings(void)
{
	DefineCustomIntVariable("pg_leakhunt.process_memory_limit",
							"Private memory beyond which limit_action applies to a process.",
							"To sessions and their parallel workers, each by itself.  At least 16 MB.  0 is no limit.",
							&process_memory_limit_setting, 0, 0, INT_MAX, PGC_SUSET, GUC_UNIT_KB,
							check_process_memory_limit, assign_process_memory_limit, NULL);
	DefineCustomIntVariable("pg_leakhunt.server_memory_limit",
							"Private memory of all processes together beyond which limit_action applies to one of them.",
							"To the session whose statement holds most.  0 is no limit.  Needs pg_leakhunt in shared_preload_libraries.",
							&server_memory_limit_setting, 0, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_KB,
							NULL, assign_server_memory_limit, NULL);
	DefineCustomEnumVariable("pg_leakhunt.limit_action",
							 "What happens to a session that is beyond a memory limit.",
							 "\"log\" logs it, \"error\" also ends its statement with an error, \"terminate\" also ends a session that holds too much when it is idle.",
							 &plh_limit_action, PLH_LIMIT_LOG, limit_options, PGC_SUSET, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.forecast_warning",
							"Logs when memory will run out in less than this time.",
							"At the rate of now, until the kernel kills a process.  0 foresees nothing.  Needs pg_leakhunt in shared_preload_libraries.",
							&plh_forecast_warning, 600, 0, 14400, PGC_SIGHUP, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomStringVariable("pg_leakhunt.log", "Selects what is logged without being asked.",
							   "\"exits\": a summary of each process that is worth a dump file when it exits, at most ten of each role in a minute. \"findings\": each finding of pg_leakhunt_suspects when it is new, and again when it is four times as large, at most ten in a minute. That needs pg_leakhunt in shared_preload_libraries.",
							   &log_setting, "exits, findings", PGC_SIGHUP, GUC_LIST_INPUT,
							   check_log, assign_log, NULL);
	DefineCustomStringVariable("pg_leakhunt.debuginfod_urls",
							   "Debuginfod servers that are asked for the names of functions.",
							   "Addresses, separated by spaces.  Empty asks those of DEBUGINFOD_URLS in the server's environment, \"system\" also those in /etc/debuginfod, \"none\" asks no server.",
							   &plh_debuginfod_urls, "", PGC_SUSET, GUC_SUPERUSER_ONLY,
							   NULL, NULL, NULL);
}

/* Define the settings that are for developers: they are not shown among all settings. */
static void
define_developer_settings(void)
{
	DefineCustomBoolVariable("pg_leakhunt.check_trace",
							 "Logs which allocation pg_leakhunt_check is about to make fail.",
							 "Before it does so, with fail => 'each'.  Should the server crash there, the last of these lines names it.  The statement runs once more for each.",
							 &plh_check_trace, false,
							 PGC_SUSET, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.proof_max_memory",
							"Private memory up to which a process with a new finding is proven unasked.",
							"A child that it forks looks at a copy of its memory, and finds what nothing points to.  0 proves nothing unasked.",
							&plh_proof_max_memory, 1024 * 1024, 0, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_leakhunt.keeper_interval",
							"Time between two looks of the keeper for findings, for pg_leakhunt's own tests.",
							"All else that it does again and again keeps in proportion.",
							&plh_keeper_interval, PLH_KEEPER_INTERVAL_MS, 10, 3600 * 1000,
							PGC_SIGHUP, GUC_UNIT_MS | GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
	DefineCustomEnumVariable("pg_leakhunt.method_tables",
							 "Shows how pg_leakhunt has replaced the methods of memory contexts.",
							 "\"patched\": in the server's tables. \"registered\": by a function of the server's. \"untouched\": not at all, as pg_leakhunt is inactive.",
							 &method_tables_setting, PLH_METHODS_UNTOUCHED, method_tables_options,
							 PGC_INTERNAL,
							 GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							 NULL, NULL, NULL);
}

/*
 * Define all settings.  This is called once, when pg_leakhunt is loaded.  Whenever the process must
 * draw a new sampling gap, "on_change" is called before the change takes effect; the first such
 * call comes before this function returns.  So is "on_enabled", with the new value, whenever
 * pg_leakhunt.enabled is set, if only to what it was.
 */
void
plh_settings_define(void (*on_change) (void), void (*on_enabled) (bool enabled))
{
	GucContext	fixed = process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP;

	sampling_changed = on_change;
	enabled_changed = on_enabled;
	define_sampling_settings();
	define_profile_settings(fixed);
	define_dump_settings(fixed);
	define_watch_settings();
	define_developer_settings();
	MarkGUCPrefixReserved("pg_leakhunt");

	plh_load_settings.max_stack_depth = max_stack_depth_setting;
	plh_load_settings.max_profile_size = max_profile_size_setting;
	plh_load_settings.max_live_samples = max_live_samples_setting;
	plh_load_settings.max_statements = max_statements_setting;
	strlcpy(plh_load_settings.profile_directory, profile_directory_setting,
			sizeof(plh_load_settings.profile_directory));
	strlcpy(plh_load_settings.dump_directory, dump_directory_setting,
			sizeof(plh_load_settings.dump_directory));
	loaded = fixed != PGC_POSTMASTER;
}

/*
 * Show how methods were replaced, in this process and those that it forks.  Not by SetConfigOption,
 * which throws where a query with parallel workers is what loads the module.
 */
void
plh_settings_show_methods(PlhMethodTables how)
{
	method_tables_setting = how;
}

/* Returns the name of a scope that users see.  The number comes from a profile and may be any. */
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

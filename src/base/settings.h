/*
 * settings.h
 *	  The settings (GUCs) of pg_leakhunt.
 *
 * The variables may be read anywhere, inside palloc too.  Only PostgreSQL's GUC machinery writes
 * them.
 */
#pragma once

/* Stored in profiles: append only. */
typedef enum PlhScope
{
	PLH_SCOPE_LONG_LIVED,		/* contexts of lifetime "session" only */
	PLH_SCOPE_ALL
} PlhScope;

/* What happens beyond a limit: each does what those before it do. */
typedef enum PlhLimitAction
{
	PLH_LIMIT_LOG,				/* a line in the log */
	PLH_LIMIT_ERROR,			/* the statement ends */
	PLH_LIMIT_TERMINATE			/* a session that is idle ends */
} PlhLimitAction;

/* How the methods of memory contexts were replaced. */
typedef enum PlhMethodTables
{
	PLH_METHODS_UNTOUCHED,
	PLH_METHODS_PATCHED,
	PLH_METHODS_REGISTERED		/* by a function of the server's */
} PlhMethodTables;

extern bool plh_enabled;
extern int	plh_sample_interval;	/* bytes */
extern int	plh_scope;			/* PlhScope */
extern bool plh_track_queries;
extern bool plh_track_malloc;
extern int	plh_statement_min_bytes;
extern bool plh_dump_on_exit;
extern double plh_dump_min_bytes;
extern double plh_dump_min_peak;
extern double plh_dump_growth;	/* bytes; 0: off */
extern int	plh_dump_keep;		/* files */
extern double plh_dump_max_size;	/* bytes, of all files */
extern bool plh_dump_text;
extern bool plh_log_summary;
extern bool plh_log_verdicts;
extern bool plh_check_trace;
extern double plh_process_memory_limit; /* bytes; 0: none */
extern double plh_server_memory_limit;	/* bytes, of all processes; 0: none */
extern int	plh_limit_action;	/* PlhLimitAction */
extern int	plh_proof_max_memory;	/* kB; 0: nothing is proven unasked */
extern int	plh_forecast_warning;	/* seconds; 0: nothing is foreseen */
extern char *plh_debuginfod_urls;	/* see symbols/symbol_files.h */
extern int	plh_keeper_interval;	/* ms */

/* The default of plh_keeper_interval, for which the times of the keeper are meant. */
#define PLH_KEEPER_INTERVAL_MS 10000

/* Returns what such a time is with the interval of now: tests have a quicker keeper. */
static inline int64
plh_keeper_time(int64 time)
{
	return time * plh_keeper_interval / PLH_KEEPER_INTERVAL_MS;
}

/*
 * These settings are fixed when pg_leakhunt is loaded.  Their GUC variables come and go while a
 * parallel worker takes over its leader's settings; these copies stay.
 */
typedef struct PlhLoadSettings
{
	int			max_stack_depth;	/* frames */
	int			max_profile_size;	/* bytes */
	int			max_live_samples;
	int			max_statements; /* 0: nothing is known of statements */
	char		profile_directory[MAXPGPATH];
	char		dump_directory[MAXPGPATH];
} PlhLoadSettings;

extern PlhLoadSettings plh_load_settings;

extern void plh_settings_define(void (*on_change) (void), void (*on_enabled) (bool enabled));
extern void plh_settings_show_methods(PlhMethodTables how);
extern const char *plh_settings_scope_name(uint32 scope);

/*
 * sql_processes.c
 *	  The functions of SQL that show processes: what they are and hold, their
 *	  history, and the binaries in their stacks.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"
#include "reader/server_activity.h"
#include "reader/server_processes.h"
#include "report/build_id_text.h"
#include "report/death_text.h"
#include "sampler/control.h"

#define PROCESS_COLUMNS 33
#define SYMBOL_COLUMNS 5
#define HISTORY_COLUMNS 6

PLH_FUNCTION(pg_leakhunt_processes);
PLH_FUNCTION(pg_leakhunt_symbols);
PLH_FUNCTION(pg_leakhunt_history);

/* The sink of the rows, and the processes that need no further row. */
typedef struct ProcessRows
{
	PlhRowSink	sink;
	List	   *profiled;		/* pids of live processes that have a profile */
} ProcessRows;

/* The column growth_bytes of a process. */
static void
put_process_growth(PlhRow *row, const PlhProfileImage *image)
{
	PlhBaseline *baseline =
		plh_baseline_file_read(plh_profile_directory_path(), image);

	if (baseline == NULL)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_int64(row, image->header->counters.live_bytes -
							   baseline->live_bytes);
}

/* A figure, or null where it is negative. */
static void
put_if_known(PlhRow *row, int64 value)
{
	if (value < 0)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_int64(row, value);
}

/* The columns from context_bytes to rss_anon_bytes. */
static void
put_triage(PlhRow *row, const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	bool		counted = header->census_at != 0;

	put_if_known(row, counted ? header->context_bytes : -1);
	put_if_known(row, counted ? header->context_free_bytes : -1);
	put_if_known(row, counted ? header->malloc_bytes : -1);
	put_if_known(row, counted ? header->malloc_free_bytes : -1);
	plh_sql_rows_put_datum(row, BoolGetDatum(header->malloc_tracked != 0));
	put_if_known(row, header->malloc_tracked ? header->malloc_other_bytes : -1);
	put_if_known(row, image->alive ?
				 plh_process_facts_private_bytes(header->pid) : -1);
}

/* Does a process sample as somebody has asked for? */
static bool
has_taken_up(const PlhProfileHeader *header, const PlhControlWish *wish)
{
	if (!wish->sampling)
		return header->sample_interval == 0;
	return header->sample_interval != 0 &&
		(wish->sample_interval == 0 ||
		 wish->sample_interval == header->sample_interval) &&
		(wish->scope < 0 || wish->scope == (int) header->scope);
}

/* The column request; the header is NULL where there is no profile to show it. */
static void
put_request(PlhRow *row, int pid, const PlhProfileHeader *header)
{
	PlhControlWish wish;

	plh_control_wish_of(pid, &wish);
	if (!wish.present)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_text(row, header != NULL &&
							  has_taken_up(header, &wish) ?
							  "in force" : "pending");
}

/* The row of a process that has a profile. */
static void
put_profile(const PlhProfileImage *image, PlhRowSink *sink)
{
	const PlhProfileHeader *header = image->header;
	PlhRow		row = {0};

	plh_sql_rows_put_pid(&row, header->pid);
	plh_sql_rows_put_backend_type(&row, image);
	plh_sql_rows_put_state(&row, image);
	plh_sql_rows_put_database(&row, header->database_oid);
	plh_sql_rows_put_role(&row, header->role_oid);
	plh_sql_rows_put_time(&row, header->started_at);
	plh_sql_rows_put_datum(&row, BoolGetDatum(image->alive &&
											  header->sample_interval != 0));
	plh_sql_rows_put_int64(&row, header->sample_interval);
	plh_sql_rows_put_text(&row, plh_settings_scope_name(header->scope));
	plh_sql_rows_put_int64(&row, header->counters.live_bytes);
	plh_sql_rows_put_int64(&row, header->counters.live_count);
	plh_sql_rows_put_int64(&row, header->peak_bytes);
	plh_sql_rows_put_time(&row, header->peak_at);
	put_process_growth(&row, image);
	plh_sql_rows_put_int64(&row, header->counters.live_samples);
	plh_sql_rows_put_int64(&row, header->samples_taken);
	plh_sql_rows_put_int64(&row, plh_profile_image_lost_samples(header));
	plh_sql_rows_put_int64(&row, header->wrong_stacks);
	plh_sql_rows_put_int64(&row, header->site_count);
	put_triage(&row, image);
	plh_sql_rows_put_int64(&row, header->private_bytes + header->profile_bytes);
	plh_sql_rows_put_int64(&row, header->profile_bytes);
	plh_sql_rows_put_time(&row, header->counters.last_at);
	plh_sql_rows_put_time(&row, header->census_at);
	plh_sql_rows_put_time(&row, header->death.at);
	plh_sql_rows_put_text(&row, plh_death_text(&header->death));
	if (image->alive)
		put_request(&row, header->pid, header);
	else
		plh_sql_rows_put_null(&row);
	plh_sql_rows_finish(&row, sink);
}

/* PlhProfileVisitor: the row of a process, which then needs no other. */
static void
visit_process(PlhProfileImage *image, void *arg)
{
	ProcessRows *rows = arg;

	if (image->alive)
	{
		MemoryContext caller_context = MemoryContextSwitchTo(rows->sink.memory);

		rows->profiled = lappend_int(rows->profiled, image->header->pid);
		MemoryContextSwitchTo(caller_context);
	}
	if (plh_sql_rows_may_show(&rows->sink, image->header))
		put_profile(image, &rows->sink);
}

/*
 * The column state of a process without a profile.  Nothing is known where the
 * module is loaded, but inactive.  Returns what is known.
 */
static PlhLoaded
put_loaded(PlhRow *row, int pid)
{
	PlhLoaded	loaded = plh_process_refusal() != NULL ? PLH_LOADED_UNKNOWN :
		plh_process_is_preloaded() ? PLH_LOADED :
		plh_server_processes_loaded(pid);

	plh_sql_rows_put_text(row, loaded == PLH_LOADED ? "small" :
						  loaded == PLH_NOT_LOADED ? "not loaded" : NULL);
	return loaded;
}

/* The row of a process without a profile. */
static void
put_unprofiled(int pid, PlhRowSink *sink)
{
	PlhServerActivity found = {0};
	const PlhServerActivity *activity =
		plh_server_activity_find(pid, &found) ? &found : NULL;
	PlhLoaded	loaded;
	PlhRow		row = {0};

	plh_sql_rows_put_pid(&row, pid);
	plh_sql_rows_put_text(&row, plh_sql_rows_unprofiled_type(pid, activity));
	loaded = put_loaded(&row, pid);
	plh_sql_rows_put_database(&row, found.database_oid);
	plh_sql_rows_put_role(&row, found.role_oid);
	plh_sql_rows_put_time(&row, found.started_at);
	plh_sql_rows_put_nulls(&row, 19);
	put_if_known(&row, plh_process_facts_private_bytes(pid));
	plh_sql_rows_put_nulls(&row, 6);
	if (loaded == PLH_LOADED)
		put_request(&row, pid, NULL);
	else
		plh_sql_rows_put_null(&row);
	plh_sql_rows_finish(&row, sink);
}

/* The rows of all processes that have no profile. */
static void
put_others(ProcessRows *rows)
{
	ListCell   *cell;

	foreach(cell, plh_server_processes_list())
	{
		int			pid = lfirst_int(cell);

		CHECK_FOR_INTERRUPTS();

		/* one that is gone meanwhile is not shown */
		if (!list_member_int(rows->profiled, pid) &&
			plh_sql_rows_may_know(pid) &&
			plh_process_facts_start_ticks(pid) != 0)
			put_unprofiled(pid, &rows->sink);
	}
}

/*
 * All processes of the server, and the profiles of those that are gone: the rows
 * of pg_leakhunt_processes.
 */
Datum
pg_leakhunt_processes(PG_FUNCTION_ARGS)
{
	ProcessRows rows = {0};

	if (plh_sql_rows_start(fcinfo, &rows.sink, PROCESS_COLUMNS))
		plh_profile_reader_each(plh_profile_directory_path(), 0, true,
								visit_process, &rows);
	put_others(&rows);
	return (Datum) 0;
}

/* A sentence that tells how to see more of a module; NULL if there is no way. */
static const char *
symbols_hint(const PlhModuleRecord *module, const PlhSymbolModule *found)
{
	switch (found->status)
	{
		case PLH_MODULE_OPEN:
			break;
		case PLH_MODULE_NO_LIBRARY:
			return "Install elfutils' library libdw.";
		case PLH_MODULE_NOT_ASKED:
			return NULL;
		case PLH_MODULE_NO_FILE:
			/* the vDSO is a module without a file */
			if (strchr(module->path, '/') == NULL)
				return NULL;
			return "The file was removed since it was loaded. Restart the server, or install the debug file with this build-id.";
		case PLH_MODULE_REPLACED:
			return "The file was replaced since it was loaded. Restart the server, or install the debug file with this build-id.";
		case PLH_MODULE_UNREADABLE:
		case PLH_MODULE_FAILED:
			return "The file, or its debug file, can't be read. Install it anew.";
	}
	if (found->source == PLH_SOURCE_DEBUG_INFORMATION)
		return NULL;
	return psprintf("Install the debug symbols of this file (Debian: find-dbgsym-packages %s; Fedora, RHEL: dnf debuginfo-install %s), or start the server with DEBUGINFOD_URLS in its environment.",
					module->path, module->path);
}

/* PlhProfileVisitor: the rows of pg_leakhunt_symbols for one process. */
static void
put_symbols(PlhProfileImage *image, void *arg)
{
	PlhRowSink *sink = arg;

	for (uint32 i = 1; i < PLH_IMAGE_MODULES; i++)
	{
		const PlhModuleRecord *module = plh_profile_image_module(image, i);
		PlhSymbolModule found;
		PlhRow		row = {0};

		if (module == NULL)
			continue;
		plh_symbols_module(plh_sql_rows_symbols(sink), module, &found);
		plh_sql_rows_put_foreign_text(&row, image, module->path,
									  module->path_bytes);
		plh_sql_rows_put_text(&row, module->build_id_bytes > 0 ?
							  plh_build_id_text(module) : NULL);
		plh_sql_rows_put_text(&row, plh_symbols_source_name(found.source));
		plh_sql_rows_put_text(&row, found.source == PLH_SOURCE_NOTHING ?
							  NULL : found.file);
		plh_sql_rows_put_text(&row, symbols_hint(module, &found));
		plh_sql_rows_finish(&row, sink);
	}
}

/*
 * The rows of pg_leakhunt_symbols, about each module that appears in a profile,
 * once for each process that has it.
 */
Datum
pg_leakhunt_symbols(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;

	if (!plh_sql_rows_start(fcinfo, &sink, SYMBOL_COLUMNS))
		return (Datum) 0;
	plh_sql_rows_visit(&sink, put_symbols, &sink);
	return (Datum) 0;
}

/* The history of a process. */
static void
put_history(const PlhProfileHeader *header, PlhRowSink *sink)
{
	for (uint32 i = 0; i < Min(header->history_count, PLH_HISTORY_POINTS); i++)
	{
		const PlhHistoryPoint *point = &header->history[i];
		PlhRow		row = {0};

		plh_sql_rows_put_time(&row, point->at);
		plh_sql_rows_put_int64(&row, point->live_bytes);
		plh_sql_rows_put_int64(&row, point->context_bytes);
		put_if_known(&row, point->malloc_bytes);
		put_if_known(&row, point->malloc_free_bytes);
		plh_sql_rows_put_int64(&row, point->own_bytes);
		plh_sql_rows_finish(&row, sink);
	}
}

/*
 * pg_leakhunt_history(pid): what a process held at times.
 */
Datum
pg_leakhunt_history(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;
	PlhProfileImage *image;
	int			pid;

	plh_sql_rows_check_arguments(fcinfo, 1);
	pid = plh_sql_rows_get_pid(fcinfo, 0);
	if (!plh_sql_rows_start(fcinfo, &sink, HISTORY_COLUMNS))
		return (Datum) 0;
	image = plh_sql_source_process(pid, WARNING);
	if (image != NULL)
		put_history(image->header, &sink);
	return (Datum) 0;
}

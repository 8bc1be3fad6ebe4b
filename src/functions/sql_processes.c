/*
 * sql_processes.c
 *	  The functions of SQL that show processes: what they are and hold, also by
 *	  memory context, and the binaries in their stacks.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/compat.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "functions/sql_access.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "reader/baseline_file.h"
#include "reader/database_text.h"
#include "reader/profile_reader.h"
#include "reader/server_activity.h"
#include "reader/server_processes.h"
#include "report/context_examples.h"
#include "report/context_list.h"
#include "report/death_text.h"
#include "report/blamed_code.h"
#include "report/words.h"
#include "sampler/control.h"

#define PROCESS_COLUMNS 35
#define CONTEXT_COLUMNS 11
#define SYMBOL_COLUMNS 5

PLH_FUNCTION(pg_leakhunt_processes);
PLH_FUNCTION(pg_leakhunt_contexts);
PLH_FUNCTION(pg_leakhunt_symbols);

/* The sink of the rows, and the processes that need no further row. */
typedef struct ProcessRows
{
	PlhRowSink	sink;
	List	   *profiled;		/* pids of live processes that have a profile */
} ProcessRows;

/* A figure, or null where it is negative. */
static void
put_if_known(PlhRow *row, int64 value)
{
	plh_sql_rows_put_if(row, value >= 0, value);
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
				 plh_process_facts_rss_anon_bytes(header->pid) : -1);
}

/* Does a process sample as somebody has asked for? */
static bool
has_taken_up(const PlhProfileHeader *header, const PlhControlRequest *request)
{
	if (!request->sampling)
		return header->sample_interval == 0;
	return header->sample_interval != 0 &&
		(request->sample_interval == 0 ||
		 request->sample_interval == header->sample_interval) &&
		(request->scope < 0 || request->scope == (int) header->scope);
}

/* The column request; the header is NULL where there is no profile to show it. */
static void
put_request(PlhRow *row, int pid, const PlhProfileHeader *header)
{
	PlhControlRequest request;

	plh_control_request_of(pid, &request);
	if (!request.present)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_text(row, header != NULL &&
							  has_taken_up(header, &request) ?
							  "in force" : "pending");
}

/* The row of a process that has a profile. */
static void
put_profile(const PlhProfileImage *image, PlhRowSink *sink)
{
	const PlhProfileHeader *header = image->header;
	const PlhBaseline *baseline =
		plh_baseline_file_read(plh_profile_directory_path(), image);
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
	plh_sql_rows_put_if(&row, baseline != NULL, baseline == NULL ? 0 :
						header->counters.live_bytes - baseline->live_bytes);
	plh_sql_rows_put_int64(&row, header->counters.live_samples);
	plh_sql_rows_put_int64(&row, header->samples_taken);
	plh_sql_rows_put_int64(&row, plh_profile_image_lost_samples(header));
	plh_sql_rows_put_int64(&row, header->site_count);
	put_triage(&row, image);
	plh_sql_rows_put_int64(&row, header->overhead_bytes + header->profile_bytes);
	plh_sql_rows_put_int64(&row, header->profile_bytes);
	plh_sql_rows_put_time(&row, header->counters.last_at);
	plh_sql_rows_put_time(&row, header->census_at);
	put_if_known(&row, header->unsampled_bytes);
	plh_sql_rows_put_if(&row, header->limit_bytes > 0, header->limit_bytes);
	plh_sql_rows_put_int64(&row, header->limit_hits);
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
	if (plh_sql_access_shows(rows->sink.sees_all, image->header))
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
	plh_sql_rows_put_nulls(&row, 18);
	put_if_known(&row, plh_process_facts_rss_anon_bytes(pid));
	plh_sql_rows_put_nulls(&row, 9);
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
			plh_sql_access_knows(pid) &&
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

	plh_sql_rows_start(fcinfo, &rows.sink, PROCESS_COLUMNS);
	if (plh_sql_source_publish_and_save())
		plh_profile_reader_each(plh_profile_directory_path(), 0, true, NULL,
								visit_process, &rows);
	put_others(&rows);
	return (Datum) 0;
}

/* The columns context_name and lifetime. */
static void
put_kind(PlhRow *row, const PlhProfileImage *image,
		 const PlhListedContext *context)
{
	const char *name = plh_context_list_name(image, context->name);

	plh_sql_rows_put_text(row, name);
	plh_sql_rows_put_text(row, name == NULL ? NULL :
						  plh_profile_image_lifetime_name(context->lifetime));
}

/* The column examples. */
static void
put_examples(PlhRow *row, const PlhProfileImage *image,
			 const PlhContextRecord *record)
{
	char	   *texts[PLH_EXAMPLES];
	int			count = plh_context_examples_texts(record, image, PLH_EXAMPLE_MAX,
												   texts);

	plh_sql_rows_put_texts(row, texts, count);
}

/* The rows of a process. */
static void
put_contexts(PlhProfileImage *image, void *arg)
{
	PlhRowSink *sink = arg;
	const PlhBaseline *baseline =
		plh_baseline_file_read(plh_profile_directory_path(), image);
	PlhContextList *list = plh_context_list_make(image, baseline);

	for (int i = 0; i < list->count; i++)
	{
		const PlhListedContext *context = &list->contexts[i];
		PlhRow		row = {0};

		plh_sql_rows_put_pid(&row, image->header->pid);
		plh_sql_rows_put_backend_type(&row, image);
		put_kind(&row, image, context);
		plh_sql_rows_put_if(&row, context->instances > 0, context->instances);
		plh_sql_rows_put_if(&row, context->instances > 0,
							context->context_bytes);
		plh_sql_rows_put_int64(&row, context->live_bytes);
		plh_sql_rows_put_int64(&row, context->live_count);
		plh_sql_rows_put_if(&row, baseline != NULL && context->sites > 0,
							context->live_bytes - context->baseline_bytes);
		plh_sql_rows_put_int64(&row, context->sites);
		put_examples(&row, image, context->record);
		plh_sql_rows_finish(&row, sink);
	}
}

/*
 * The memory contexts of all processes: the rows of pg_leakhunt_contexts.
 */
Datum
pg_leakhunt_contexts(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;

	plh_sql_rows_start(fcinfo, &sink, CONTEXT_COLUMNS);
	if (!plh_sql_source_publish_and_save())
		return (Datum) 0;
	plh_sql_access_visit(sink.sees_all, 0, put_contexts, &sink);
	return (Datum) 0;
}

/* What is missing where a binary has no debug information. */
#define SYMBOLS_HINT PLH_NAMES_SOURCES "\n" PLH_NAMES_PAGE

/* What is missing where names are read without libdw. */
#define LIBRARY_HINT "Install elfutils' library libdw (Debian: libdw1, RHEL: elfutils-libs) to see files, lines and inlined functions."

/* A sentence on a file that could not be opened; NULL if there is no way to mend that. */
static const char *
unopened_hint(const PlhModuleRecord *module, PlhModuleStatus status)
{
	/* the vDSO is a module without a file */
	if (strchr(module->path, '/') == NULL)
		return NULL;
	switch (status)
	{
		case PLH_MODULE_NO_FILE:
			return "The file was removed since it was loaded. Restart the server, or install the debug file with this build-id.";
		case PLH_MODULE_REPLACED:
			return "The file was replaced since it was loaded. Restart the server, or install the debug file with this build-id.";
		case PLH_MODULE_UNREADABLE:
			return "The file, or its debug file, cannot be read. Reinstall it.";
		case PLH_MODULE_NO_MEMORY:
			return "There was no memory to read the file.";
		case PLH_MODULE_FAILED:
			return "The symbol reader failed on this file; a WARNING says how.";
		default:
			return NULL;
	}
}

/* How to see more of a module; NULL if there is no way, or nothing more. */
static const char *
symbols_hint(const PlhModuleRecord *module, const PlhSymbolModule *found)
{
	if (found->status == PLH_MODULE_NAMES_ONLY &&
		found->source == PLH_SOURCE_SYMBOL_TABLE)
		return LIBRARY_HINT;
	if (found->status != PLH_MODULE_OPEN && found->status != PLH_MODULE_NAMES_ONLY)
		return unopened_hint(module, found->status);
	if (found->source == PLH_SOURCE_DEBUG_INFORMATION)
		return NULL;
	return found->status == PLH_MODULE_NAMES_ONLY ? SYMBOLS_HINT "\n" LIBRARY_HINT : SYMBOLS_HINT;
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
							  plh_words_build_id(module) : NULL);
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

	plh_sql_rows_start(fcinfo, &sink, SYMBOL_COLUMNS);
	if (!plh_sql_source_publish_and_save())
		return (Datum) 0;
	plh_sql_access_visit(sink.sees_all, 0, put_symbols, &sink);
	return (Datum) 0;
}

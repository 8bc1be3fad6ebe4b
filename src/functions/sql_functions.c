/*
 * sql_functions.c
 *	  The functions of SQL that show processes: what they are and hold, their
 *	  contexts and history, the binaries in their stacks.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "base/compat.h"
#include "base/limits.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "functions/sql_rows.h"
#include "process/profile_directory.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"
#include "reader/server_processes.h"
#include "report/stack_text.h"

PLH_FUNCTION(pg_leakhunt_get_processes);
PLH_FUNCTION(pg_leakhunt_get_symbols);
PLH_FUNCTION(pg_leakhunt_get_contexts);
PLH_FUNCTION(pg_leakhunt_history);
PLH_FUNCTION(pg_leakhunt_get_coverage);

static const char *
database_name(const PlhProfileHeader *header)
{
	return OidIsValid(header->database_oid) ?
		get_database_name(header->database_oid) : NULL;
}

static const char *
role_name(const PlhProfileHeader *header)
{
	return OidIsValid(header->role_oid) ?
		GetUserNameFromId(header->role_oid, true) : NULL;
}

/* The column growth_bytes of a process. */
static void
put_process_growth(PlhRow *row, const PlhProfileHeader *header)
{
	PlhBaseline *baseline =
		plh_baseline_file_read(plh_profile_directory_path(), header);

	if (baseline == NULL)
	{
		plh_sql_rows_put_null(row);
		return;
	}
	plh_sql_rows_put_int64(row, header->counters.live_bytes -
				  baseline->live_bytes);
	pfree(baseline);
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

/* The columns context_bytes, malloc_bytes and rss_anon_bytes. */
static void
put_triage(PlhRow *row, const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	bool		counted = header->census_at != 0;

	put_if_known(row, counted ? header->context_bytes : -1);
	put_if_known(row, counted ? header->malloc_bytes : -1);
	put_if_known(row, image->alive ? plh_server_processes_rss_anon(header->pid) : -1);
}

/* PlhProfileVisitor: one row of pg_leakhunt_processes. */
static void
put_process(PlhProfileImage *image, void *arg)
{
	const PlhProfileHeader *header = image->header;
	PlhRowSink *sink = arg;
	PlhRow		row = {0};

	if (!plh_sql_rows_may_show(sink, header))
		return;

	plh_sql_rows_put_datum(&row, Int32GetDatum(header->pid));
	plh_sql_rows_put_backend_type(&row, image);
	plh_sql_rows_put_text(&row, image->alive ? "live" : "crashed");
	plh_sql_rows_put_text(&row, database_name(header));
	plh_sql_rows_put_text(&row, role_name(header));
	plh_sql_rows_put_time(&row, header->started_at);
	plh_sql_rows_put_datum(&row, BoolGetDatum(image->alive &&
									 header->sample_interval != 0));
	plh_sql_rows_put_int64(&row, header->sample_interval);
	plh_sql_rows_put_text(&row, plh_settings_scope_name(header->scope));
	plh_sql_rows_put_int64(&row, header->counters.live_bytes);
	plh_sql_rows_put_int64(&row, header->counters.live_count);
	plh_sql_rows_put_int64(&row, header->peak_bytes);
	put_process_growth(&row, header);
	plh_sql_rows_put_int64(&row, header->counters.live_samples);
	plh_sql_rows_put_int64(&row, header->samples_taken);
	plh_sql_rows_put_int64(&row, plh_profile_image_lost_samples(header));
	plh_sql_rows_put_int64(&row, header->site_count);
	put_triage(&row, image);
	plh_sql_rows_put_int64(&row, header->private_bytes + header->profile_bytes);
	plh_sql_rows_put_int64(&row, header->profile_bytes);
	plh_sql_rows_put_time(&row, header->counters.last_at);
	plh_sql_rows_put_time(&row, header->census_at);
	plh_sql_rows_finish(&row, sink);
}

/* A build-id as text, or NULL if there is none. */
static char *
build_id_text(const PlhModuleRecord *module)
{
	char	   *text = palloc(2 * PLH_BUILD_ID_MAX + 1);

	for (uint32 i = 0; i < module->build_id_bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", module->build_id[i]);
	return module->build_id_bytes > 0 ? text : NULL;
}

/* What to do to see more of a module, as a sentence; NULL if nothing. */
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

	if (!plh_sql_rows_may_show(sink, image->header))
		return;
	if (sink->symbols == NULL)
		sink->symbols = plh_symbols_open();
	for (uint32 i = 1; i < PLH_IMAGE_MODULES; i++)
	{
		const PlhModuleRecord *module = plh_profile_image_module(image, i);
		PlhSymbolModule found;
		PlhRow		row = {0};

		if (module == NULL)
			continue;
		plh_symbols_module(sink->symbols, module, &found);
		plh_sql_rows_put_foreign_text(&row, image, module->path, module->path_bytes);
		plh_sql_rows_put_text(&row, build_id_text(module));
		plh_sql_rows_put_text(&row, plh_symbols_source_name(found.source));
		plh_sql_rows_put_text(&row, found.source == PLH_SOURCE_NOTHING ? NULL : found.file);
		plh_sql_rows_put_text(&row, symbols_hint(module, &found));
		plh_sql_rows_finish(&row, sink);
	}
}

/*
 * All processes that have a profile: the rows of pg_leakhunt_processes.
 */
Datum
pg_leakhunt_get_processes(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;

	if (!plh_sql_rows_start(fcinfo, &sink))
		return (Datum) 0;
	plh_profile_reader_each(plh_profile_directory_path(), 0, true,
							put_process, &sink);
	return (Datum) 0;
}

/*
 * What is known about the modules that appear in profiles: the rows of
 * pg_leakhunt_symbols, once for each process that has the module.
 */
Datum
pg_leakhunt_get_symbols(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;

	if (!plh_sql_rows_start(fcinfo, &sink))
		return (Datum) 0;
	plh_profile_reader_each(plh_profile_directory_path(), 0, false,
							put_symbols, &sink);
	return (Datum) 0;
}

/* PlhProfileVisitor: what the last census of a process has counted. */
static void
put_contexts(PlhProfileImage *image, void *arg)
{
	PlhRowSink *sink = arg;
	const PlhContextRecord *context;
	uint32		position = 0;

	if (!plh_sql_rows_may_show(sink, image->header))
		return;
	while ((context = plh_profile_image_next_context(image,
													  &position)) != NULL)
	{
		const PlhStringRecord *name =
			plh_profile_image_string(image, context->context_name);
		PlhRow		row = {0};

		if (name == NULL || context->instances == 0)
			continue;
		plh_sql_rows_put_datum(&row, Int32GetDatum(image->header->pid));
		plh_sql_rows_put_backend_type(&row, image);
		plh_sql_rows_put_foreign_text(&row, image, name->text, name->text_bytes);
		plh_sql_rows_put_text(&row, plh_profile_image_lifetime_name(context->lifetime));
		plh_sql_rows_put_int64(&row, context->instances);
		plh_sql_rows_put_int64(&row, context->bytes);
		plh_sql_rows_finish(&row, sink);
	}
}

/*
 * The memory contexts of all processes, by name and lifetime, as their last
 * censuses have counted them.
 */
Datum
pg_leakhunt_get_contexts(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;

	if (!plh_sql_rows_start(fcinfo, &sink))
		return (Datum) 0;
	plh_profile_reader_each(plh_profile_directory_path(), 0, false,
							put_contexts, &sink);
	return (Datum) 0;
}

/* PlhProfileVisitor: the history of a process. */
static void
put_history(PlhProfileImage *image, void *arg)
{
	const PlhProfileHeader *header = image->header;
	PlhRowSink *sink = arg;

	if (!plh_sql_rows_may_show(sink, header))
		return;
	sink->found = true;
	for (uint32 i = 0; i < Min(header->history_count, PLH_HISTORY_POINTS); i++)
	{
		PlhRow		row = {0};

		plh_sql_rows_put_time(&row, header->history[i].at);
		plh_sql_rows_put_int64(&row, header->history[i].live_bytes);
		plh_sql_rows_put_int64(&row, header->history[i].context_bytes);
		plh_sql_rows_finish(&row, sink);
	}
}

/*
 * pg_leakhunt_history(pid): what a process held at times.
 */
Datum
pg_leakhunt_history(PG_FUNCTION_ARGS)
{
	int			pid = PG_GETARG_INT32(0);
	PlhRowSink	sink;

	if (!plh_sql_rows_start(fcinfo, &sink))
		return (Datum) 0;
	if (pid > 0)
		plh_profile_reader_each(plh_profile_directory_path(), pid, true,
								put_history, &sink);
	if (!sink.found)
		(void) plh_server_processes_check(pid);
	return (Datum) 0;
}

/* May the caller know about that process?  As with profiles, by its role. */
static bool
may_know(const PlhRowSink *sink, int pid)
{
	PGPROC	   *proc = sink->sees_all ? NULL : BackendPidGetProc(pid);

	return sink->sees_all ||
		(proc != NULL && plh_sql_rows_may_see_role(proc->roleId));
}

/*
 * All processes of the server, and whether they have loaded the module.
 */
Datum
pg_leakhunt_get_coverage(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;
	ListCell   *cell;

	plh_sql_rows_start_silently(fcinfo, &sink);
	foreach(cell, plh_server_processes_list())
	{
		int			pid = lfirst_int(cell);
		PlhLoaded	loaded = plh_server_processes_loaded(pid);
		PlhRow		row = {0};

		CHECK_FOR_INTERRUPTS();
		if (!may_know(&sink, pid) ||
			plh_process_facts_start_ticks(pid) == 0)
			continue;
		plh_sql_rows_put_datum(&row, Int32GetDatum(pid));
		plh_sql_rows_put_text(&row, pid == PostmasterPid ? "postmaster" : NULL);
		if (loaded == PLH_LOADED_UNKNOWN)
			plh_sql_rows_put_null(&row);
		else
			plh_sql_rows_put_datum(&row, BoolGetDatum(loaded == PLH_LOADED));
		plh_sql_rows_finish(&row, &sink);
	}
	return (Datum) 0;
}

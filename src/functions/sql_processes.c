/*
 * sql_processes.c
 *	  The functions of SQL that show processes: what they are and hold, also by memory context,
 *	  and the binaries in their stacks.
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
#include "report/context_list.h"
#include "report/death_text.h"
#include "report/blamed_code.h"
#include "report/words.h"
#include "sampler/control.h"

PLH_FUNCTION(pg_leakhunt_processes);
PLH_FUNCTION(pg_leakhunt_sampling);
PLH_FUNCTION(pg_leakhunt_contexts);
PLH_FUNCTION(pg_leakhunt_symbols);

typedef struct ShownProcess
{
	int			pid;
	const PlhProfileImage *image;	/* NULL: it has no profile */
	const char *backend_type;	/* NULL: not known, as the next */
	const char *state;
	Oid			role;			/* InvalidOid: none, as the next */
	Oid			database;
	const char *application_name;	/* NULL: it has set none */
	TimestampTz started_at;		/* 0: not known */
	bool		heeds_requests; /* it lives, and has loaded pg_leakhunt */
} ShownProcess;

/* A function that makes the row of a process. */
typedef void (*PutProcess) (const ShownProcess *process, PlhRowSink *sink);

/* The sink of the rows, and the processes that need no further row. */
typedef struct ProcessRows
{
	PlhRowSink	sink;
	PutProcess	put;
	List	   *profiled;		/* pids of live processes that have a profile */
} ProcessRows;

/* Does a process sample as it was asked to? */
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
static const char *
request_of(const ShownProcess *process, const PlhProfileHeader *header)
{
	PlhControlRequest request = {0};

	if (process->heeds_requests)
		plh_control_request_of(process->pid, &request);
	if (!request.present)
		return NULL;
	return header != NULL && has_taken_up(header, &request) ? "in force" : "pending";
}

/* PutProcess: a row of pg_leakhunt_processes. */
static void
put_process(const ShownProcess *process, PlhRowSink *sink)
{
	const PlhProfileImage *image = process->image;
	const PlhProfileHeader *header = image == NULL ? NULL : image->header;
	const PlhBaseline *baseline = image == NULL ? NULL :
		plh_baseline_file_read(plh_profile_directory_path(), image);
	bool		is_counted = header != NULL && header->census_at != 0;
	int64		rss_anon_bytes = image != NULL && !image->alive ? -1 :
		plh_process_facts_rss_anon_bytes(process->pid);
	PlhRow		row = {0};

#include "functions/columns/processes.def"
	plh_sql_rows_finish(&row, sink);
}

/* PutProcess: a row of pg_leakhunt_sampling. */
static void
put_sampling(const ShownProcess *process, PlhRowSink *sink)
{
	const PlhProfileImage *image = process->image;
	const PlhProfileHeader *header = image == NULL ? NULL : image->header;
	PlhRow		row = {0};

#include "functions/columns/sampling.def"
	plh_sql_rows_finish(&row, sink);
}

/* The row of a process that has a profile. */
static void
put_profiled(const PlhProfileImage *image, ProcessRows *rows)
{
	const PlhProfileHeader *header = image->header;
	ShownProcess process = {
		.pid = header->pid,
		.image = image,
		.backend_type = plh_sql_rows_backend_type(image),
		.state = plh_sql_rows_state(image),
		.role = header->role_oid,
		.database = header->database_oid,
		.application_name = plh_sql_rows_application(image),
		.started_at = header->started_at,
		.heeds_requests = image->alive
	};

	rows->put(&process, &rows->sink);
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
		put_profiled(image, rows);
}

/* The row of a process without a profile. */
static void
put_unprofiled(int pid, ProcessRows *rows)
{
	PlhServerActivity found = {0};
	bool		is_found = plh_server_activity_find(pid, &found);

	/* nothing is known where the module is loaded, but inactive */
	PlhLoaded	loaded = plh_process_refusal() != NULL ? PLH_LOADED_UNKNOWN :
		plh_process_is_preloaded() ? PLH_LOADED : plh_server_processes_loaded(pid);
	ShownProcess process = {
		.pid = pid,
		.backend_type = plh_sql_rows_unprofiled_type(pid, is_found ? &found : NULL),
		.state = loaded == PLH_LOADED ? "small" :
		loaded == PLH_NOT_LOADED ? "not loaded" : NULL,
		.role = found.role_oid,
		.database = found.database_oid,
		.application_name = plh_sql_rows_active_application(&found),
		.started_at = found.started_at,
		.heeds_requests = loaded == PLH_LOADED
	};

	rows->put(&process, &rows->sink);
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
			put_unprofiled(pid, rows);
	}
}

/* All processes of the server, and the profiles of those that are gone. */
static Datum
put_processes(FunctionCallInfo fcinfo, PutProcess put)
{
	ProcessRows rows = {.put = put};

	plh_sql_rows_start(fcinfo, &rows.sink);
	if (plh_sql_source_publish_and_save())
		plh_profile_reader_each(plh_profile_directory_path(), 0, true, NULL, visit_process, &rows);
	put_others(&rows);
	return (Datum) 0;
}

Datum
pg_leakhunt_processes(PG_FUNCTION_ARGS)
{
	return put_processes(fcinfo, put_process);
}

Datum
pg_leakhunt_sampling(PG_FUNCTION_ARGS)
{
	return put_processes(fcinfo, put_sampling);
}

/* The rows of all profiles that the caller may see; "put" gets a PlhRowSink. */
static Datum
put_profiles(FunctionCallInfo fcinfo, PlhProfileVisitor put)
{
	PlhRowSink	sink;

	plh_sql_rows_start(fcinfo, &sink);
	if (plh_sql_source_publish_and_save())
		plh_sql_access_visit(sink.sees_all, 0, put, &sink);
	return (Datum) 0;
}

static ArrayType *
examples_of(const PlhProfileImage *image, const PlhContextRecord *record)
{
	char	   *texts[PLH_EXAMPLES];
	int			count = plh_context_list_examples(record, image, PLH_EXAMPLE_MAX, texts);

	return plh_sql_rows_texts(texts, count);
}

/* The rows of a process. */
static void
put_contexts(PlhProfileImage *image, void *arg)
{
	PlhRowSink *sink = arg;
	const PlhBaseline *baseline = plh_baseline_file_read(plh_profile_directory_path(), image);
	PlhContextList *list = plh_context_list_make(image, baseline);

	for (int i = 0; i < list->count; i++)
	{
		const PlhListedContext *context = &list->contexts[i];
		const char *name = plh_context_list_name(image, context->name);
		PlhRow		row = {0};

#include "functions/columns/contexts.def"
		plh_sql_rows_finish(&row, sink);
	}
}

Datum
pg_leakhunt_contexts(PG_FUNCTION_ARGS)
{
	return put_profiles(fcinfo, put_contexts);
}

/* What is missing where a binary has no debug information. */
#define SYMBOLS_HINT PLH_NAMES_SOURCES "\n" PLH_NAMES_PAGE

/* What is missing where names are read without libdw. */
#define LIBRARY_HINT "Install elfutils' library libdw (Debian: libdw1, RHEL: elfutils-libs) to see files, lines and inlined functions."

/* A sentence on a file that could not be opened; NULL if there is no way to mend that. */
static const char *
unopened_hint(const PlhModuleRecord *module, PlhModuleStatus status)
{
	static const char *const hints[] = {
		[PLH_MODULE_NO_FILE] = "The file was removed since it was loaded. Restart the server, or install the debug file with this build-id.",
		[PLH_MODULE_REPLACED] = "The file was replaced since it was loaded. Restart the server, or install the debug file with this build-id.",
		[PLH_MODULE_UNREADABLE] = "The file, or its debug file, cannot be read. Reinstall it.",
		[PLH_MODULE_NO_MEMORY] = "There was no memory to read the file.",
		[PLH_MODULE_FAILED] = "The symbol reader failed on this file; a WARNING says how.",
		[PLH_MODULE_NOT_ASKED] = NULL
	};

	Assert(status < lengthof(hints));
	/* the vDSO is a module without a file */
	return strchr(module->path, '/') == NULL ? NULL : hints[status];
}

/* How to see more of a module; NULL if there is no way, or nothing more. */
static const char *
symbols_hint(const PlhModuleRecord *module, const PlhSymbolModule *found)
{
	if (found->status == PLH_MODULE_NAMES_ONLY && found->source == PLH_SOURCE_SYMBOL_TABLE)
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

#include "functions/columns/symbols.def"
		plh_sql_rows_finish(&row, sink);
	}
}

/*
 * The rows of pg_leakhunt_symbols, about each module that appears in a profile, once for each
 * process that has it.
 */
Datum
pg_leakhunt_symbols(PG_FUNCTION_ARGS)
{
	return put_profiles(fcinfo, put_symbols);
}

/*
 * sql_functions.c
 *	  The functions that SQL can call: arguments, privileges, rows.
 *
 * Roles without the privileges of pg_read_all_stats get the rows of their own
 * processes only.
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

#include "baseline.h"
#include "compat.h"
#include "lifetime.h"
#include "process.h"
#include "profile_reader.h"
#include "sampling.h"
#include "settings.h"
#include "sql_rows.h"
#include "stack_text.h"

PLH_FUNCTION(pg_leakhunt_get_processes);
PLH_FUNCTION(pg_leakhunt_get_sites);
PLH_FUNCTION(pg_leakhunt_get_symbols);
PLH_FUNCTION(pg_leakhunt_get_contexts);
PLH_FUNCTION(pg_leakhunt_history);

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

static int64
dropped_samples(const PlhProfileHeader *header)
{
	int64		sum = 0;

	for (int loss = 0; loss < PLH_LOSSES; loss++)
		sum += header->lost_samples[loss];
	return sum;
}

/* The column growth_bytes of a process. */
static void
put_process_growth(PlhRow *row, const PlhProfileHeader *header)
{
	PlhBaseline *baseline =
	plh_baseline_read(plh_process_profile_directory(), header);

	if (baseline == NULL)
	{
		plh_row_null(row);
		return;
	}
	plh_row_int64(row, header->counters.live_bytes -
			  plh_baseline_process_bytes(baseline));
	pfree(baseline);
}

/* The columns growth_bytes and growth_count of a site. */
static void
put_site_growth(PlhRow *row, const PlhRowSink *sink, const PlhProfileImage *image,
				const PlhSiteRecord *site)
{
	int64		bytes;
	int64		count;

	if (sink->baseline == NULL)
	{
		plh_row_null(row);
		plh_row_null(row);
		return;
	}
	plh_baseline_site(sink->baseline,
					  (const char *) site - (const char *) image->header,
					  &bytes, &count);
	plh_row_int64(row, site->counters.live_bytes - bytes);
	plh_row_int64(row, site->counters.live_count - count);
}

/* RssAnon of a process in bytes, -1 if it is not to be had. */
static int64
rss_anon_bytes(int pid)
{
	char		path[64];
	char		line[256];
	long long	kilobytes = -1;
	FILE	   *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = AllocateFile(path, "r");
	while (status != NULL && kilobytes < 0 &&
		   fgets(line, sizeof(line), status) != NULL)
		(void) sscanf(line, "RssAnon: %lld kB", &kilobytes);
	if (status != NULL)
		FreeFile(status);
	return kilobytes < 0 ? -1 : kilobytes * 1024;
}

/* A figure, or null where it is negative. */
static void
put_if_known(PlhRow *row, int64 value)
{
	if (value < 0)
		plh_row_null(row);
	else
		plh_row_int64(row, value);
}

/* The columns context_bytes, malloc_bytes and rss_anon_bytes. */
static void
put_triage(PlhRow *row, const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	bool		counted = header->census_at != 0;

	put_if_known(row, counted ? header->context_bytes : -1);
	put_if_known(row, counted ? header->malloc_bytes : -1);
	put_if_known(row, image->alive ? rss_anon_bytes(header->pid) : -1);
}

/* PlhProfileVisitor: one row of pg_leakhunt_processes. */
static void
put_process(PlhProfileImage *image, void *arg)
{
	const PlhProfileHeader *header = image->header;
	PlhRowSink    *sink = arg;
	PlhRow			row = {0};

	if (!plh_rows_may_show(sink, header))
		return;

	plh_row_datum(&row, Int32GetDatum(header->pid));
	plh_row_backend_type(&row, image);
	plh_row_text(&row, image->alive ? "live" : "crashed");
	plh_row_text(&row, database_name(header));
	plh_row_text(&row, role_name(header));
	plh_row_time(&row, header->started_at);
	plh_row_datum(&row, BoolGetDatum(image->alive &&
								 header->sample_interval != 0));
	plh_row_int64(&row, header->sample_interval);
	plh_row_text(&row, plh_settings_scope_name(header->scope));
	plh_row_int64(&row, header->counters.live_bytes);
	plh_row_int64(&row, header->counters.live_count);
	plh_row_int64(&row, header->peak_bytes);
	put_process_growth(&row, header);
	plh_row_int64(&row, header->counters.live_samples);
	plh_row_int64(&row, header->samples_taken);
	plh_row_int64(&row, dropped_samples(header));
	plh_row_int64(&row, header->site_count);
	put_triage(&row, image);
	plh_row_int64(&row, header->private_bytes + header->profile_bytes);
	plh_row_int64(&row, header->profile_bytes);
	plh_row_time(&row, header->counters.last_at);
	plh_row_finish(&row, sink);
}

/* The columns site, stack and stack_id. */
static void
put_stack(PlhRow *row, PlhRowSink *sink, const PlhProfileImage *image,
		  const PlhSiteRecord *site)
{
	const PlhStackRecord *stack = plh_profile_reader_stack(image,
														   site->key.stack);
	PlhStackText text;
	Datum	   *frames;

	if (!sink->with_stacks)
	{
		plh_row_null(row);
		plh_row_null(row);
		plh_row_null(row);
		return;
	}
	if (stack == NULL)
	{
		plh_row_text(row, site->key.context_name != 0 ?
				 "[process start]" : "[profile full]");
		plh_row_null(row);
		plh_row_null(row);
		return;
	}

	plh_stack_text_describe(sink->symbols, image, stack, &text);
	frames = palloc(sizeof(Datum) * Max(text.frame_count, 1));
	for (int i = 0; i < text.frame_count; i++)
		frames[i] = CStringGetTextDatum(text.frames[i]);
	plh_row_text(row, text.site);
	plh_row_datum(row, PointerGetDatum(construct_array(frames, text.frame_count,
												   TEXTOID, -1, false,
												   TYPALIGN_INT)));
	plh_row_int64(row, text.stack_id);
}

/* The columns query_id and query. */
static void
put_statement(PlhRow *row, const PlhProfileImage *image,
			  const PlhSiteRecord *site)
{
	const PlhStatementRecord *statement =
	plh_profile_reader_statement(image, site->key.statement);

	if (statement == NULL || statement->query_id == 0)
		plh_row_null(row);
	else
		plh_row_int64(row, (int64) statement->query_id);
	if (statement == NULL || statement->text_bytes == 0)
		plh_row_null(row);
	else
		plh_row_foreign_text(row, image, statement->text, statement->text_bytes);
}

/*
 * The youngest checkpoint that lies in the first half of a site's life up to
 * now, or NULL.
 */
static const PlhCheckpoint *
early_checkpoint(const PlhSiteRecord *site, uint32 age)
{
	for (int i = PLH_CHECKPOINTS - 1; i >= 0; i--)
	{
		const PlhCheckpoint *checkpoint = &site->checkpoints[i];

		if (checkpoint->epochs != 0 && checkpoint->epochs <= age / 2)
			return checkpoint;
	}
	return NULL;
}

/* The columns that tell a leak from a cache. */
static void
put_progress(PlhRow *row, const PlhProfileImage *image,
			 const PlhSiteRecord *site)
{
	uint32		age = image->header->epoch - site->first_epoch;
	const PlhCheckpoint *early = early_checkpoint(site, age);

	plh_row_int64(row, site->epochs);
	plh_row_int64(row, age);
	if (early == NULL)
	{
		for (int i = 0; i < 4; i++)
			plh_row_null(row);
		return;
	}
	plh_row_int64(row, early->epochs);
	plh_row_int64(row, early->live_bytes);
	plh_row_int64(row, early->live_samples);
	plh_row_time(row, early->at);
}

static void
put_site(const PlhProfileImage *image, const PlhSiteRecord *site,
		 PlhRowSink *sink)
{
	const PlhCounters *counters = &site->counters;
	const PlhStringRecord *context =
	plh_profile_reader_string(image, site->key.context_name);
	PlhRow			row = {0};

	plh_row_datum(&row, Int32GetDatum(image->header->pid));
	plh_row_backend_type(&row, image);
	if (context != NULL)
		plh_row_foreign_text(&row, image, context->text, context->text_bytes);
	else
		plh_row_null(&row);
	if (context != NULL)
		plh_row_text(&row, plh_lifetime_name(site->key.lifetime));
	else
		plh_row_null(&row);
	put_statement(&row, image, site);
	plh_row_int64(&row, counters->live_bytes);
	plh_row_int64(&row, counters->live_count);
	plh_row_int64(&row,
			  (int64) plh_sampling_error_bytes(counters->live_variance,
											   counters->live_bytes,
											   counters->live_samples));
	put_site_growth(&row, sink, image, site);
	plh_row_int64(&row, site->last_change > image->header->peak_change ?
				  site->peak_bytes : counters->live_bytes);
	plh_row_int64(&row, counters->total_bytes);
	plh_row_int64(&row, counters->total_count);
	if (counters->total_bytes > 0)
		plh_row_datum(&row, Float8GetDatum((double) counters->live_bytes /
									   (double) counters->total_bytes));
	else
		plh_row_null(&row);
	plh_row_int64(&row, counters->live_samples);
	plh_row_time(&row, counters->first_at);
	plh_row_time(&row, counters->last_at);
	put_stack(&row, sink, image, site);
	put_progress(&row, image, site);
	plh_row_finish(&row, sink);
}

/* PlhProfileVisitor: the rows of pg_leakhunt_report for one process. */
static void
put_sites(PlhProfileImage *image, void *arg)
{
	PlhRowSink    *sink = arg;
	const PlhSiteRecord *site;
	uint32		position = 0;
	MemoryContext row_context;
	MemoryContext caller_context;

	if (!plh_rows_may_show(sink, image->header))
		return;
	sink->found = true;
	sink->baseline = plh_baseline_read(plh_process_profile_directory(),
									   image->header);
	if (sink->with_stacks && sink->symbols == NULL)
		sink->symbols = plh_symbols_open();

	row_context = AllocSetContextCreate(CurrentMemoryContext,
										"pg_leakhunt row",
										ALLOCSET_DEFAULT_SIZES);
	caller_context = MemoryContextSwitchTo(row_context);
	while ((site = plh_profile_reader_next_site(image, &position)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (site->counters.total_samples > 0)
			put_site(image, site, sink);
		MemoryContextReset(row_context);
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(row_context);
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
	PlhRowSink    *sink = arg;

	if (!plh_rows_may_show(sink, image->header))
		return;
	if (sink->symbols == NULL)
		sink->symbols = plh_symbols_open();
	for (uint32 i = 1; i < PLH_IMAGE_MODULES; i++)
	{
		const PlhModuleRecord *module = plh_profile_reader_module(image, i);
		PlhSymbolModule found;
		PlhRow			row = {0};

		if (module == NULL)
			continue;
		plh_symbols_module(sink->symbols, module, &found);
		plh_row_foreign_text(&row, image, module->path, module->path_bytes);
		plh_row_text(&row, build_id_text(module));
		plh_row_text(&row, plh_symbols_source_name(found.source));
		plh_row_text(&row, found.source == PLH_SOURCE_NOTHING ? NULL : found.file);
		plh_row_text(&row, symbols_hint(module, &found));
		plh_row_finish(&row, sink);
	}
}

/*
 * All processes that have a profile: the rows of pg_leakhunt_processes.
 */
Datum
pg_leakhunt_get_processes(PG_FUNCTION_ARGS)
{
	PlhRowSink		sink;

	if (!plh_rows_start(fcinfo, &sink))
		return (Datum) 0;
	plh_profile_reader_each(plh_process_profile_directory(), 0, true,
							put_process, &sink);
	return (Datum) 0;
}

/*
 * The sites of one process, or of all (NULL): the rows of pg_leakhunt_report.
 * The second argument tells whether stacks are wanted, which take most time.
 */
Datum
pg_leakhunt_get_sites(PG_FUNCTION_ARGS)
{
	int			pid = PG_ARGISNULL(0) ? 0 : PG_GETARG_INT32(0);
	PlhRowSink		sink;

	if (!plh_rows_start(fcinfo, &sink))
		return (Datum) 0;
	sink.with_stacks = PG_ARGISNULL(1) || PG_GETARG_BOOL(1);
	if (PG_ARGISNULL(0) || pid > 0)
		plh_profile_reader_each(plh_process_profile_directory(), pid, false,
								put_sites, &sink);

	if (!PG_ARGISNULL(0) && !sink.found)
		(void) plh_process_check_pid(pid);
	return (Datum) 0;
}

/*
 * What is known about the modules that appear in profiles: the rows of
 * pg_leakhunt_symbols, once for each process that has the module.
 */
Datum
pg_leakhunt_get_symbols(PG_FUNCTION_ARGS)
{
	PlhRowSink		sink;

	if (!plh_rows_start(fcinfo, &sink))
		return (Datum) 0;
	plh_profile_reader_each(plh_process_profile_directory(), 0, false,
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

	if (!plh_rows_may_show(sink, image->header))
		return;
	while ((context = plh_profile_reader_next_context(image,
													  &position)) != NULL)
	{
		const PlhStringRecord *name =
		plh_profile_reader_string(image, context->context_name);
		PlhRow		row = {0};

		if (name == NULL || context->instances == 0)
			continue;
		plh_row_datum(&row, Int32GetDatum(image->header->pid));
		plh_row_backend_type(&row, image);
		plh_row_foreign_text(&row, image, name->text, name->text_bytes);
		plh_row_text(&row, plh_lifetime_name(context->lifetime));
		plh_row_int64(&row, context->instances);
		plh_row_int64(&row, context->bytes);
		plh_row_finish(&row, sink);
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

	if (!plh_rows_start(fcinfo, &sink))
		return (Datum) 0;
	plh_profile_reader_each(plh_process_profile_directory(), 0, false,
							put_contexts, &sink);
	return (Datum) 0;
}

/* PlhProfileVisitor: the history of a process. */
static void
put_history(PlhProfileImage *image, void *arg)
{
	const PlhProfileHeader *header = image->header;
	PlhRowSink *sink = arg;

	if (!plh_rows_may_show(sink, header))
		return;
	sink->found = true;
	for (uint32 i = 0; i < Min(header->history_count, PLH_HISTORY_POINTS); i++)
	{
		PlhRow		row = {0};

		plh_row_time(&row, header->history[i].at);
		plh_row_int64(&row, header->history[i].live_bytes);
		plh_row_int64(&row, header->history[i].context_bytes);
		plh_row_finish(&row, sink);
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

	if (!plh_rows_start(fcinfo, &sink))
		return (Datum) 0;
	if (pid > 0)
		plh_profile_reader_each(plh_process_profile_directory(), pid, true,
								put_history, &sink);
	if (!sink.found)
		(void) plh_process_check_pid(pid);
	return (Datum) 0;
}

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
#include "stack_text.h"

PLH_FUNCTION(pg_leakhunt_get_processes);
PLH_FUNCTION(pg_leakhunt_get_sites);
PLH_FUNCTION(pg_leakhunt_get_symbols);

/* What a call collects rows for. */
typedef struct RowSink
{
	ReturnSetInfo *result;
	bool		sees_all;		/* privileges of pg_read_all_stats */
	bool		with_stacks;
	bool		found;			/* a profile that the caller may see */
	PlhSymbols *symbols;		/* opened when first needed */
	PlhBaseline *baseline;		/* of the process at hand; NULL if none */
} RowSink;

/* A row in the making. */
typedef struct Row
{
	int			column;
	Datum		values[32];
	bool		nulls[32];
} Row;

static void
put_datum(Row *row, Datum value)
{
	row->nulls[row->column] = false;
	row->values[row->column++] = value;
}

static void
put_null(Row *row)
{
	row->nulls[row->column++] = true;
}

static void
put_int64(Row *row, int64 value)
{
	put_datum(row, Int64GetDatum(value));
}

/* Text that is ours; NULL gives NULL. */
static void
put_text(Row *row, const char *text)
{
	if (text == NULL)
		put_null(row);
	else
		put_datum(row, CStringGetTextDatum(text));
}

static void
put_time(Row *row, TimestampTz time)
{
	if (time == 0)
		put_null(row);
	else
		put_datum(row, TimestampTzGetDatum(time));
}

/*
 * Text that another process wrote, in its database's encoding, possibly cut
 * within a character.  What this database can't hold becomes '?'.
 */
static void
put_foreign_text(Row *row, const PlhProfileImage *image, const char *text,
				 Size bytes)
{
	char	   *copy = pnstrdup(text, bytes);

	bytes = strlen(copy);
	if (image->header->encoding == GetDatabaseEncoding())
	{
		/* a character that was cut off is not wrong, just not whole */
		int			valid = pg_encoding_verifymbstr(GetDatabaseEncoding(),
													copy, bytes);

		if (bytes - valid < pg_database_encoding_max_length())
			copy[valid] = '\0';
	}
	if (image->header->encoding != GetDatabaseEncoding() ||
		!pg_verifymbstr(copy, strlen(copy), true))
	{
		for (char *c = copy; *c != '\0'; c++)
		{
			if (IS_HIGHBIT_SET(*c))
				*c = '?';
		}
	}
	put_text(row, copy);
}

static void
finish_row(Row *row, RowSink *sink)
{
	Assert(row->column == sink->result->setDesc->natts);
	tuplestore_putvalues(sink->result->setResult, sink->result->setDesc,
						 row->values, row->nulls);
}

/* May the caller see that process' rows? */
static bool
is_visible(const RowSink *sink, const PlhProfileHeader *header)
{
	return sink->sees_all ||
		(OidIsValid(header->role_oid) &&
		 has_privs_of_role(GetUserId(), header->role_oid));
}

static void
put_backend_type(Row *row, const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;

	if (header->label[0] != '\0')
		put_foreign_text(row, image, header->label, strlen(header->label));
	else
		put_text(row, GetBackendTypeDesc(header->backend_type));
}

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
put_process_growth(Row *row, const PlhProfileHeader *header)
{
	PlhBaseline *baseline =
	plh_baseline_read(plh_process_profile_directory(), header);

	if (baseline == NULL)
	{
		put_null(row);
		return;
	}
	put_int64(row, header->counters.live_bytes -
			  plh_baseline_process_bytes(baseline));
	pfree(baseline);
}

/* The columns growth_bytes and growth_count of a site. */
static void
put_site_growth(Row *row, const RowSink *sink, const PlhProfileImage *image,
				const PlhSiteRecord *site)
{
	int64		bytes;
	int64		count;

	if (sink->baseline == NULL)
	{
		put_null(row);
		put_null(row);
		return;
	}
	plh_baseline_site(sink->baseline,
					  (const char *) site - (const char *) image->header,
					  &bytes, &count);
	put_int64(row, site->counters.live_bytes - bytes);
	put_int64(row, site->counters.live_count - count);
}

/* PlhProfileVisitor: one row of pg_leakhunt_processes. */
static void
put_process(PlhProfileImage *image, void *arg)
{
	const PlhProfileHeader *header = image->header;
	RowSink    *sink = arg;
	Row			row = {0};

	if (!is_visible(sink, header))
		return;

	put_datum(&row, Int32GetDatum(header->pid));
	put_backend_type(&row, image);
	put_text(&row, image->alive ? "live" : "crashed");
	put_text(&row, database_name(header));
	put_text(&row, role_name(header));
	put_time(&row, header->started_at);
	put_datum(&row, BoolGetDatum(image->alive &&
								 header->sample_interval != 0));
	put_int64(&row, header->sample_interval);
	put_text(&row, plh_settings_scope_name(header->scope));
	put_int64(&row, header->counters.live_bytes);
	put_int64(&row, header->counters.live_count);
	put_int64(&row, header->peak_bytes);
	put_process_growth(&row, header);
	put_int64(&row, header->counters.live_samples);
	put_int64(&row, header->samples_taken);
	put_int64(&row, dropped_samples(header));
	put_int64(&row, header->site_count);
	put_null(&row);				/* context_bytes */
	put_null(&row);				/* malloc_bytes */
	put_null(&row);				/* rss_anon_bytes */
	put_int64(&row, header->private_bytes + header->profile_bytes);
	put_int64(&row, header->profile_bytes);
	put_time(&row, header->counters.last_at);
	finish_row(&row, sink);
}

/* The columns site, stack and stack_id. */
static void
put_stack(Row *row, RowSink *sink, const PlhProfileImage *image,
		  const PlhSiteRecord *site)
{
	const PlhStackRecord *stack = plh_profile_reader_stack(image,
														   site->key.stack);
	PlhStackText text;
	Datum	   *frames;

	if (!sink->with_stacks)
	{
		put_null(row);
		put_null(row);
		put_null(row);
		return;
	}
	if (stack == NULL)
	{
		put_text(row, site->key.context_name != 0 ?
				 "[process start]" : "[profile full]");
		put_null(row);
		put_null(row);
		return;
	}

	plh_stack_text_describe(sink->symbols, image, stack, &text);
	frames = palloc(sizeof(Datum) * Max(text.frame_count, 1));
	for (int i = 0; i < text.frame_count; i++)
		frames[i] = CStringGetTextDatum(text.frames[i]);
	put_text(row, text.site);
	put_datum(row, PointerGetDatum(construct_array(frames, text.frame_count,
												   TEXTOID, -1, false,
												   TYPALIGN_INT)));
	put_int64(row, text.stack_id);
}

/* The columns query_id and query. */
static void
put_statement(Row *row, const PlhProfileImage *image,
			  const PlhSiteRecord *site)
{
	const PlhStatementRecord *statement =
	plh_profile_reader_statement(image, site->key.statement);

	if (statement == NULL || statement->query_id == 0)
		put_null(row);
	else
		put_int64(row, (int64) statement->query_id);
	if (statement == NULL || statement->text_bytes == 0)
		put_null(row);
	else
		put_foreign_text(row, image, statement->text, statement->text_bytes);
}

static void
put_site(const PlhProfileImage *image, const PlhSiteRecord *site,
		 RowSink *sink)
{
	const PlhCounters *counters = &site->counters;
	const PlhStringRecord *context =
	plh_profile_reader_string(image, site->key.context_name);
	Row			row = {0};

	put_datum(&row, Int32GetDatum(image->header->pid));
	put_backend_type(&row, image);
	if (context != NULL)
		put_foreign_text(&row, image, context->text, context->text_bytes);
	else
		put_null(&row);
	if (context != NULL)
		put_text(&row, plh_lifetime_name(site->key.lifetime));
	else
		put_null(&row);
	put_statement(&row, image, site);
	put_int64(&row, counters->live_bytes);
	put_int64(&row, counters->live_count);
	put_int64(&row,
			  (int64) plh_sampling_error_bytes(counters->live_variance,
											   counters->live_bytes,
											   counters->live_samples));
	put_site_growth(&row, sink, image, site);
	put_null(&row);				/* peak_bytes */
	put_int64(&row, counters->total_bytes);
	put_int64(&row, counters->total_count);
	if (counters->total_bytes > 0)
		put_datum(&row, Float8GetDatum((double) counters->live_bytes /
									   (double) counters->total_bytes));
	else
		put_null(&row);
	put_int64(&row, counters->live_samples);
	put_time(&row, counters->first_at);
	put_time(&row, counters->last_at);
	put_stack(&row, sink, image, site);
	finish_row(&row, sink);
}

/* PlhProfileVisitor: the rows of pg_leakhunt_report for one process. */
static void
put_sites(PlhProfileImage *image, void *arg)
{
	RowSink    *sink = arg;
	const PlhSiteRecord *site;
	uint32		position = 0;
	MemoryContext row_context;
	MemoryContext caller_context;

	if (!is_visible(sink, image->header))
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
	RowSink    *sink = arg;

	if (!is_visible(sink, image->header))
		return;
	if (sink->symbols == NULL)
		sink->symbols = plh_symbols_open();
	for (uint32 i = 1; i < PLH_IMAGE_MODULES; i++)
	{
		const PlhModuleRecord *module = plh_profile_reader_module(image, i);
		PlhSymbolModule found;
		Row			row = {0};

		if (module == NULL)
			continue;
		plh_symbols_module(sink->symbols, module, &found);
		put_foreign_text(&row, image, module->path, module->path_bytes);
		put_text(&row, build_id_text(module));
		put_text(&row, plh_symbols_source_name(found.source));
		put_text(&row, found.source == PLH_SOURCE_NOTHING ? NULL : found.file);
		put_text(&row, symbols_hint(module, &found));
		finish_row(&row, sink);
	}
}

/*
 * Say, where it is so, that there is less to see than the caller may think.
 */
static void
report_coverage(void)
{
	static bool noticed = false;

	if (plh_process_refusal() != NULL)
		ereport(WARNING,
				(errmsg("pg_leakhunt is inactive in this session"),
				 errdetail_internal("%s", plh_process_refusal())));
	else if (!plh_process_is_preloaded() && !noticed)
	{
		noticed = true;
		ereport(NOTICE,
				(errmsg("pg_leakhunt shows only processes that have loaded it"),
				 errhint("Add pg_leakhunt to shared_preload_libraries and restart the server to see all processes.")));
	}
}

/*
 * What all functions that return rows begin with.  Returns false where there
 * are none, as nothing is sampled.
 */
static bool
start_rows(FunctionCallInfo fcinfo, RowSink *sink)
{
	InitMaterializedSRF(fcinfo, 0);
	memset(sink, 0, sizeof(*sink));
	sink->result = (ReturnSetInfo *) fcinfo->resultinfo;
	sink->sees_all = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
	report_coverage();

	/* a session that looks at itself should see itself */
	plh_process_publish();
	return plh_process_refusal() == NULL;
}

/*
 * All processes that have a profile: the rows of pg_leakhunt_processes.
 */
Datum
pg_leakhunt_get_processes(PG_FUNCTION_ARGS)
{
	RowSink		sink;

	if (!start_rows(fcinfo, &sink))
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
	RowSink		sink;

	if (!start_rows(fcinfo, &sink))
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
	RowSink		sink;

	if (!start_rows(fcinfo, &sink))
		return (Datum) 0;
	plh_profile_reader_each(plh_process_profile_directory(), 0, false,
							put_symbols, &sink);
	return (Datum) 0;
}

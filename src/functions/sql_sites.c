/*
 * sql_sites.c
 *	  The function of SQL that shows call sites, which all views of them are
 *	  made of.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "base/sampling.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/profile_directory.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"
#include "reader/server_processes.h"
#include "verdict/suppression.h"

PLH_FUNCTION(pg_leakhunt_get_sites);
PLH_FUNCTION(pg_leakhunt_get_dump_sites);

/* The columns growth_bytes and growth_count of a site. */
static void
put_site_growth(PlhRow *row, const PlhRowSink *sink, const PlhProfileImage *image,
				const PlhSiteRecord *site)
{
	int64		bytes;
	int64		count;

	if (sink->baseline == NULL)
	{
		plh_sql_rows_put_nulls(row, 2);
		return;
	}
	plh_baseline_site(sink->baseline, plh_profile_image_offset(image, site),
					  &bytes, &count);
	plh_sql_rows_put_int64(row, site->counters.live_bytes - bytes);
	plh_sql_rows_put_int64(row, site->counters.live_count - count);
}

/* The columns query_id and query. */
static void
put_statement(PlhRow *row, const PlhProfileImage *image,
			  const PlhSiteRecord *site)
{
	const PlhStatementRecord *statement =
		plh_profile_image_statement(image, site->key.statement);

	if (statement == NULL || statement->query_id == 0)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_int64(row, (int64) statement->query_id);
	if (statement == NULL || statement->text_bytes == 0)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_foreign_text(row, image, statement->text, statement->text_bytes);
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
	/* a checkpoint is made when its epoch begins: so the current one counts */
	uint32		age = image->header->epoch - site->first_epoch + 1;
	const PlhCheckpoint *early = early_checkpoint(site, age);

	plh_sql_rows_put_int64(row, site->epochs);
	plh_sql_rows_put_int64(row, age);
	if (early == NULL)
	{
		plh_sql_rows_put_nulls(row, 4);
		return;
	}
	plh_sql_rows_put_int64(row, early->epochs);
	plh_sql_rows_put_int64(row, early->live_bytes);
	plh_sql_rows_put_int64(row, early->live_samples);
	plh_sql_rows_put_time(row, early->at);
}

/* The column suppressed_by. */
static void
put_suppressions(PlhRow *row, const PlhRowSink *sink,
				 const PlhStringRecord *context, const PlhStackText *stack)
{
	ArrayType  *found =
		plh_suppression_find(sink->suppressions,
							 context != NULL ? context->text : NULL, stack);

	if (found == NULL)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_datum(row, PointerGetDatum(found));
}

static void
put_site(const PlhProfileImage *image, const PlhSiteRecord *site,
		 PlhRowSink *sink)
{
	const PlhCounters *counters = &site->counters;
	const PlhStringRecord *context =
		plh_profile_image_string(image, site->key.context_name);
	PlhStackText *stack = plh_sql_rows_stack(sink, image, site);
	PlhRow		row = {0};

	plh_sql_rows_put_datum(&row, Int32GetDatum(image->header->pid));
	plh_sql_rows_put_backend_type(&row, image);
	if (context != NULL)
		plh_sql_rows_put_foreign_text(&row, image, context->text, context->text_bytes);
	else
		plh_sql_rows_put_null(&row);
	if (context != NULL)
		plh_sql_rows_put_text(&row, plh_profile_image_lifetime_name(site->key.lifetime));
	else
		plh_sql_rows_put_null(&row);
	put_statement(&row, image, site);
	plh_sql_rows_put_int64(&row, counters->live_bytes);
	plh_sql_rows_put_int64(&row, counters->live_count);
	/* what a dump file says may be too much for an integer */
	plh_sql_rows_put_int64(&row,
				  (int64) Min(plh_sampling_error_bytes(counters->live_variance,
													   counters->live_bytes,
													   counters->live_samples),
							  (double) (PG_INT64_MAX / 2)));
	put_site_growth(&row, sink, image, site);
	plh_sql_rows_put_int64(&row, plh_profile_image_peak_bytes(image, site));
	plh_sql_rows_put_int64(&row, counters->total_bytes);
	plh_sql_rows_put_int64(&row, counters->total_count);
	/* the owner may be between the one and the other */
	if (counters->total_bytes > 0)
		plh_sql_rows_put_datum(&row, Float8GetDatum(Min(1.0,
											   (double) counters->live_bytes /
											   (double) counters->total_bytes)));
	else
		plh_sql_rows_put_null(&row);
	plh_sql_rows_put_int64(&row, counters->live_samples);
	plh_sql_rows_put_time(&row, counters->first_at);
	plh_sql_rows_put_time(&row, counters->last_at);
	if (sink->with_stacks)
		plh_sql_rows_put_site(&row, site, stack);
	else
		plh_sql_rows_put_nulls(&row, 2);
	if (stack != NULL)
		plh_sql_rows_put_int64(&row, stack->stack_id);
	else
		plh_sql_rows_put_null(&row);
	put_progress(&row, image, site);
	put_suppressions(&row, sink, context, stack);
	plh_sql_rows_finish(&row, sink);
}

/* All sites of an image that the caller may see. */
static void
put_image(const PlhProfileImage *image, PlhRowSink *sink)
{
	const PlhSiteRecord *site;
	uint32		position = 0;
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext,
													  "pg_leakhunt row",
													  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(row_context);

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (site->counters.total_samples > 0)
			put_site(image, site, sink);
		MemoryContextReset(row_context);
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(row_context);
}

/* PlhProfileVisitor: the rows of pg_leakhunt_report for one process. */
static void
put_sites(PlhProfileImage *image, void *arg)
{
	PlhRowSink *sink = arg;

	if (!plh_sql_rows_may_show(sink, image->header))
		return;
	sink->found = true;
	sink->baseline = plh_baseline_file_read(plh_profile_directory_path(),
									   image->header);
	put_image(image, sink);
}

/*
 * The sites of one process, or of all (NULL): the rows of pg_leakhunt_report.
 * The second argument tells whether stacks are wanted, which take most time;
 * the third has patterns that sites are compared with.
 */
Datum
pg_leakhunt_get_sites(PG_FUNCTION_ARGS)
{
	int			pid = PG_ARGISNULL(0) ? 0 : PG_GETARG_INT32(0);
	PlhRowSink	sink;

	if (!plh_sql_rows_start(fcinfo, &sink))
		return (Datum) 0;
	sink.with_stacks = PG_ARGISNULL(1) || PG_GETARG_BOOL(1);
	sink.suppressions = plh_suppression_list(PG_ARGISNULL(2) ? NULL :
											 PG_GETARG_ARRAYTYPE_P(2));
	if (PG_ARGISNULL(0) || pid > 0)
		plh_profile_reader_each(plh_profile_directory_path(), pid, false,
								put_sites, &sink);

	if (!PG_ARGISNULL(0) && !sink.found)
		(void) plh_server_processes_check(pid);
	return (Datum) 0;
}

/*
 * The sites of a dump file: the rows of pg_leakhunt_read_dump.
 */
Datum
pg_leakhunt_get_dump_sites(PG_FUNCTION_ARGS)
{
	PlhDump    *dump;
	PlhRowSink	sink;

	plh_sql_rows_start_silently(fcinfo, &sink);
	dump = plh_sql_source_dump(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	sink.with_stacks = true;
	sink.suppressions = plh_suppression_list(NULL);
	sink.baseline = dump->baseline;
	put_image(dump->image, &sink);
	return (Datum) 0;
}

/*
 * sql_ages.c
 *	  The functions of SQL that show when call sites allocated what they hold.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "functions/sql_rows.h"
#include "functions/sql_site_visits.h"
#include "functions/sql_source.h"
#include "profile/profile_image.h"
#include "profile/site_ages.h"
#include "report/listed_site.h"

PLH_FUNCTION(pg_leakhunt_ages);
PLH_FUNCTION(pg_leakhunt_ages_of_dump);

/* What the rows of an image are made with. */
typedef struct Ages
{
	PlhRowSink	sink;
	PlhStackTexts *texts;
	TimestampTz now;			/* when the figures of the image were true */
} Ages;

/* The interval between two times. */
static Interval *
time_between(TimestampTz from, TimestampTz until)
{
	return DatumGetIntervalP(DirectFunctionCall2(timestamp_mi,
												 TimestampTzGetDatum(until),
												 TimestampTzGetDatum(from)));
}

/* One row: what a site allocated within a span of time. */
static void
put_age(const PlhListedSite *listed, const PlhSiteAge *age, TimestampTz now,
		PlhRowSink *sink)
{
	PlhRow		row = {0};

#define COLUMN PLH_PUT_COLUMN
#include "functions/columns/ages.def"
	plh_sql_rows_finish(&row, sink);
}

/* PlhSiteVisitor: the rows of a site, the oldest first. */
static void
put_site(PlhListedSite *listed, void *arg)
{
	Ages	   *ages = arg;
	PlhSiteAge	spans[PLH_SPANS];
	int			count = 0;

	if (listed->facts.counters->live_bytes > 0)
		count = plh_site_ages_list(spans, listed->image,
								   listed->facts.site, ages->now);
	if (count > 0)
		plh_listed_site_describe_stack(listed, ages->texts);
	for (int i = 0; i < count; i++)
		put_age(listed, &spans[i], ages->now, &ages->sink);
}

/* Return the rows of an image, whose figures were true at "now". */
static void
put_image(Ages *ages, const PlhProfileImage *image, TimestampTz now)
{
	ages->texts = plh_stack_text_open(plh_sql_rows_symbols(&ages->sink), image);
	ages->now = now;
	plh_sql_site_visits_make(image, NULL, put_site, ages);
}

/*
 * pg_leakhunt_ages(pid): when the call sites of a process allocated what they hold,
 * and how much of what they allocated at a time is left.
 */
Datum
pg_leakhunt_ages(PG_FUNCTION_ARGS)
{
	Ages		ages;
	PlhProfileImage *image;
	int			pid;

	plh_sql_rows_check_arguments(fcinfo, 1);
	pid = plh_sql_rows_get_pid(fcinfo, 0);
	plh_sql_rows_start(fcinfo, &ages.sink);
	if (!plh_sql_source_publish_and_save())
		return (Datum) 0;
	image = plh_sql_source_process(pid, WARNING);
	if (image != NULL)
		put_image(&ages, image, image->alive ? GetCurrentTimestamp() :
				  plh_profile_image_ended_at(image->header));
	return (Datum) 0;
}

/*
 * pg_leakhunt_ages(file): the same of a dump, as it was when that was written; of a
 * process that crashed, when it ended.
 */
Datum
pg_leakhunt_ages_of_dump(PG_FUNCTION_ARGS)
{
	Ages		ages;
	PlhDump    *dump;

	plh_sql_rows_check_arguments(fcinfo, 1);
	plh_sql_rows_start(fcinfo, &ages.sink);
	plh_sql_rows_check_not_null(fcinfo, 0, "file");
	dump = plh_sql_source_dump(text_to_cstring(PG_GETARG_TEXT_PP(0)), false);
	put_image(&ages, dump->image, dump->image->crashed ?
			  plh_profile_image_ended_at(dump->image->header) : dump->written_at);
	return (Datum) 0;
}

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
	return DatumGetIntervalP(DirectFunctionCall2(timestamp_mi, TimestampTzGetDatum(until),
												 TimestampTzGetDatum(from)));
}

/* One row: what a site allocated within a span of time. */
static void
put_age(const PlhListedSite *listed, const PlhSiteAge *age, TimestampTz now, PlhRowSink *sink)
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
		count = plh_site_ages_list(spans, listed->image, listed->facts.site, ages->now);
	if (count > 0)
		plh_listed_site_describe_stack(listed, ages->texts);
	for (int i = 0; i < count; i++)
		put_age(listed, &spans[i], ages->now, &ages->sink);
}

/* The rows of a process or dump, of what crashed as it ended. */
static void
put_profile(const PlhSourceProfile *profile, Ages *ages)
{
	ages->texts = plh_stack_text_open(plh_sql_rows_symbols(&ages->sink), profile->image);
	ages->now = plh_sql_source_time(profile);
	plh_sql_site_visits_make(profile->image, NULL, put_site, ages);
}

/*
 * pg_leakhunt_ages(target): when the call sites of a process or dump allocated what they hold, and
 * how much of what they allocated at a time is left.
 */
Datum
pg_leakhunt_ages(PG_FUNCTION_ARGS)
{
	Ages		ages;
	PlhTarget	target = plh_sql_source_target(fcinfo, 1);
	PlhSourceProfile profile;

	plh_sql_rows_start(fcinfo, &ages.sink);
	if (plh_sql_source_profile(&profile, &target, WARNING))
		put_profile(&profile, &ages);
	return (Datum) 0;
}

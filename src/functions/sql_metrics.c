/*
 * sql_metrics.c
 *	  The function of SQL for engines that store figures every few seconds.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/settings.h"
#include "functions/sql_access.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/forecast_place.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "reader/machine_memory.h"
#include "reader/server_figures.h"
#include "report/largest_statements.h"
#include "sampler/limit_places.h"
#include "sampler/malloc_hooks.h"
#include "telling/worst_suspects.h"

#define SECONDS_PER_HOUR 3600.0

/* What the rows call types that are not known, and those beyond the most. */
#define OTHER_TYPE "other"

PLH_FUNCTION(pg_leakhunt_metrics);

/* What a row is about; of the server if about nothing of that. */
typedef struct Labels
{
	const char *backend_type;
	const PlhWorstSuspect *suspect;
	const PlhLargeStatement *statement;
} Labels;

static void
put_metric(PlhRowSink *sink, const char *name, Labels labels, double value)
{
	const PlhWorstSuspect *suspect = labels.suspect;
	const PlhLargeStatement *statement = labels.statement;
	PlhRow		row = {0};

#include "functions/columns/metrics.def"
	plh_sql_rows_finish(&row, sink);
}

static void
put_server(PlhRowSink *sink, const char *name, double value)
{
	Labels		server = {0};

	put_metric(sink, name, server, value);
}

static double
age_seconds(TimestampTz at)
{
	return Max(0, GetCurrentTimestamp() - at) / (double) USECS_PER_SEC;
}

static void
put_proofs(PlhRowSink *sink, Labels type, const PlhTypeFigures *figures)
{
	put_metric(sink, "processes_proven", type, figures->proven);
	if (figures->proven == 0)
		return;
	put_metric(sink, "lost_bytes", type, figures->lost_bytes);
	put_metric(sink, "lost_resettable_bytes", type, figures->resettable_bytes);
	put_metric(sink, "oldest_proof_seconds", type, age_seconds(figures->oldest_proof_at));
}

/* The rows of a backend type; no row is better than a sum of nothing known. */
static void
put_type(PlhRowSink *sink, const PlhTypeFigures *figures)
{
	Labels		type = {
		.backend_type = figures->backend_type != NULL ? figures->backend_type : OTHER_TYPE
	};

	put_metric(sink, "processes", type, figures->processes);
	put_metric(sink, "rss_anon_bytes", type, figures->rss_anon_bytes);
	put_metric(sink, "rss_anon_max_bytes", type, figures->rss_anon_max_bytes);
	if (figures->counted > 0)
		put_metric(sink, "context_bytes", type, figures->context_bytes);
	if (figures->malloc_counted > 0)
		put_metric(sink, "malloc_bytes", type, figures->malloc_bytes);
	put_proofs(sink, type, figures);
}

static void
put_sums(PlhRowSink *sink, const PlhServerFigures *figures)
{
	put_server(sink, "processes_profiled", figures->profiled_count);
	put_server(sink, "processes_unsampled", figures->unsampled);
	put_server(sink, "processes_crashed", figures->crashed);
	put_server(sink, "live_bytes", figures->live_bytes);
	put_server(sink, "overhead_bytes", figures->overhead_bytes);
	put_server(sink, "samples_taken", figures->samples_taken);
	put_server(sink, "samples_dropped", figures->samples_dropped);
	put_server(sink, "wrong_stacks", figures->wrong_stacks);
}

static void
put_statements(PlhRowSink *sink)
{
	PlhStatementFigures figures;
	PlhLargestStatements largest;

	if (!plh_statement_list_figures(&figures))
		return;
	put_server(sink, "statements", figures.count);
	put_server(sink, "statements_evicted", figures.evicted);
	put_server(sink, "statements_lost", figures.lost);
	plh_largest_statements_find(&largest, plh_sql_access_may_see);
	for (int i = 0; i < largest.count; i++)
	{
		Labels		statement = {.statement = &largest.statements[i]};

		put_metric(sink, "statement_peak_bytes", statement, largest.statements[i].peak_bytes);
	}
}

static void
put_memory(PlhRowSink *sink)
{
	PlhMachineMemory memory;

	if (!plh_machine_memory_read(&memory))
		return;
	put_server(sink, "memory_total_bytes", memory.total_bytes);
	put_server(sink, "memory_available_bytes", memory.available_bytes);
}

/* Without a forecast there is no row. */
static void
put_forecast(PlhRowSink *sink)
{
	PlhControlForecast forecast;

	if (plh_forecast_place_get(&forecast))
		put_server(sink, "memory_forecast_seconds", forecast.left_us / 1000000.0);
}

static void
put_suspects(PlhRowSink *sink, const PlhWorstSuspects *worst)
{
	put_server(sink, "suspects", worst->found);
	put_server(sink, "processes_unjudged", worst->unjudged);
	for (int i = 0; i < worst->count; i++)
	{
		const PlhWorstSuspect *suspect = &worst->suspects[i];
		Labels		labels = {.backend_type = suspect->backend_type,.suspect = suspect};

		put_metric(sink, "suspect_bytes", labels, suspect->bytes);
		if (suspect->has_rate)
			put_metric(sink, "suspect_growth_bytes_per_second", labels,
					   suspect->bytes_per_hour / SECONDS_PER_HOUR);
	}
}

/* PlhTypeOfOther: what the rows of processes call it. */
static const char *
type_of_other(int pid)
{
	return plh_sql_rows_unprofiled_type(pid, NULL);
}

Datum
pg_leakhunt_metrics(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;
	int64		begun_us = plh_clock_us(CLOCK_MONOTONIC);
	bool		active;
	bool		is_preloaded;
	PlhServerFigures *figures;

	plh_sql_rows_start(fcinfo, &sink);
	active = plh_sql_source_publish_and_save();
	is_preloaded = active && plh_process_is_preloaded();
	figures = plh_server_figures_collect(active ? plh_profile_directory_path() : NULL,
										 is_preloaded, plh_sql_access_may_see, type_of_other);
	put_server(&sink, "loaded", is_preloaded);

	/* all processes have this library of the postmaster's, or none has */
	if (active && plh_track_malloc)
		put_server(&sink, "malloc_tracked", plh_malloc_hooks_samples_thread());
	put_sums(&sink, figures);
	if (active)
	{
		put_statements(&sink);
		put_server(&sink, "limit_hits", plh_limit_places_hits());
		put_server(&sink, "server_limit_bytes", plh_server_memory_limit);
	}
	if (sink.sees_all)
	{
		put_memory(&sink);
		put_forecast(&sink);
	}
	for (int i = 0; i < figures->type_count; i++)
		put_type(&sink, &figures->types[i]);
	put_suspects(&sink, plh_worst_suspects_find(figures, plh_sql_source_suppressions(fcinfo),
												plh_sql_access_may_see, begun_us));
	return (Datum) 0;
}

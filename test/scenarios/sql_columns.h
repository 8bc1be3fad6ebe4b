/*
 * sql_columns.h
 *	  The columns of the functions of SQL, as in the extension's script.
 *
 * Only scenario_looks.c includes these tables.
 */
#ifndef SQL_COLUMNS_H
#define SQL_COLUMNS_H

#include "scenario_rows.h"

static const Column explain_columns[] = {
	{"pid", COLUMN_INT}, {"explanation", COLUMN_TEXT}, {NULL}
};
static const Column report_columns[] = {
	{"pid", COLUMN_INT}, {"backend_type", COLUMN_TEXT}, {"context_name", COLUMN_TEXT},
	{"lifetime", COLUMN_TEXT}, {"query_id", COLUMN_BIGINT}, {"query", COLUMN_TEXT},
	{"live_bytes", COLUMN_BIGINT}, {"live_count", COLUMN_BIGINT},
	{"error_bytes", COLUMN_BIGINT}, {"growth_bytes", COLUMN_BIGINT},
	{"growth_count", COLUMN_BIGINT}, {"peak_bytes", COLUMN_BIGINT},
	{"total_bytes", COLUMN_BIGINT}, {"total_count", COLUMN_BIGINT},
	{"survival", COLUMN_FLOAT}, {"samples", COLUMN_BIGINT}, {"first_at", COLUMN_TIME},
	{"last_at", COLUMN_TIME}, {"site", COLUMN_TEXT}, {"routine", COLUMN_TEXT},
	{"stack", COLUMN_TEXTS}, {"stack_id", COLUMN_BIGINT}, {NULL}
};
static const Column statements_columns[] = {
	{"query_id", COLUMN_BIGINT}, {"query", COLUMN_TEXT}, {"database", COLUMN_TEXT},
	{"username", COLUMN_TEXT}, {"dbid", COLUMN_INT}, {"userid", COLUMN_INT},
	{"calls", COLUMN_BIGINT}, {"mean_peak_bytes", COLUMN_BIGINT},
	{"max_peak_bytes", COLUMN_BIGINT}, {"error_bytes", COLUMN_BIGINT},
	{"max_at", COLUMN_TIME}, {"allowed_bytes", COLUMN_BIGINT},
	{"calls_beyond", COLUMN_BIGINT}, {"kept_bytes", COLUMN_BIGINT},
	{"context_name", COLUMN_TEXT}, {"site", COLUMN_TEXT}, {"routine", COLUMN_TEXT},
	{"stack", COLUMN_TEXTS}, {NULL}
};
static const Column suspects_columns[] = {
	{"pid", COLUMN_INT}, {"verdict", COLUMN_TEXT}, {"bytes", COLUMN_BIGINT},
	{"bytes_per_hour", COLUMN_BIGINT}, {"site", COLUMN_TEXT}, {"routine", COLUMN_TEXT},
	{"context_name", COLUMN_TEXT}, {"application_name", COLUMN_TEXT},
	{"username", COLUMN_TEXT}, {"database", COLUMN_TEXT}, {"query", COLUMN_TEXT},
	{"process_state", COLUMN_TEXT}, {"growth_bytes", COLUMN_BIGINT},
	{"since", COLUMN_TIME}, {"score", COLUMN_FLOAT}, {"survival", COLUMN_FLOAT},
	{"transactions", COLUMN_BIGINT}, {"query_id", COLUMN_BIGINT},
	{"backend_type", COLUMN_TEXT}, {"evidence", COLUMN_TEXT}, {"stack", COLUMN_TEXTS},
	{NULL}
};
static const Column ages_columns[] = {
	{"site", COLUMN_TEXT}, {"context_name", COLUMN_TEXT}, {"lifetime", COLUMN_TEXT},
	{"query_id", COLUMN_BIGINT}, {"query", COLUMN_TEXT}, {"allocated_from", COLUMN_TIME},
	{"allocated_until", COLUMN_TIME}, {"older_than", COLUMN_INTERVAL},
	{"live_bytes", COLUMN_BIGINT}, {"error_bytes", COLUMN_BIGINT},
	{"total_bytes", COLUMN_BIGINT}, {"survival", COLUMN_FLOAT},
	{"stack_id", COLUMN_BIGINT}, {NULL}
};
static const Column history_columns[] = {
	{"at", COLUMN_TIME}, {"live_bytes", COLUMN_BIGINT}, {"context_bytes", COLUMN_BIGINT},
	{"malloc_bytes", COLUMN_BIGINT}, {"malloc_free_bytes", COLUMN_BIGINT},
	{"rss_anon_bytes", COLUMN_BIGINT}, {NULL}
};
static const Column part_columns[] = {
	{"at", COLUMN_TIME}, {"name", COLUMN_TEXT}, {"context_name", COLUMN_TEXT},
	{"bytes", COLUMN_BIGINT}, {"contexts", COLUMN_BIGINT}, {"stack_id", COLUMN_BIGINT},
	{NULL}
};

static const Column processes_columns[] = {
	{"pid", COLUMN_INT}, {"backend_type", COLUMN_TEXT}, {"state", COLUMN_TEXT},
	{"database", COLUMN_TEXT}, {"username", COLUMN_TEXT}, {"started_at", COLUMN_TIME},
	{"sampling", COLUMN_BOOL}, {"sample_interval", COLUMN_BIGINT}, {"scope", COLUMN_TEXT},
	{"live_bytes", COLUMN_BIGINT}, {"live_count", COLUMN_BIGINT},
	{"peak_bytes", COLUMN_BIGINT}, {"peak_at", COLUMN_TIME},
	{"growth_bytes", COLUMN_BIGINT}, {"samples_live", COLUMN_BIGINT},
	{"samples_taken", COLUMN_BIGINT}, {"samples_dropped", COLUMN_BIGINT},
	{"sites", COLUMN_BIGINT}, {"context_bytes", COLUMN_BIGINT},
	{"context_free_bytes", COLUMN_BIGINT}, {"malloc_bytes", COLUMN_BIGINT},
	{"malloc_free_bytes", COLUMN_BIGINT}, {"malloc_tracked", COLUMN_BOOL},
	{"malloc_untracked_bytes", COLUMN_BIGINT}, {"rss_anon_bytes", COLUMN_BIGINT},
	{"overhead_bytes", COLUMN_BIGINT}, {"profile_bytes", COLUMN_BIGINT},
	{"last_sample_at", COLUMN_TIME}, {"counted_at", COLUMN_TIME},
	{"unsampled_bytes", COLUMN_BIGINT}, {"limit_bytes", COLUMN_BIGINT},
	{"limit_hits", COLUMN_BIGINT}, {"died_at", COLUMN_TIME}, {"death", COLUMN_TEXT},
	{"request", COLUMN_TEXT}, {NULL}
};
static const Column contexts_columns[] = {
	{"pid", COLUMN_INT}, {"backend_type", COLUMN_TEXT}, {"context_name", COLUMN_TEXT},
	{"lifetime", COLUMN_TEXT}, {"instances", COLUMN_BIGINT},
	{"context_bytes", COLUMN_BIGINT}, {"live_bytes", COLUMN_BIGINT},
	{"live_count", COLUMN_BIGINT}, {"growth_bytes", COLUMN_BIGINT},
	{"sites", COLUMN_BIGINT}, {"examples", COLUMN_TEXTS}, {NULL}
};

#endif							/* SQL_COLUMNS_H */

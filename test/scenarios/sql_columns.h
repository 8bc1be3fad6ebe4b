/*
 * sql_columns.h
 *	  The columns of the functions of SQL, by src/functions/columns.
 *
 * Only scenario_looks.c includes these tables.
 */
#ifndef SQL_COLUMNS_H
#define SQL_COLUMNS_H

#include "scenario_rows.h"

#define COLUMN(name, type, is_known, value, comment) {#name, SQL_##type},

static const Column explain_columns[] = {
#include "functions/columns/explain.def"
	{NULL}
};

static const Column report_columns[] = {
#include "functions/columns/report.def"
	{NULL}
};

static const Column statements_columns[] = {
#include "functions/columns/statements.def"
	{NULL}
};

static const Column overview_columns[] = {
#include "functions/columns/pg_leakhunt.def"
	{NULL}
};

static const Column suspects_columns[] = {
#include "functions/columns/suspects.def"
	{NULL}
};

static const Column ages_columns[] = {
#include "functions/columns/ages.def"
	{NULL}
};

static const Column processes_columns[] = {
#include "functions/columns/processes.def"
	{NULL}
};

static const Column sampling_columns[] = {
#include "functions/columns/sampling.def"
	{NULL}
};

static const Column contexts_columns[] = {
#include "functions/columns/contexts.def"
	{NULL}
};

static const Column history_columns[] = {
#include "functions/columns/history.def"
	{NULL}
};

#endif							/* SQL_COLUMNS_H */

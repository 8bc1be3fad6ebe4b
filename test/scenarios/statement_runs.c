/*
 * statement_runs.c
 *	  The statements of the processes of a scenario: the file of what they took at most.
 *
 * Stands in for the file, and for what notices that another statement runs
 * (sampler/current_site.c).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/proc.h"

#include "base/settings.h"
#include "profile/statements_file.h"
#include "sampler/owner.h"
#include "sampler/statement_peaks.h"
#include "scenario_server.h"
#include "simulated.h"
#include "statement_runs.h"

#define ENTRIES 256

int			plh_statement_min_bytes = 1024 * 1024;
PlhStatementsFile *plh_statements_file;
uint32		plh_owner_interval = 512 * 1024;
PROC_HDR   *ProcGlobal;

/* The statement that runs, and the one that had the last sample. */
static uint32 running;
static uint32 sampled = PG_UINT32_MAX;
static TimestampTz began_at;

Oid
GetOuterUserId(void)
{
	return SCENARIO_ROLE;
}

bool
plh_statements_file_lock(void)
{
	return true;
}

void
plh_statements_file_unlock(void)
{
}

uint32
plh_statements_file_reserved(void)
{
	return ENTRIES;
}

bool
plh_statements_file_grow(void)
{
	return false;
}

static void
make_file(void)
{
	plh_statements_file = calloc(1, PLH_STATEMENTS_BYTES(ENTRIES));
	plh_statements_file->header_bytes = sizeof(PlhStatementsFile);
	plh_statements_file->entry_bytes = sizeof(PlhStatementEntry);
	plh_statements_file->max_entries = ENTRIES;
	plh_statements_file->reserved_entries = ENTRIES;
}

/* A sample of a statement is about to be kept; 0: of none. */
static void
before_sample(uint32 statement)
{
	if (statement == 0)
		plh_statement_peaks_pause();
	else if (sampled == running)
		plh_statement_peaks_go_on();
	else
	{
		plh_statement_peaks_end();
		plh_statement_peaks_begin(statement, began_at);
		sampled = running;
	}
}

static void
after_sample(void)
{
	plh_statement_peaks_sampled();
}

void
statement_runs_start(void)
{
	static PROC_HDR global;

	if (plh_statements_file == NULL)
		make_file();
	ProcGlobal = &global;
	global.		allProcs = MyProc;

	MyProc->pid = MyProcPid;
	simulated_statements = (SimulatedStatements)
	{
		before_sample, after_sample, plh_statement_peaks_transaction_over
	};
}

void
statement_runs_next(void)
{
	running++;
	began_at = simulated_time();
}

void
statement_runs_end(void)
{
	plh_statement_peaks_end();
	plh_statement_peaks_forget();
	sampled = PG_UINT32_MAX;
}

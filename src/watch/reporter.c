/*
 * reporter.c
 *	  Background workers that log findings which the keeper has seen.
 *
 * The keeper has no connection to a database, so that nobody ever waits for it: it can
 * read neither suppressions nor catalogs.  What it has found is rare, and worth a worker
 * of a moment's life, which judges the process once more, names its call sites, and logs
 * what no pattern matches.
 */
#include "postgres.h"

#include <signal.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "base/clock.h"
#include "base/compat.h"
#include "process/log_turns.h"
#include "process/profile_directory.h"
#include "reader/profile_reader.h"
#include "telling/image_findings.h"
#include "telling/suppression_table.h"
#include "watch/finding_key.h"
#include "watch/finding_line.h"
#include "watch/reporter.h"

StaticAssertDecl(sizeof(PlhReportOrder) <= BGW_EXTRALEN,
				 "an order does not fit in a worker's argument");

/* Functions without a name after this time are logged as addresses. */
#define NAMES_US INT64CONST(10000000)

/* A lock on the table of suppressions is waited for so long. */
#define LOCK_TIMEOUT_TEXT "2s"

/* The postmaster finds it by its name. */
extern PGDLLEXPORT void pg_leakhunt_reporter_main(Datum arg);

/* What findings are logged with. */
typedef struct Reporting
{
	const PlhReportOrder *order;
	const PlhSuppressions *suppressions;
	PlhSymbols *symbols;
} Reporting;

static int64 names_end_at_us;

static bool
must_end_names(void)
{
	return plh_clock_us(CLOCK_MONOTONIC) >= names_end_at_us;
}

/* Is that finding among those to log? */
static bool
is_ordered(const PlhReportOrder *order, int pid, uint64 key)
{
	for (int i = 0; i < Min(order->count, PLH_REPORTED_MOST); i++)
		if (order->findings[i].pid == pid && order->findings[i].key == key)
			return true;
	return false;
}

/* Log those of a process that no pattern matches. */
static void
report_process(const Reporting *reporting, const PlhProfileImage *image)
{
	PlhFindings *findings = plh_image_findings_find(image);
	const PlhFoundIn in = {
		image, findings, plh_stack_text_open(reporting->symbols, image), reporting->symbols
	};

	for (int i = 0; i < findings->count; i++)
	{
		const PlhFinding *finding = &findings->list[i];
		PlhListedSite site;
		const PlhListedSite *listed = NULL;
		PlhLogTurn	turn;

		CHECK_FOR_INTERRUPTS();
		if (!is_ordered(reporting->order, image->header->pid, plh_finding_key(finding, image)))
			continue;
		if (finding->site != NULL)
		{
			if (plh_image_findings_describe(finding, image, in.stacks,
											reporting->suppressions, &site) != PLH_SHOWN)
				continue;
			listed = &site;
		}
		if (plh_log_turns_take_finding(&turn))
			plh_finding_line_log(finding, listed, &in, &turn);
	}
}

/* Log the findings, each process once, if it is still there. */
static void
report(const Reporting *reporting)
{
	const PlhReportOrder *order = reporting->order;

	for (int i = 0; i < Min(order->count, PLH_REPORTED_MOST); i++)
	{
		int			pid = order->findings[i].pid;
		PlhProfileImage *image;

		/* findings of a process follow one another */
		if (i > 0 && order->findings[i - 1].pid == pid)
			continue;
		image = plh_profile_reader_find(plh_profile_directory_path(), pid, false);
		if (image != NULL && image->alive)
			report_process(reporting, image);
	}
}

/*
 * The worker's main function.
 */
void
pg_leakhunt_reporter_main(Datum arg)
{
	PlhReportOrder order;
	Reporting	reporting = {.order = &order};

	memcpy(&order, MyBgworkerEntry->bgw_extra, sizeof(order));
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(order.database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);

	/* who holds a lock on the suppressions must not gather workers */
	SetConfigOption("lock_timeout", LOCK_TIMEOUT_TEXT, PGC_SUSET, PGC_S_OVERRIDE);
	names_end_at_us = plh_clock_us(CLOCK_MONOTONIC) + NAMES_US;
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	pgstat_report_activity(STATE_RUNNING, "logging findings of pg_leakhunt");
	reporting.suppressions = OidIsValid(order.database) ? plh_suppression_table_find() :
		palloc0(sizeof(PlhSuppressions));
	reporting.symbols = plh_symbols_open_until(must_end_names);
	report(&reporting);
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_activity(STATE_IDLE, NULL);
}

bool
plh_reporter_start(const PlhReportOrder *order)
{
	BackgroundWorker worker = {
		.bgw_name = PLH_REPORTER_NAME,
		.bgw_type = PLH_REPORTER_NAME,
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_ConsistentState,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "pg_leakhunt",
		.bgw_function_name = "pg_leakhunt_reporter_main"
	};

	memcpy(worker.bgw_extra, order, sizeof(*order));
	return RegisterDynamicBackgroundWorker(&worker, NULL);
}

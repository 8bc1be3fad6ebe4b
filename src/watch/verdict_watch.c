/*
 * verdict_watch.c
 *	  Looks at all processes for findings that are new, and has them logged.
 *
 * To judge a process takes a tenth of a millisecond, as its whole profile is read.  So of those
 * that have not changed the header is read only, and after a look there is a pause of 1,250 times
 * the processor time that it took, and at least PAUSE_US.  A worker of its own, the reporter, logs
 * what was found (src/watch/README).
 */
#include "postgres.h"

#include <signal.h>
#include <time.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/fork.h"
#include "base/settings.h"
#include "process/errors.h"
#include "process/log_turns.h"
#include "process/profile_directory.h"
#include "reader/profile_reader.h"
#include "telling/image_findings.h"
#include "telling/suppression_table.h"
#include "watch/finding_line.h"
#include "watch/proof_orders.h"
#include "watch/verdict_watch.h"
#include "watch/watched_processes.h"

/* The name and type of the worker that logs. */
#define REPORTER_NAME "pg_leakhunt reporter"

typedef struct Reported
{
	int32		pid;
	uint64		key;			/* by plh_watched_processes_key */
	int64		bytes;
} Reported;

/* The most that one worker gets: its argument has no more room. */
#define REPORTED_MOST 5

/* The findings to log of the processes of one database. */
typedef struct ReportOrder
{
	Oid			database;		/* InvalidOid: of processes that have none */
	int32		count;
	Reported	findings[REPORTED_MOST];
} ReportOrder;

StaticAssertDecl(sizeof(ReportOrder) <= BGW_EXTRALEN,
				 "an order does not fit in a worker's argument");

/* Functions without a name after this time are logged as addresses. */
#define NAMES_US INT64CONST(10000000)

/* A lock on the table of suppressions is waited for so long. */
#define LOCK_TIMEOUT_TEXT "2s"

/* The postmaster finds it by its name. */
extern PGDLLEXPORT void pg_leakhunt_reporter_main(Datum arg);

static int64 names_end_at_us;

/* The shortest pause between two looks, and the part of a processor that they may use. */
#define PAUSE_US INT64CONST(9000000)
#define PROCESSOR_PART 1250

/* The most databases whose findings are logged after one look. */
#define MOST_ORDERS 4

/* Only the keeper uses this. */
static PLH_SURVIVES_FORK struct
{
	int64		began_us;		/* the last look, monotonic; 0: none */
	int64		pause_us;		/* until the next one may begin */
	bool		said_no_worker; /* since the last that could be started */
}			state;

typedef struct Look
{
	int64		now;			/* monotonic */
	int			count;
	ReportOrder orders[MOST_ORDERS];
} Look;

/* The order for a database, or NULL where there is no room. */
static ReportOrder *
order_for(Look *look, Oid database)
{
	for (int i = 0; i < look->count; i++)
		if (look->orders[i].database == database)
			return look->orders[i].count < REPORTED_MOST ? &look->orders[i] : NULL;
	if (look->count == MOST_ORDERS)
		return NULL;
	look->orders[look->count].database = database;
	return &look->orders[look->count++];
}

/*
 * The largest of the findings that pointers may decide: what ends with a statement is no leak, and
 * what is outside of contexts and call sites is not looked at.
 */
static int64
worth_proving(const PlhFindings *findings)
{
	int64		bytes = 0;

	for (int i = 0; i < findings->count; i++)
	{
		const PlhFinding *finding = &findings->list[i];

		if (plh_finding_verdict(finding) != PLH_VERDICT_QUERY &&
			plh_finding_subject(finding) != PLH_SUBJECT_PROCESS)
			bytes = Max(bytes, finding->bytes);
	}
	return bytes;
}

/* PlhProfileVisitor: judge a process. */
static void
judge(PlhProfileImage *image, void *arg)
{
	Look	   *look = arg;
	const PlhProfileHeader *header = image->header;
	PlhWatchedProcess *process;
	PlhFindings *findings;

	if (!image->alive)
		return;
	process = plh_watched_processes_find(header, look->now);
	plh_watched_processes_begin_judgement(process, header, look->now);
	findings = plh_image_findings_find(image, NULL);
	plh_proof_orders_want(process, image, worth_proving(findings), findings->begun_bytes);
	for (int i = 0; i < findings->count; i++)
	{
		const PlhFinding *finding = &findings->list[i];
		uint64		key = plh_watched_processes_key(finding, image);
		ReportOrder *order;

		/* what only grows may be a cache that fills up */
		if (plh_finding_verdict(finding) == PLH_VERDICT_GROWING ||
			!plh_watched_processes_note_finding(process, key, finding->bytes, look->now))
			continue;
		order = order_for(look, header->database_oid);
		if (order == NULL)
			process->awaits = true;
		else
			order->findings[order->count++] = (Reported)
		{
			header->pid, key, finding->bytes
		};
	}
}

/* PlhProfileFilter: has it changed since it was judged? */
static bool
has_changed(const PlhProfileImage *image, void *arg)
{
	const Look *look = arg;

	return image->alive &&
		plh_watched_processes_is_due(plh_watched_processes_find(image->header, look->now),
									 image->header, look->now);
}

static void
send_order(const ReportOrder *order)
{
	BackgroundWorker worker = {
		.bgw_name = REPORTER_NAME,
		.bgw_type = REPORTER_NAME,
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_ConsistentState,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "pg_leakhunt",
		.bgw_function_name = "pg_leakhunt_reporter_main"
	};
	bool		started;

	memcpy(worker.bgw_extra, order, sizeof(*order));
	started = RegisterDynamicBackgroundWorker(&worker, NULL);
	if (!started && !state.said_no_worker)
		ereport(WARNING, (errmsg("pg_leakhunt could not start a worker that logs findings"),
						  errhint("Raise max_worker_processes, or see pg_leakhunt_suspects.")));
	state.said_no_worker = !started;
	for (int i = 0; i < order->count; i++)
		plh_watched_processes_order(order->findings[i].pid, order->findings[i].key,
									started ? order->findings[i].bytes : 0);
}

static void
look_at_all(void *arg)
{
	Look	   *look = palloc0(sizeof(Look));

	look->now = plh_clock_us(CLOCK_MONOTONIC);
	plh_profile_reader_be_silent();
	plh_profile_reader_each(plh_profile_directory_path(), 0, false, has_changed, judge, look);
	plh_watched_processes_forget(look->now);
	for (int i = 0; i < look->count; i++)
		send_order(&look->orders[i]);
	plh_proof_orders_give();
}

bool
plh_verdict_watch_look(void)
{
	int64		began_us = plh_clock_us(CLOCK_MONOTONIC);
	int64		used_before_us;

	if (!plh_log_verdicts ||
		(state.began_us != 0 &&
		 began_us < state.began_us + plh_keeper_time(state.pause_us)))
		return false;
	used_before_us = plh_clock_us(CLOCK_PROCESS_CPUTIME_ID);
	HOLD_INTERRUPTS();
	(void) plh_errors_catch(look_at_all, NULL, "could not look for processes that leak memory");
	RESUME_INTERRUPTS();
	state.began_us = began_us;
	state.pause_us = Max(PAUSE_US, (plh_clock_us(CLOCK_PROCESS_CPUTIME_ID) - used_before_us) *
						 PROCESSOR_PART);
	return true;
}

static bool
must_end_names(void)
{
	return plh_clock_us(CLOCK_MONOTONIC) >= names_end_at_us;
}

static bool
is_ordered(const ReportOrder *order, int pid, uint64 key)
{
	for (int i = 0; i < Min(order->count, REPORTED_MOST); i++)
		if (order->findings[i].pid == pid && order->findings[i].key == key)
			return true;
	return false;
}

/* Log those of a process that no pattern matches. */
static void
report_process(const ReportOrder *order, const PlhSuppressions *suppressions, PlhSymbols *symbols,
			   const PlhProfileImage *image)
{
	PlhFindings *findings = plh_image_findings_find(image, symbols);
	const PlhFoundIn in = {
		image, findings, plh_stack_text_open(symbols, image), symbols
	};

	for (int i = 0; i < findings->count; i++)
	{
		const PlhFinding *finding = &findings->list[i];
		PlhListedSite site;
		const PlhListedSite *listed = NULL;
		PlhLogTurn	turn;

		CHECK_FOR_INTERRUPTS();
		if (!is_ordered(order, image->header->pid, plh_watched_processes_key(finding, image)))
			continue;
		if (finding->site != NULL)
		{
			if (plh_image_findings_describe(finding, image, in.stacks,
											suppressions, &site) != PLH_SHOWN)
				continue;
			listed = &site;
		}
		if (plh_log_turns_take_finding(&turn))
			plh_finding_line_log(finding, listed, &in, &turn);
	}
}

/* Log the findings, each process once, if it is still there. */
static void
report(const ReportOrder *order, const PlhSuppressions *suppressions, PlhSymbols *symbols)
{
	for (int i = 0; i < Min(order->count, REPORTED_MOST); i++)
	{
		int			pid = order->findings[i].pid;
		PlhProfileImage *image;

		/* findings of a process follow one another */
		if (i > 0 && order->findings[i - 1].pid == pid)
			continue;
		image = plh_profile_reader_find(plh_profile_directory_path(), pid, false);
		if (image != NULL && image->alive)
			report_process(order, suppressions, symbols, image);
	}
}

void
pg_leakhunt_reporter_main(Datum arg)
{
	ReportOrder order;
	const PlhSuppressions *suppressions;

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
	suppressions = OidIsValid(order.database) ? plh_suppression_table_find() :
		palloc0(sizeof(PlhSuppressions));
	report(&order, suppressions, plh_symbols_open_until(must_end_names));
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_activity(STATE_IDLE, NULL);
}

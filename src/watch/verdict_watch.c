/*
 * verdict_watch.c
 *	  Looks at all processes for findings that are new, and has them logged.
 *
 * To judge a process takes a tenth of a millisecond, as its whole profile is read.  So
 * of those that have not changed the header is read only, and after a look there is a
 * pause of 1,250 times the processor time that it took, and at least PAUSE_US.
 */
#include "postgres.h"

#include <time.h>

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/settings.h"
#include "process/errors.h"
#include "process/profile_directory.h"
#include "reader/profile_reader.h"
#include "telling/image_findings.h"
#include "watch/finding_key.h"
#include "watch/reporter.h"
#include "watch/verdict_watch.h"
#include "watch/watched_processes.h"

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

/* One look. */
typedef struct Look
{
	TimestampTz now;
	int			count;
	PlhReportOrder orders[MOST_ORDERS];
} Look;

/* The order for a database, or NULL where there is no room. */
static PlhReportOrder *
order_for(Look *look, Oid database)
{
	for (int i = 0; i < look->count; i++)
		if (look->orders[i].database == database)
			return look->orders[i].count < PLH_REPORTED_MOST ? &look->orders[i] : NULL;
	if (look->count == MOST_ORDERS)
		return NULL;
	look->orders[look->count].database = database;
	return &look->orders[look->count++];
}

/* Is it worth a line?  What only grows may be a cache that fills up. */
static bool
is_worth(const PlhFinding *finding)
{
	return plh_finding_verdict(finding) != PLH_VERDICT_GROWING;
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
	findings = plh_image_findings_find(image);
	for (int i = 0; i < findings->count; i++)
	{
		const PlhFinding *finding = &findings->list[i];
		uint64		key = plh_finding_key(finding, image);
		PlhReportOrder *order;

		if (!is_worth(finding) ||
			!plh_watched_processes_note_finding(process, key, finding->bytes, look->now))
			continue;
		order = order_for(look, header->database_oid);
		if (order == NULL)
			process->awaits = true;
		else
			order->findings[order->count++] =
				(PlhReported)
		{
			.pid = header->pid,.key = key,.bytes = finding->bytes
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

/* Say once that nothing is logged, as there is no place for a worker. */
static void
say_no_worker(void)
{
	if (!state.said_no_worker)
		ereport(WARNING,
				(errmsg("pg_leakhunt could not start a worker that logs findings"),
				 errhint("Raise max_worker_processes, or see pg_leakhunt_suspects.")));
	state.said_no_worker = true;
}

/* Have the findings of a database logged. */
static void
send(const PlhReportOrder *order)
{
	bool		started = plh_reporter_start(order);

	if (started)
		state.said_no_worker = false;
	else
		say_no_worker();
	for (int i = 0; i < order->count; i++)
		plh_watched_processes_order(order->findings[i].pid, order->findings[i].key,
									started ? order->findings[i].bytes : 0);
}

/* Look at all processes. */
static void
look_at_all(void *arg)
{
	Look	   *look = palloc0(sizeof(Look));

	look->now = GetCurrentTimestamp();
	plh_profile_reader_be_silent();
	plh_profile_reader_each(plh_profile_directory_path(), 0, false, has_changed, judge, look);
	plh_watched_processes_forget(look->now);
	for (int i = 0; i < look->count; i++)
		send(&look->orders[i]);
}

/* How much of a processor this process has used. */
static int64
used_us(void)
{
	return plh_clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

/* Is it time for a look? */
static bool
is_due(int64 now_us)
{
	return state.began_us == 0 ||
		now_us >= state.began_us + plh_keeper_time(state.pause_us);
}

bool
plh_verdict_watch_look(void)
{
	int64		began_us = plh_clock_us(CLOCK_MONOTONIC);
	int64		used_before_us;

	if (!plh_log_verdicts || !is_due(began_us))
		return false;
	used_before_us = used_us();
	HOLD_INTERRUPTS();
	(void) plh_errors_catch(look_at_all, NULL, "could not look for processes that leak memory");
	RESUME_INTERRUPTS();
	state.began_us = began_us;
	state.pause_us = Max(PAUSE_US, (used_us() - used_before_us) * PROCESSOR_PART);
	return true;
}

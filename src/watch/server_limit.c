/*
 * server_limit.c
 *	  Looks whether all processes have more memory than they may, and asks one of them to act.
 *
 * To ask the kernel for the memory of one process takes some ten microseconds: for all of them that
 * is done once in 10,000 times the time that it takes.  In between, processes tell of what they
 * have grown by (limit_places.h), and only if that may be beyond the limit the kernel is asked at
 * once.
 *
 * The process that is asked is the one whose statement or transaction holds most, since an error
 * frees that.  Where none holds enough, it is the largest that may be ended.  It has a few seconds
 * to act: it may be where no error can be thrown, or sleep.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/procsignal.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/page_layout.h"
#include "base/plural.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "base/size_units.h"
#include "process/errors.h"
#include "reader/server_processes.h"
#include "sampler/limit_places.h"
#include "watch/server_limit.h"

/* All scans together take this part of a processor, unless the limit is reached. */
#define PROCESSOR_PART 10000

/* A process has this time to act. */
#define PATIENCE_US INT64CONST(3000000)

/* It is worth while where that would free at least this part of the limit. */
#define STATEMENT_PART 64
#define SESSION_PART 16

/* That nobody can act is logged this often. */
#define TELL_US INT64CONST(60000000)

/* Only the keeper uses this. */
static PLH_SURVIVES_FORK struct
{
	int64		scanned_bytes;	/* what all had in the last scan */
	int64		next_scan_us;	/* by the monotonic clock */
	int			asked_pid;		/* of a process that is to act; 0: none */
	int64		asked_us;
	int			deaf_pid;		/* the last that did not act in time */
	int64		told_us;
}			state;

/* What each process had told when all were scanned, by the number of its place. */
static PLH_SURVIVES_FORK PLH_LARGE PlhLimitPlace scanned[PLH_CONTROL_LIMITS];

/* What all processes have. */
typedef struct Scan
{
	int64		bytes;
	int			processes;
	int			largest_pid;
	int64		largest_bytes;
} Scan;

static Scan
scan_all(void)
{
	Scan		scan = {0};
	ListCell   *cell;

	foreach(cell, plh_server_processes_children())
	{
		int64		bytes = plh_process_facts_rss_anon_bytes(lfirst_int(cell));

		if (bytes < 0)
			continue;
		scan.bytes += bytes;
		scan.processes++;
		if (bytes > scan.largest_bytes)
		{
			scan.largest_bytes = bytes;
			scan.largest_pid = lfirst_int(cell);
		}
	}
	for (int number = 0; number < PLH_CONTROL_LIMITS; number++)
		scanned[number] = plh_limit_places_read(number);
	state.scanned_bytes = scan.bytes;
	return scan;
}

/* By how much processes have grown since the last scan, as they tell. */
static int64
growth_since_scan(void)
{
	int64		bytes = 0;

	for (int number = 0; number < PLH_CONTROL_LIMITS; number++)
	{
		PlhLimitPlace place = plh_limit_places_read(number);

		if (place.pid == 0)
			continue;
		bytes += place.own_bytes;
		if (scanned[number].pid == place.pid)
			bytes -= scanned[number].own_bytes;
	}
	return bytes;
}

static bool
can_act(const PlhLimitPlace *place)
{
	return place->pid != 0 && place->action != PLH_LIMIT_LOG &&
		place->pid != state.deaf_pid && plh_process_facts_parent(place->pid) == PostmasterPid;
}

/* How much an end of the statement, or of the session, would free. */
static int64
freed_by(const PlhLimitPlace *place, PlhLimitDemand demand)
{
	if (demand == PLH_LIMIT_END_STATEMENT)
		return place->passing_bytes;
	return place->action == PLH_LIMIT_TERMINATE ? place->own_bytes : 0;
}

/*
 * The process that would free most, if that is at least this part of the limit.  Returns its pid; 0
 * if there is none.
 */
static int
choose(PlhLimitDemand demand, int least_part)
{
	int64		most = (int64) plh_server_memory_limit / least_part;
	int			pid = 0;

	for (int number = 0; number < PLH_CONTROL_LIMITS; number++)
	{
		PlhLimitPlace place = plh_limit_places_read(number);
		int64		bytes = freed_by(&place, demand);

		if (bytes > most && can_act(&place))
		{
			most = bytes;
			pid = place.pid;
		}
	}
	return pid;
}

/* Say once in a while that the limit is reached, and no process can act. */
static void
tell_nobody(const Scan *scan, int64 now_us)
{
	if (state.told_us != 0 && now_us < state.told_us + TELL_US)
		return;
	state.told_us = now_us;
	ereport(LOG, (errmsg("the server has reached pg_leakhunt.server_memory_limit: %d %s %s of %s",
						 scan->processes, plh_plural(scan->processes, "process has", "processes have"),
						 plh_size_units(scan->bytes).text,
						 plh_size_units((int64) plh_server_memory_limit).text),
				  errdetail("Process %d has most, %s.  No session can act: none holds enough that could be freed, or pg_leakhunt.limit_action is \"log\".",
							scan->largest_pid, plh_size_units(scan->largest_bytes).text),
				  errhint("SELECT explanation FROM pg_leakhunt_explain() tells what holds it.")));
}

static void
ask_no_more(void)
{
	if (state.asked_pid != 0)
		plh_limit_places_ask_no_more(state.asked_pid);
	state.asked_pid = 0;
}

/* Is a process about to act?  One that does not in time is passed over once. */
static bool
is_somebody_acting(int64 now_us)
{
	if (state.asked_pid == 0 || !plh_limit_places_awaits(state.asked_pid))
		return false;
	if (now_us < state.asked_us + PATIENCE_US)
		return true;
	state.deaf_pid = state.asked_pid;
	ask_no_more();
	return false;
}

/* Let an idle session have a transaction, in which it tells what it has and looks at demands. */
static void
wake(int pid)
{
	(void) SendProcSignal(pid, PROCSIG_CATCHUP_INTERRUPT, -1);
}

static void
ask(int pid, PlhLimitDemand demand, int64 now_us)
{
	state.asked_pid = pid;
	state.asked_us = now_us;
	state.deaf_pid = 0;
	plh_limit_places_ask(pid, demand);
	wake(pid);
}

static void
have_one_act(const Scan *scan, int64 now_us)
{
	int			pid;

	if (is_somebody_acting(now_us))
		return;
	if ((pid = choose(PLH_LIMIT_END_STATEMENT, STATEMENT_PART)) != 0)
		ask(pid, PLH_LIMIT_END_STATEMENT, now_us);
	else if ((pid = choose(PLH_LIMIT_END_SESSION, SESSION_PART)) != 0)
		ask(pid, PLH_LIMIT_END_SESSION, now_us);
	else
	{
		/* another process may have taken the place of the largest */
		state.deaf_pid = 0;
		wake(scan->largest_pid);
		tell_nobody(scan, now_us);
	}
}

/* PlhErrorsWork */
static void
look(void *arg)
{
	int64		limit = (int64) plh_server_memory_limit;
	int64		began_us = plh_clock_us(CLOCK_MONOTONIC);
	int64		used_us = plh_clock_us(CLOCK_PROCESS_CPUTIME_ID);
	Scan		scan;

	if (began_us < state.next_scan_us && state.scanned_bytes + growth_since_scan() <= limit)
		return;
	scan = scan_all();
	used_us = plh_clock_us(CLOCK_PROCESS_CPUTIME_ID) - used_us;
	state.next_scan_us = began_us + plh_keeper_time(PROCESSOR_PART * used_us);
	if (scan.bytes > limit)
		have_one_act(&scan, began_us);
	else
		ask_no_more();
}

void
plh_server_limit_look(void)
{
	if (plh_server_memory_limit <= 0 || plh_control_file == NULL)
		return;
	HOLD_INTERRUPTS();
	(void) plh_errors_catch(look, NULL, "could not look whether the server is at its memory limit");
	RESUME_INTERRUPTS();
}

/*
 * growing_processes.c
 *	  Which processes of this server have taken the memory that is missing.
 *
 * To ask the kernel for the memory of a process takes some ten microseconds.  So all are asked now
 * and then, for a ten-thousandth of a processor, and again when a forecast is told.  It is compared
 * with the count before the last one: so it is never of a moment ago.
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/memutils.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "reader/server_processes.h"
#include "watch/growing_processes.h"

/* All are asked this often at most, and for this part of a processor. */
#define PAUSE_US INT64CONST(30000000)
#define PROCESSOR_PART 10000

/* Those that have grown at least this part of the largest growth are told with it. */
#define ALIKE_PART 2

typedef struct Counted
{
	int			pid;
	int64		bytes;
} Counted;

/* What all had at a moment. */
typedef struct Count
{
	Counted    *processes;		/* by ascending pid */
	int			number;
	PlhMemoryRoom rooms[PLH_MEMORY_ROOMS];
} Count;

/* Only the keeper uses this. */
static PLH_SURVIVES_FORK struct
{
	Count	   *before;			/* what is compared with; NULL at first */
	Count	   *last;
	int64		next_us;		/* by the monotonic clock */
}			state;

static int
compare_pids(const void *a, const void *b)
{
	return ((const Counted *) a)->pid - ((const Counted *) b)->pid;
}

static Count *
count_all(MemoryContext context, const PlhMemoryRoom *rooms)
{
	List	   *pids = plh_server_processes_children();
	Count	   *count = MemoryContextAlloc(context, sizeof(Count));
	ListCell   *cell;

	count->processes = MemoryContextAlloc(context, sizeof(Counted) * list_length(pids));
	count->number = 0;
	memcpy(count->rooms, rooms, sizeof(count->rooms));
	foreach(cell, pids)
		count->processes[count->number++] = (Counted)
	{
		lfirst_int(cell), Max(0, plh_process_facts_rss_anon_bytes(lfirst_int(cell)))
	};
	qsort(count->processes, count->number, sizeof(Counted), compare_pids);
	return count;
}

static void
free_count(Count *count)
{
	if (count == NULL)
		return;
	pfree(count->processes);
	pfree(count);
}

void
plh_growing_processes_note(const PlhMemoryRoom *rooms, int64 now_us)
{
	int64		used_us;

	if (now_us < state.next_us)
		return;
	used_us = plh_clock_us(CLOCK_PROCESS_CPUTIME_ID);
	free_count(state.before);
	state.before = state.last;
	state.last = count_all(TopMemoryContext, rooms);
	used_us = plh_clock_us(CLOCK_PROCESS_CPUTIME_ID) - used_us;
	state.next_us = now_us + plh_keeper_time(Max(PAUSE_US, PROCESSOR_PART * used_us));
}

/* What a process had then; a new one had nothing. */
static int64
bytes_before(const Count *before, const Counted *process)
{
	const Counted *found = before->number == 0 ? NULL :
		bsearch(process, before->processes, before->number, sizeof(Counted), compare_pids);

	return found == NULL ? 0 : found->bytes;
}

/* Add up what each has grown by.  Returns the sum; "least" is what is told. */
static int64
add_up(PlhGrowth *growth, int64 *told, const Count *before, const Count *now, int64 least)
{
	int64		sum = 0;

	*told = 0;
	for (int i = 0; i < now->number; i++)
	{
		int64		grown = now->processes[i].bytes - bytes_before(before, &now->processes[i]);

		sum += Max(0, grown);
		if (grown <= 0 || grown < least)
			continue;
		growth->processes++;
		*told += grown;
	}
	return sum;
}

/* The growth of the process that has grown most. */
static int64
find_largest(PlhGrowth *growth, const Count *before, const Count *now)
{
	int64		most = 0;

	for (int i = 0; i < now->number; i++)
	{
		int64		grown = now->processes[i].bytes - bytes_before(before, &now->processes[i]);

		if (grown <= most)
			continue;
		most = grown;
		growth->pid = now->processes[i].pid;
	}
	return most;
}

static int
percent_of(int64 bytes, int64 all)
{
	return all <= 0 ? 0 : (int) (Max(0, bytes) * 100.0 / all + 0.5);
}

void
plh_growing_processes_find(PlhGrowth *growth, const PlhMemoryRoom *rooms, int number)
{
	const Count *before = state.before != NULL ? state.before : state.last;
	const Count *now;
	int64		told;
	int64		private;
	int64		shared;
	int64		all;

	memset(growth, 0, sizeof(*growth));
	if (before == NULL)
		return;
	now = count_all(CurrentMemoryContext, rooms);
	private = add_up(growth, &told, before, now, find_largest(growth, before, now) / ALIKE_PART);
	shared = rooms[number].shared_bytes - before->rooms[number].shared_bytes;
	all = Max(before->rooms[number].room_bytes - rooms[number].room_bytes,
			  private + Max(0, shared));
	growth->percent = percent_of(told, all);
	growth->server_percent = percent_of(private, all);
	growth->shared_percent = percent_of(shared, all);
}

/*
 * forecast_watch.c
 *	  Foresees when memory will run out, tells all who ask, and has it logged.
 *
 * The room that each limit leaves has a course of its own: what runs out first is told.  In calm
 * there is a look each second, which reads six small files, and more often when memory may run out
 * within sixteen seconds.
 *
 * The log has a line when less than forecast_warning is left, and again at a quarter of that.  Once
 * there has been no forecast for a minute, what comes is news again.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/settings.h"
#include "judge/memory_course.h"
#include "process/errors.h"
#include "process/forecast_place.h"
#include "reader/memory_room.h"
#include "reader/server_processes.h"
#include "reader/untouched_buffers.h"
#include "watch/forecast_line.h"
#include "watch/forecast_watch.h"
#include "watch/growing_processes.h"

/* The time between looks: in calm, at least, and as a part of what is left. */
#define CALM_US INT64CONST(1000000)
#define LEAST_US INT64CONST(100000)
#define PART_OF_LEFT 16

/* All looks together take this part of a processor in calm, and while there is a forecast. */
#define PROCESSOR_PART 2000
#define BUSY_PROCESSOR_PART 20

/* It is logged again at this part of what was logged, and anew after this time without one. */
#define AGAIN_PART 4
#define FORGOTTEN_US INT64CONST(60000000)

/* Nobody can act in less. */
#define LEAST_LOGGED_US INT64CONST(1000000)

/* Buffers that may take more than this part of a limit are as dangerous as all else. */
#define BUFFERS_PART 0.8

/* Only the keeper uses this. */
static PLH_SURVIVES_FORK struct
{
	PlhMemoryCourse courses[PLH_MEMORY_ROOMS];
	int64		next_us;		/* by the monotonic clock, as the next */
	int64		foreseen_us;	/* the last time that there was a forecast */
	int64		logged_left_us; /* what was left when it was logged; 0: was
								 * not */
	bool		is_set;			/* others see a forecast */
}			state;

/* What is still to be read into buffers, where it is within the limit. */
static int64
promised_of(const PlhMemoryRoom *room, int64 untouched)
{
	return (double) NBuffers * BLCKSZ > BUFFERS_PART * room->limit_bytes ? 0 : untouched;
}

/* Note all rooms.  Returns the number of the one that will be gone first; -1: none will. */
static int
foresee(const PlhMemoryRoom *rooms, int count, PlhMemoryForecast *first, int64 now_us)
{
	int64		untouched = plh_untouched_buffers_bytes();
	int			number = -1;

	for (int i = 0; i < count; i++)
	{
		const PlhMemoryLook now = {
			now_us, rooms[i].room_bytes, promised_of(&rooms[i], untouched)
		};
		PlhMemoryForecast forecast;

		plh_memory_course_note(&state.courses[i], rooms[i].limit_bytes, &now);
		if (!plh_memory_course_foresee(&state.courses[i], &forecast) ||
			(number >= 0 && forecast.left_us >= first->left_us))
			continue;
		*first = forecast;
		number = i;
	}
	return number;
}

/* What the end of a process gives back. */
static int64
freed_by(int pid)
{
	PlhProcessMemory memory;

	plh_server_processes_memory(pid, &memory);
	return memory.private_bytes + memory.swapped_bytes;
}

static PlhControlForecast
facts_of(const PlhMemoryForecast *forecast, const PlhMemoryRoom *rooms, int number, int64 now_us)
{
	const PlhMemoryRoom *room = &rooms[number];
	PlhGrowth	growth;
	PlhControlForecast facts = {
		.of_group = room->of_group,
		.waiting_percent = (int) room->waiting_percent,
		.looked_at_us = now_us,
		.left_us = forecast->left_us,
		.soonest_us = forecast->soonest_us,
		.latest_us = forecast->latest_us,
		.limit_bytes = room->limit_bytes,
		.room_bytes = Max(0, room->room_bytes),
		.bytes_per_second = (int64) forecast->bytes_per_second
	};

	plh_growing_processes_find(&growth, rooms, number);
	facts.pid = growth.pid;
	facts.processes = growth.processes;
	facts.percent = growth.percent;
	facts.server_percent = growth.server_percent;
	facts.shared_percent = growth.shared_percent;
	if (facts.pid != 0)
		facts.freed_bytes = freed_by(facts.pid);
	return facts;
}

/* Write the line, if it is news. */
static void
log_news(const PlhControlForecast *facts)
{
	if (facts->left_us > plh_forecast_warning * INT64CONST(1000000) ||
		facts->left_us < LEAST_LOGGED_US ||
		(state.logged_left_us != 0 && facts->left_us > state.logged_left_us / AGAIN_PART))
		return;
	state.logged_left_us = facts->left_us;
	plh_forecast_line_log(facts);
}

static void
tell(const PlhMemoryForecast *forecast, const PlhMemoryRoom *rooms, int number, int64 now_us)
{
	PlhControlForecast facts = facts_of(forecast, rooms, number, now_us);

	plh_forecast_place_set(&facts);
	state.is_set = true;
	state.foreseen_us = now_us;

	/* a burst that ends just now is not worth a line */
	if (forecast->takes_now)
		log_news(&facts);
}

static void
tell_none(int64 now_us)
{
	const PlhControlForecast none = {0};

	if (state.is_set)
		plh_forecast_place_set(&none);
	state.is_set = false;
	if (now_us > state.foreseen_us + plh_keeper_time(FORGOTTEN_US))
		state.logged_left_us = 0;
}

/* How soon to look again. */
static int64
pause_us(int count, bool is_foreseen, int64 used_us)
{
	int64		pause = CALM_US;

	for (int i = 0; i < count; i++)
		pause = Min(pause, plh_memory_course_left_us(&state.courses[i]) / PART_OF_LEFT);
	return Max(Max(pause, LEAST_US),
			   used_us * (is_foreseen ? BUSY_PROCESSOR_PART : PROCESSOR_PART));
}

/* PlhErrorsWork */
static void
look(void *arg)
{
	PlhMemoryRoom rooms[PLH_MEMORY_ROOMS];
	PlhMemoryForecast forecast;
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC);
	int64		used_us = plh_clock_us(CLOCK_PROCESS_CPUTIME_ID);
	int			count = plh_memory_room_read(PostmasterPid, rooms);
	int			number;

	number = foresee(rooms, count, &forecast, now_us);
	if (number >= 0)
		tell(&forecast, rooms, number, now_us);
	else
		tell_none(now_us);
	used_us = plh_clock_us(CLOCK_PROCESS_CPUTIME_ID) - used_us;
	state.next_us = now_us + plh_keeper_time(pause_us(count, number >= 0, used_us));
	plh_growing_processes_note(rooms, now_us);
}

void
plh_forecast_watch_look(void)
{
	if (plh_forecast_warning == 0)
	{
		tell_none(0);
		return;
	}
	if (plh_clock_us(CLOCK_MONOTONIC) < state.next_us)
		return;
	HOLD_INTERRUPTS();
	(void) plh_errors_catch(look, NULL, "could not foresee when memory will run out");
	RESUME_INTERRUPTS();
}

long
plh_forecast_watch_pause_ms(void)
{
	if (plh_forecast_warning == 0)
		return -1;
	return Max(0, (state.next_us - plh_clock_us(CLOCK_MONOTONIC)) / 1000 + 1);
}

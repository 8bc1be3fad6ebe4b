/*
 * test_forecast_watch.c
 *	  What the keeper tells of memory that runs out, when, and how often it looks.
 *
 * The tests say how much room there is, and what time it is.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/clock.h"
#include "base/settings.h"
#include "process/forecast_place.h"
#include "reader/memory_room.h"
#include "reader/server_processes.h"
#include "watch/growing_processes.h"

#define MB ((int64) 1024 * 1024)
#define SECOND INT64CONST(1000000)

static uint32 holdoffs;
static int64 now_us;
static int64 used_us;			/* by each look */
static int64 untouched;
static PlhMemoryRoom known_rooms[2];
static PlhGrowth known_growth;
static int	looks;
static int	buffers = 1024;

static int	lines;
static PlhControlForecast logged;

static int64
clock_stub(clockid_t clock)
{
	static int64 used;

	return clock == CLOCK_MONOTONIC ? now_us : (used += used_us);
}

static int
read_stub(int pid, PlhMemoryRoom *rooms)
{
	looks++;
	memcpy(rooms, known_rooms, sizeof(known_rooms));
	return 2;
}

static int64
untouched_stub(void)
{
	return untouched;
}

static void
find_stub(PlhGrowth *growth, const PlhMemoryRoom *rooms, int number)
{
	*growth = known_growth;
}

static void
note_stub(const PlhMemoryRoom *rooms, int64 at_us)
{
}

static void
memory_stub(int pid, PlhProcessMemory *memory)
{
	*memory = (PlhProcessMemory)
	{
		.private_bytes = 300 * MB,.swapped_bytes = 100 * MB
	};
}

static void
log_stub(const PlhControlForecast *facts)
{
	lines++;
	logged = *facts;
}

static bool
catch_stub(void (*work) (void *arg), void *arg, const char *failure)
{
	work(arg);
	return true;
}

#define InterruptHoldoffCount holdoffs
#define NBuffers buffers
#define plh_clock_us clock_stub
#define plh_memory_room_read read_stub
#define plh_untouched_buffers_bytes untouched_stub
#define plh_growing_processes_find find_stub
#define plh_growing_processes_note note_stub
#define plh_server_processes_memory memory_stub
#define plh_forecast_line_log log_stub
#define plh_errors_catch catch_stub
#include "process/forecast_place.c"
#include "watch/forecast_watch.c"

#include "unit_tests.h"

static PlhControlFile control_file;

static void
begin(void)
{
	memset(&control_file, 0, sizeof(control_file));
	memset(&state, 0, sizeof(state));
	known_rooms[0] = (PlhMemoryRoom)
	{
		.limit_bytes = 16000 * MB,.room_bytes = 8000 * MB,.waiting_percent = -1
	};
	known_rooms[1] = (PlhMemoryRoom)
	{
		.of_group = true,.limit_bytes = 1000 * MB,.room_bytes = 900 * MB,.waiting_percent = 12.7
	};
	known_growth = (PlhGrowth)
	{
		4711, 1, 71, 80, 0
	};
	now_us = 1000 * SECOND;
	looks = lines = 0;
	used_us = 0;
	untouched = 0;
	plh_forecast_warning = 600;
}

/* The keeper wakes up after each second; that is taken of the group meanwhile. */
static void
take(int64 bytes, int seconds)
{
	for (int i = 0; i < seconds; i++)
	{
		now_us += SECOND + 1000;
		known_rooms[1].room_bytes -= bytes;
		plh_forecast_watch_look();
	}
}

static bool
is_told(PlhControlForecast *forecast)
{
	return plh_forecast_place_get(forecast);
}

static void
test_lines(void)
{
	PlhControlForecast forecast;

	begin();
	take(0, 30);
	ok(!is_told(&forecast) && lines == 0, "in calm nothing is told");
	take(MB, 380);
	ok(!is_told(&forecast) && lines == 0, "nor while growth has taken little");
	take(MB, 10);
	ok(is_told(&forecast) && forecast.of_group && forecast.limit_bytes == 1000 * MB, "then all who ask are told, of the limit that is reached first");
	ok(lines == 1 && logged.left_us > 480 * SECOND && logged.left_us <= 530 * SECOND, "and the log, as it is less than forecast_warning");
	ok(forecast.pid == 4711 && forecast.percent == 71 && forecast.freed_bytes == 400 * MB, "with who has grown, and what its end gives back, swap included");
	ok(forecast.waiting_percent == 12 && forecast.bytes_per_second > MB * 9 / 10 && forecast.bytes_per_second < MB * 11 / 10, "at which rate, and whether processes wait");
	take(MB, 370);
	ok(lines == 1, "the log has it once");
	take(MB, 60);
	ok(lines == 2 && logged.left_us <= 150 * SECOND, "and again at a quarter of that");
	take(MB, 53);
	ok(lines == 3, "and so on");
	take(MB, 40);
	ok(lines == 5 && known_rooms[1].room_bytes < 0, "but not in the last second");
}

static void
test_warning(void)
{
	PlhControlForecast forecast;

	begin();
	plh_forecast_warning = 60;
	take(0, 10);
	take(2 * MB, 320);
	ok(is_told(&forecast) && lines == 0, "with more time than forecast_warning the log has nothing, but who asks is told");
	take(2 * MB, 80);
	ok(lines == 1 && logged.left_us <= 60 * SECOND, "with less it has");
	plh_forecast_warning = 0;
	take(2 * MB, 1);
	ok(!is_told(&forecast), "0 ends all that");
	looks = 0;
	take(2 * MB, 10);
	ok(looks == 0 && plh_forecast_watch_pause_ms() == -1, "nobody looks then");
}

static void
test_end(void)
{
	PlhControlForecast forecast;

	begin();
	take(0, 10);
	take(10 * MB, 40);
	ok(is_told(&forecast) && lines == 1, "a burst is told");
	take(0, 6);
	ok(!is_told(&forecast) && lines == 1, "once it has ended, nothing is");
	take(-10 * MB, 40);
	take(0, 70);
	take(10 * MB, 65);
	ok(lines == 2, "what comes later is news");
}

static void
test_stale(void)
{
	PlhControlForecast forecast;
	int64		left_us;

	begin();
	take(0, 10);
	take(10 * MB, 40);
	ok(is_told(&forecast), "what the keeper has foreseen");
	left_us = forecast.left_us;
	now_us += 5 * SECOND;
	ok(is_told(&forecast) && left_us - forecast.left_us == 5 * SECOND, "comes nearer between its looks");
	now_us += 6 * SECOND;
	ok(!is_told(&forecast), "and is nothing when it does not look any more");
	pg_atomic_fetch_or_u32(&control_file.forecast.changes, 1);
	now_us -= 11 * SECOND;
	ok(!is_told(&forecast), "nor is what it had begun to write when it died");
	take(10 * MB, 1);
	ok(is_told(&forecast), "the next keeper writes it anew");
}

static void
test_pauses(void)
{
	begin();
	take(0, 10);
	ok(plh_forecast_watch_pause_ms() == 1001, "in calm it looks each second");
	now_us += 1;
	looks = 0;
	plh_forecast_watch_look();
	ok(looks == 0, "not before that");
	take(100 * MB, 1);
	ok(plh_forecast_watch_pause_ms() == 1000 * 8 / 16 + 1, "as soon as memory may run out in seconds, more often");
	take(740 * MB, 1);
	ok(plh_forecast_watch_pause_ms() == 101, "at most ten times a second");
	used_us = 1000;
	take(0, 1);
	ok(plh_forecast_watch_pause_ms() == 2001, "and in calm never for more than a two-thousandth of a processor");
}

static void
test_buffers(void)
{
	PlhControlForecast forecast;

	begin();
	buffers = 500 * MB / BLCKSZ;
	untouched = 500 * MB;
	take(0, 10);
	for (int i = 0; i < 100; i++)
	{
		untouched -= 5 * MB;
		take(5 * MB, 1);
	}
	ok(!is_told(&forecast) && lines == 0, "buffers that are read into for the first time are no growth");
	take(5 * MB, 60);
	ok(is_told(&forecast), "what comes beside them is");

	begin();
	buffers = 900 * MB / BLCKSZ;
	untouched = 900 * MB;
	take(0, 10);
	take(5 * MB, 100);
	ok(is_told(&forecast), "nor are they left out where there is no room for them");
	buffers = 1024;
}

void
test_forecast_watch(void)
{
	PlhControlFile *file = plh_control_file;

	plh_control_file = &control_file;
	test_lines();
	test_warning();
	test_end();
	test_stale();
	test_pauses();
	test_buffers();
	plh_control_file = file;
	plh_forecast_warning = 0;
}

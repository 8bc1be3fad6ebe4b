/*
 * memory_course.c
 *	  When memory will run out, by the room that was left at one moment after another.
 *
 * Of the windows that end now, that one tells the rate whose four quarters agree best: growth that
 * has just begun needs a short one, growth in steps, or beside other work, a long one.
 *
 * Growth has ended if its lull is longer than any that it had in that window.  What has been
 * before is no news: growth that has not taken more than earlier growth that ended by itself, such
 * as the sort of a report, must have gone farther before it is told of.
 */
#include "postgres.h"

#include <math.h>

#include "judge/memory_course.h"

#define QUARTERS 4

/* A window has these looks at least, so that each quarter has one. */
#define LEAST_LOOKS (QUARTERS + 1)

/* By chance the quarters of few looks agree: what is added to the error of so many steps. */
#define CHANCE_PART 0.3

/* In a lull, less than this part is taken of what the rate would take. */
#define LULL_PART 0.5

/* A lull of these looks is none, and one may be longer by this than the one before. */
#define LEAST_LULL_LOOKS 4
#define LONGER_LULL 1.5

/* A window may begin before the growth does, which has begun once this part was taken. */
#define BEGUN_PART 8

/* A trend is taken to go on for so many times the span that has shown it. */
#define TREND_SPANS 2

/* What comes after so many looks without growth is another one. */
#define REST_LOOKS 8

/* Growth that is slower than this part of what it was on average is another one, too. */
#define SLOWER_PART 0.25

/* The range of a forecast is that of so many errors, within these parts. */
#define RANGE_ERRORS 2.0
#define LEAST_RANGE 0.15
#define MOST_RANGE 0.5

/* A window that ends now. */
typedef struct Window
{
	int			first;			/* its first look */
	double		rate;			/* bytes per microsecond, on average */
	double		rate_now;
	double		trend;			/* the logarithm of the rate grows by this in
								 * a microsecond */
	double		error;			/* of the rate, as a part of it */
} Window;

static const PlhMemoryLook *
last_look(const PlhMemoryCourse *course)
{
	return &course->looks[course->count - 1];
}

/*
 * The look that says least: of those before the last ones, the one whose neighbours are closest, as
 * a part of their age.
 */
static int
least_telling(const PlhMemoryCourse *course, int64 now_us)
{
	double		least = HUGE_VAL;
	int			found = 0;

	if (now_us - course->looks[0].at_us > PLH_MEMORY_FARTHEST_US)
		return 0;
	for (int i = 1; i < PLH_MEMORY_LOOKS - PLH_MEMORY_DENSE_LOOKS; i++)
	{
		const PlhMemoryLook *look = &course->looks[i];
		double		part = (double) (look[1].at_us - look[-1].at_us) /
			Max(1, now_us - look[-1].at_us);

		if (part < least)
		{
			least = part;
			found = i;
		}
	}
	return found;
}

static void
remove_look(PlhMemoryCourse *course, int number)
{
	course->count--;
	memmove(&course->looks[number], &course->looks[number + 1],
			sizeof(course->looks[0]) * (course->count - number));
}

void
plh_memory_course_note(PlhMemoryCourse *course, int64 limit_bytes, const PlhMemoryLook *now)
{
	if (course->limit_bytes != limit_bytes ||
		(course->count > 0 && now->at_us <= last_look(course)->at_us))
		memset(course, 0, sizeof(*course));
	course->limit_bytes = limit_bytes;
	if (course->count == PLH_MEMORY_LOOKS)
		remove_look(course, least_telling(course, now->at_us));
	course->looks[course->count++] = *now;
}

int64
plh_memory_course_left_us(const PlhMemoryCourse *course)
{
	const PlhMemoryLook *last = last_look(course);
	int64		taken;

	if (course->count < 2 || (taken = last[-1].room_bytes - last->room_bytes) <= 0)
		return PG_INT64_MAX;
	return (int64) ((double) Max(0, last->room_bytes) / taken * (last->at_us - last[-1].at_us));
}

/* What else there is room for. */
static int64
unpromised(const PlhMemoryLook *look)
{
	return look->room_bytes - look->promised_bytes;
}

/* That room at a moment between looks. */
static double
room_at(const PlhMemoryCourse *course, double at_us)
{
	const PlhMemoryLook *after = last_look(course);
	double		part;

	while (after > course->looks + 1 && after[-1].at_us > at_us)
		after--;
	part = (at_us - after[-1].at_us) / (after->at_us - after[-1].at_us);
	return unpromised(&after[-1]) + part * (unpromised(after) - unpromised(&after[-1]));
}

/* Does each quarter have more than the one before, or each less? */
static bool
has_trend(const double *rates)
{
	bool		is_up = rates[1] > rates[0];

	for (int i = 0; i < QUARTERS; i++)
		if (rates[i] <= 0 || (i > 0 && (rates[i] > rates[i - 1]) != is_up))
			return false;
	return true;
}

/* By how much the logarithm of the rate grows from quarter to quarter: a line through four. */
static double
trend_of(const double *rates)
{
	return (3 * log(rates[3] / rates[0]) + log(rates[2] / rates[1])) / 10;
}

/* The rates of the quarters of a window. */
static void
read_quarters(const PlhMemoryCourse *course, int first, double *rates)
{
	const PlhMemoryLook *begin = &course->looks[first];
	double		span = (last_look(course)->at_us - begin->at_us) / (double) QUARTERS;
	double		before = unpromised(begin);

	for (int i = 0; i < QUARTERS; i++)
	{
		double		after = room_at(course, begin->at_us + span * (i + 1));

		rates[i] = (before - after) / span;
		before = after;
	}
}

/* The rate since a look, its trend, and how well the quarters agree with that. */
static Window
window_from(const PlhMemoryCourse *course, int first)
{
	const PlhMemoryLook *begin = &course->looks[first];
	const PlhMemoryLook *end = last_look(course);
	double		span = end->at_us - begin->at_us;
	Window		window = {first, (unpromised(begin) - unpromised(end)) / span,.error = HUGE_VAL};
	double		rates[QUARTERS];
	double		trend = 0;
	double		squares = 0;

	if (window.rate <= 0)
		return window;
	read_quarters(course, first, rates);
	if (has_trend(rates))
		trend = trend_of(rates);
	for (int i = 0; i < QUARTERS; i++)
	{
		double		fit = window.rate * exp(trend * (i - (QUARTERS - 1) / 2.0));

		squares += (rates[i] / fit - 1) * (rates[i] / fit - 1);
	}
	window.error = sqrt(squares / (trend == 0 ? QUARTERS - 1 : QUARTERS - 2) / QUARTERS);
	window.trend = trend * QUARTERS / span;
	window.rate_now = window.rate * exp(trend * QUARTERS / 2.0);
	return window;
}

/* How long it lasted before a look that next to nothing was taken, within a window. */
static int64
lull_before(const PlhMemoryCourse *course, const Window *window, int first, int look)
{
	const PlhMemoryLook *end = &course->looks[look];
	int64		lull = 0;

	for (int i = first; i < look; i++)
	{
		const PlhMemoryLook *begin = &course->looks[i];
		int64		span = end->at_us - begin->at_us;

		if (unpromised(begin) - unpromised(end) < LULL_PART * window->rate * span)
		{
			lull = span;
			break;
		}
	}
	return lull;
}

/* Is the present lull longer than those before it in the window? */
static bool
has_ended(const PlhMemoryCourse *course, const Window *window)
{
	int			last = course->count - 1;
	int			growing = window->first;
	int64		lull = lull_before(course, window, growing, last);
	int64		begun_bytes = unpromised(&course->looks[growing]) -
		(unpromised(&course->looks[growing]) - unpromised(&course->looks[last])) / BEGUN_PART;
	int64		now_us = course->looks[last].at_us;
	int64		before = now_us - course->looks[Max(0, last - LEAST_LULL_LOOKS + 1)].at_us;

	if (lull <= before)
		return false;
	while (unpromised(&course->looks[growing]) > begun_bytes)
		growing++;
	for (int i = growing + 1; i < last && course->looks[i].at_us <= now_us - lull; i++)
		before = Max(before, lull_before(course, window, growing, i) * LONGER_LULL);
	return lull > before;
}

/* The window that tells the rate best; returns false if none tells it. */
static bool
find_window(const PlhMemoryCourse *course, Window *best)
{
	double		least = HUGE_VAL;

	for (int first = course->count - LEAST_LOOKS; first >= 0; first--)
	{
		Window		window = window_from(course, first);
		double		chance = CHANCE_PART / (course->count - first - QUARTERS);
		double		doubt = window.error + (window.trend == 0 ? chance : 2 * chance);

		if (window.error > PLH_MEMORY_STEADY_PART || doubt >= least ||
			has_ended(course, &window))
			continue;
		least = doubt;
		*best = window;
	}
	return least < HUGE_VAL;
}

/*
 * By how much it has grown: since the look from which on the room never became more, and no rest
 * was seen.
 */
static void
measure_growth(const PlhMemoryCourse *course, int first, PlhMemoryForecast *forecast)
{
	const PlhMemoryLook *end = last_look(course);
	const PlhMemoryLook *begin = &course->looks[first];

	while (begin > course->looks && unpromised(&begin[-1]) > unpromised(begin) &&
		   begin->at_us > course->rested_at_us)
		begin--;
	forecast->grown_bytes = unpromised(begin) - unpromised(end);
	forecast->grown_us = end->at_us - begin->at_us;
}

/*
 * The time in which room is taken at a rate that goes on to change as it has, for as long again as
 * some spans of the window.
 */
static double
time_in(double room_bytes, double rate_now, double trend, double span_us)
{
	double		most = TREND_SPANS * span_us;
	double		rate = rate_now * exp(trend * most);
	double		taken = (rate - rate_now) / trend;

	if (trend == 0)
		return room_bytes / rate_now;
	if (taken < room_bytes)
		return most + (room_bytes - taken) / rate;
	return log(1 + trend * room_bytes / rate_now) / trend;
}

/*
 * Until there is no room.  What is promised is taken, too, at that rate, but only once: so it
 * lasts until one is taken at both rates, or until the rest is at its own.
 */
static double
time_left(const PlhMemoryCourse *course, const Window *window)
{
	const PlhMemoryLook *begin = &course->looks[window->first];
	const PlhMemoryLook *end = last_look(course);
	double		span = end->at_us - begin->at_us;
	double		promised = Max(0, begin->promised_bytes - end->promised_bytes) / span;

	return Max(time_in(Max(0, end->room_bytes), window->rate_now + promised, window->trend, span),
			   time_in(Max(0, unpromised(end)), window->rate_now, window->trend, span));
}

static void
foresee(const PlhMemoryCourse *course, const Window *window, PlhMemoryForecast *forecast)
{
	const PlhMemoryLook *end = last_look(course);
	double		left_us = time_left(course, window);
	double		range = Min(Max(RANGE_ERRORS * window->error, LEAST_RANGE), MOST_RANGE);

	forecast->left_us = (int64) Min(left_us, PLH_MEMORY_FARTHEST_US + 1.0);
	forecast->soonest_us = (int64) (forecast->left_us / (1 + range));
	forecast->latest_us = (int64) (forecast->left_us / (1 - range));
	forecast->takes_now = unpromised(&end[-1]) - unpromised(end) >=
		LULL_PART * window->rate * (end->at_us - end[-1].at_us);
	forecast->bytes_per_second = window->rate_now * 1000000.0;
	measure_growth(course, window->first, forecast);
}

/* Note how little room growth leaves, and at its end, that it left it. */
static void
note_growth(PlhMemoryCourse *course, bool grows)
{
	const PlhMemoryLook *last = last_look(course);

	if (course->has_ended && last->at_us > course->ended_at_us + PLH_MEMORY_REMEMBERED_US)
		course->has_ended = false;
	if (course->grows && !grows &&
		(!course->has_ended || course->least_bytes <= course->ended_bytes))
	{
		course->has_ended = true;
		course->ended_bytes = course->least_bytes;
		course->ended_at_us = last->at_us;
	}
	if (grows)
		course->least_bytes = course->grows ? Min(course->least_bytes, unpromised(last)) :
			unpromised(last);
	course->resting = grows ? 0 : course->resting + 1;
	if (course->resting >= REST_LOOKS)
		course->rested_at_us = last->at_us;
	course->grows = grows;
}

/* Has it taken enough, beside what is left? */
static bool
is_worth_telling(const PlhMemoryCourse *course, const PlhMemoryForecast *forecast)
{
	bool		was_before = course->has_ended &&
		unpromised(last_look(course)) >= course->ended_bytes;

	return forecast->left_us <= PLH_MEMORY_FARTHEST_US &&
		forecast->bytes_per_second * forecast->grown_us / 1000000.0 >=
		SLOWER_PART * forecast->grown_bytes &&
		forecast->grown_bytes >= last_look(course)->room_bytes *
		(was_before ? PLH_MEMORY_TAKEN_AGAIN : PLH_MEMORY_TAKEN_PART);
}

bool
plh_memory_course_foresee(PlhMemoryCourse *course, PlhMemoryForecast *forecast)
{
	Window		window = {0};
	bool		grows = find_window(course, &window);

	note_growth(course, grows);
	if (!grows)
		return false;
	foresee(course, &window, forecast);
	return is_worth_telling(course, forecast);
}

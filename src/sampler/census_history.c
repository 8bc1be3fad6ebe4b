/*
 * census_history.c
 *	  What each census found, in a history that has room for some.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "port/atomics.h"

#include "base/page_layout.h"
#include "profile/profile.h"
#include "profile/profile_courses.h"
#include "sampler/census_history.h"

/* Two points of the history lie this far apart at first. */
#define HISTORY_GAP_US ((int64) 1000000)

/* Two points that differ by less are alike. */
#define CHANGED_BYTES 131072

static struct
{
	int64		gap_us;			/* between two points of the history */
	int64		last_point_us;	/* of it, by the monotonic clock */
	bool		is_passing_point;	/* the last one is too near to another */
	int64		passing_point_us;	/* then, when it was */
}			state;

/*
 * Which points stay when they lie "gap_us" apart at least?  Of some that are nearer to each other
 * the last one stays, too, where there is none for long behind it: it tells when something ended.
 * Returns how many these are; their numbers are in "kept".
 */
static int
choose_points(uint8 *kept, int64 gap_us)
{
	const PlhHistoryPoint *history = plh_profile->history;
	int			count = 0;

	for (int i = 0; i < PLH_HISTORY_POINTS; i++)
	{
		if (i > 0 && i < PLH_HISTORY_POINTS - 1 &&
			labs(history[i + 1].at - history[kept[count - 1]].at) <= gap_us)
			continue;
		kept[count++] = i;
	}
	return count;
}

/* Make room in a full history, without the points that are nearest to others. */
static void
thin_out_history(void)
{
	uint8		kept[PLH_HISTORY_POINTS];
	int			count;

	StaticAssertStmt(PLH_HISTORY_POINTS <= PG_UINT8_MAX, "numbers of points are bytes");
	do
	{
		state.gap_us *= 2;
		count = choose_points(kept, state.gap_us + state.gap_us / 8);
	} while (count > PLH_HISTORY_POINTS * 3 / 4);
	for (int i = 0; i < count; i++)
	{
		plh_profile->history[i] = plh_profile->history[kept[i]];
		plh_profile->history_passing_kb[i] = plh_profile->history_passing_kb[kept[i]];
	}
	plh_profile_courses_keep(kept, count);
	plh_profile->history_count = count;
}

/*
 * Does the last point of the history, which is too near to the one before it, give way to the
 * census of now?  It stays where there was none for long behind it, and it differs from that
 * before: then it tells when something ended.
 */
static bool
gives_way(uint32 count, int64 now_us)
{
	const PlhHistoryPoint *last = &plh_profile->history[count - 1];

	return now_us - state.passing_point_us < state.gap_us ||
		(labs(last->own_bytes - last[-1].own_bytes) < CHANGED_BYTES &&
		 labs(last->context_bytes - last[-1].context_bytes) < CHANGED_BYTES);
}

/*
 * The number of the point that a census becomes.  The last point is always the last census, and
 * gives way to the next one if it is too near to the one before it, by the monotonic clock: the
 * other, whose time is shown, may be set back.
 */
static uint32
next_point(int64 now_us)
{
	uint32		count = plh_profile->history_count;

	if (state.gap_us == 0)
		state.gap_us = HISTORY_GAP_US;
	if (state.is_passing_point && gives_way(count, now_us))
		count--;
	else if (state.is_passing_point)
		state.last_point_us = state.passing_point_us;
	if (count == PLH_HISTORY_POINTS)
	{
		thin_out_history();
		count = plh_profile->history_count;
	}
	state.is_passing_point = count > 0 && now_us - state.last_point_us < state.gap_us;
	if (state.is_passing_point)
		state.passing_point_us = now_us;
	else
		state.last_point_us = now_us;
	return count;
}

void
plh_census_history_add(TimestampTz now, int64 now_us, int64 live_bytes)
{
	uint32		count = next_point(now_us);

	Assert(count < PLH_HISTORY_POINTS);
	plh_profile->history_count = count;
	pg_write_barrier();
	plh_profile->history[count].at = now;
	plh_profile->history[count].live_bytes = live_bytes;
	plh_profile->history[count].context_bytes = plh_profile->context_bytes;
	plh_profile->history[count].malloc_bytes = plh_profile->malloc_bytes;
	plh_profile->history[count].malloc_free_bytes = plh_profile->malloc_free_bytes;
	plh_profile->history[count].own_bytes = plh_profile->own_bytes;
	plh_profile->history_passing_kb[count] = Min(plh_profile->passing_bytes / 1024, PG_UINT32_MAX);
	plh_profile_courses_add_point(count);
	pg_write_barrier();
	plh_profile->history_count = count + 1;
}

PLH_EVERY_PROCESS void
plh_census_history_forget(void)
{
	memset(&state, 0, sizeof(state));
	plh_profile_courses_forget();
}

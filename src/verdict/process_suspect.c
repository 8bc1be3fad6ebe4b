/*
 * process_suspect.c
 *	  What a process is suspect of as a whole: memory that no call site shows,
 *	  by the figures that it has counted over time.
 *
 * A course is judged as that of a site is: what was gained in the later half of
 * it, compared with the earlier one.  A course that begins where a process has
 * long been at rest has gained nothing in its earlier half, and is steady, too.
 *
 * The figures may be damaged ones.
 */
#include "postgres.h"

#include "datatype/timestamp.h"

#include "verdict/process_suspect.h"

/* A figure at some times: at first, in the middle, at three quarters, and now. */
typedef struct Course
{
	int64		first;
	int64		middle;
	int64		late;
	int64		now;
	TimestampTz first_at;
	TimestampTz middle_at;
	TimestampTz now_at;
	int			rises;			/* points with more than at the last rise */
} Course;

/* Less than this part of all growth may be chance, and is added to the next. */
#define RISE_PART 64

/* Figures beyond this are damaged; sums of some that are not can't overflow. */
#define BYTES_MAX (PG_INT64_MAX / 8)

static int64
sound(int64 bytes)
{
	return Max(0, Min(bytes, BYTES_MAX));
}

/* What malloc has given out to others than memory contexts. */
static int64
outside(const PlhHistoryPoint *point)
{
	double		contexts = sound(point->context_bytes);

	return Max(0, sound(point->malloc_bytes) -
			   (int64) (contexts * (1.0 + PLH_SUSPECT_BLOCK_PART)));
}

/* The process' own memory that malloc knows nothing of. */
static int64
mapped(const PlhProfileHeader *header, const PlhHistoryPoint *point)
{
	return Max(0, sound(point->own_bytes) - sound(point->malloc_bytes) -
			   sound(point->malloc_free_bytes) - sound(header->private_bytes));
}

/* The figure that a verdict goes by. */
static int64
figure(const PlhProfileHeader *header, const PlhHistoryPoint *point,
	   PlhVerdict verdict)
{
	return verdict == PLH_VERDICT_MALLOC ? outside(point) :
		mapped(header, point);
}

/* The figures of the last census, as a point of the history. */
static PlhHistoryPoint
last_point(const PlhProfileHeader *header)
{
	return (PlhHistoryPoint)
	{
		.at = header->census_at,
			.live_bytes = header->counters.live_bytes,
			.context_bytes = header->context_bytes,
			.malloc_bytes = header->malloc_bytes,
			.malloc_free_bytes = header->malloc_free_bytes,
			.own_bytes = header->own_bytes
	};
}

/* Follow a figure through the history. */
static void
follow(Course *course, const PlhProfileHeader *header, PlhVerdict verdict)
{
	uint32		count = Min(header->history_count, PLH_HISTORY_POINTS);
	PlhHistoryPoint now = last_point(header);
	const PlhHistoryPoint *points = header->history;
	int64		most;
	double		passed;

	memset(course, 0, sizeof(*course));
	if (count == 0)
		return;
	course->first_at = points[0].at;
	course->now_at = now.at;
	course->now = figure(header, &now, verdict);
	course->first = most = figure(header, &points[0], verdict);
	course->middle = course->late = course->first;
	course->middle_at = course->first_at;
	passed = (double) now.at - (double) points[0].at;
	for (uint32 i = 1; i <= count; i++)
	{
		const PlhHistoryPoint *point = i < count ? &points[i] : &now;
		int64		bytes = figure(header, point, verdict);
		double		since = (double) point->at - (double) points[0].at;

		if (bytes > most + (course->now - course->first) / RISE_PART)
		{
			course->rises++;
			most = bytes;
		}
		if (since <= passed / 2)
		{
			course->middle = bytes;
			course->middle_at = point->at;
		}
		if (since <= passed * 3 / 4)
			course->late = bytes;
	}
}

/* How steadily has it grown?  -1 if it has not. */
static double
steadiness(int64 first, int64 middle, int64 now, double early_us, double late_us)
{
	double		early_rate;
	double		late_rate;

	if (now <= middle || late_us <= 0)
		return -1.0;
	if (middle <= first || early_us <= 0)
		return 1.0;
	early_rate = ((double) middle - (double) first) / early_us;
	late_rate = ((double) now - (double) middle) / late_us;
	return late_rate / early_rate;
}

/* Fill in the rate at which so many bytes were gained in that time. */
static void
note_rate(PlhJudgement *judgement, int64 bytes, double passed_us)
{
	if (bytes <= 0 || passed_us < PLH_SUSPECT_LEAK_RATE_US)
		return;
	judgement->has_rate = true;
	judgement->bytes_per_hour =
		(int64) Min((double) bytes * USECS_PER_HOUR / passed_us,
					(double) BYTES_MAX);
}

/* Does a figure go on growing, from one census to the next? */
static bool
goes_on(PlhSuspectFacts *facts, PlhJudgement *judgement, const Course *course)
{
	double		late_us = (double) course->now_at - (double) course->middle_at;
	double		early_us = (double) course->middle_at - (double) course->first_at;

	facts->live_bytes = course->now;
	facts->growth_bytes = course->now - course->first;
	judgement->late_bytes = course->now - course->middle;
	judgement->steadiness = steadiness(course->first, course->middle,
									   course->now, early_us, late_us);
	judgement->has_steadiness = judgement->steadiness >= 0;
	judgement->score = Max(0.0, Min(1.0, judgement->steadiness));
	note_rate(judgement, judgement->late_bytes, late_us);
	return facts->growth_bytes >= PLH_SUSPECT_LARGE_BYTES &&
		course->rises >= PLH_SUSPECT_RISES &&
		course->late < course->now &&
		judgement->steadiness >= PLH_SUSPECT_STEADINESS;
}

/* Since when has malloc kept much, by all that was counted since? */
static TimestampTz
kept_since(const PlhProfileHeader *header)
{
	TimestampTz since = header->census_at;

	for (uint32 i = Min(header->history_count, PLH_HISTORY_POINTS); i > 0; i--)
	{
		const PlhHistoryPoint *point = &header->history[i - 1];

		if (point->malloc_free_bytes < PLH_SUSPECT_KEPT_BYTES)
			break;
		since = Min(since, point->at);
	}
	return since;
}

/* Does malloc keep much that was freed, and was not needed again? */
static bool
is_retained(PlhSuspectFacts *facts, PlhJudgement *judgement,
			const PlhProfileHeader *header, TimestampTz now)
{
	int64		kept = sound(header->malloc_free_bytes);

	facts->live_bytes = kept;
	judgement->score = kept / (1.0 + kept + sound(header->malloc_bytes));
	return kept >= PLH_SUSPECT_KEPT_BYTES &&
		(double) now - (double) kept_since(header) >= PLH_SUSPECT_KEPT_US;
}

/*
 * Judge a process as a whole: is it suspect of that?  live_bytes of the facts are
 * those that the verdict is about, growth_bytes what was gained since the
 * history began.  A process that has not counted itself again until "now" has been
 * at rest.
 */
bool
plh_process_suspect_judge(PlhSuspectFacts *facts, PlhJudgement *judgement,
						  const PlhProfileHeader *header, PlhVerdict verdict,
						  TimestampTz now)
{
	Course		course;
	bool		suspect;

	memset(facts, 0, sizeof(*facts));
	memset(judgement, 0, sizeof(*judgement));
	if (header->census_at == 0 || header->malloc_bytes < 0)
		return false;
	facts->counted_to = header->census_at;
	if (verdict == PLH_VERDICT_RETAINED)
		suspect = is_retained(facts, judgement, header, now);
	else
	{
		follow(&course, header, verdict);
		suspect = goes_on(facts, judgement, &course) &&
			(verdict != PLH_VERDICT_MAPPED ||
			 course.now >= PLH_SUSPECT_KEPT_BYTES);
		facts->baseline_at = course.first_at;
		facts->has_baseline = true;
	}
	if (suspect)
		judgement->verdict = verdict;
	return suspect;
}

/*
 * Do samples of malloc stand for more than it has given out outside of contexts?
 * Then it was not seen that some were freed, as by a library that calls another
 * free than the server's.
 */
bool
plh_process_suspect_misses_frees(const PlhProfileHeader *header)
{
	double		given_out = (double) header->malloc_bytes -
		(double) header->context_bytes;

	return header->census_at != 0 && header->malloc_bytes >= 0 &&
		(double) header->malloc_sampled_bytes -
		PLH_SUSPECT_MISSED_ERRORS * (double) header->malloc_sampled_error -
		PLH_SUSPECT_MISSED_BYTES > Max(0.0, given_out);
}

/* The youngest checkpoint in the first half of the contexts' time, or NULL. */
static const PlhContextCheckpoint *
early_checkpoint(const PlhContextRecord *context, TimestampTz now)
{
	double		life = (double) now - (double) context->first_at;

	for (int i = PLH_CHECKPOINTS - 1; i >= 0; i--)
	{
		const PlhContextCheckpoint *checkpoint = &context->checkpoints[i];

		if (checkpoint->at != 0 &&
			(double) checkpoint->at - (double) context->first_at <= life / 2)
			return checkpoint;
	}
	return NULL;
}

/*
 * Judge the contexts of one name, which nobody may have allocated anything in
 * that was sampled: do they go on becoming more?  The epochs of the facts are
 * numbers of contexts.
 */
bool
plh_process_suspect_contexts(PlhSuspectFacts *facts, PlhJudgement *judgement,
							 const PlhProfileHeader *header,
							 const PlhContextRecord *context)
{
	const PlhContextCheckpoint *early = early_checkpoint(context,
														 header->census_at);
	double		late_us;

	memset(facts, 0, sizeof(*facts));
	memset(judgement, 0, sizeof(*judgement));
	if (context->lifetime != PLH_LIFETIME_SESSION || early == NULL)
		return false;
	late_us = (double) header->census_at - (double) early->at;
	facts->live_bytes = sound(context->bytes);
	facts->epochs = sound(context->instances);
	facts->counted_to = header->census_at;
	judgement->late_epochs = sound(context->instances) - sound(early->instances);
	judgement->late_bytes = sound(context->bytes) - sound(early->bytes);
	judgement->steadiness =
		steadiness(0, sound(early->instances), sound(context->instances),
				   (double) early->at - (double) context->first_at, late_us);
	judgement->has_steadiness = judgement->steadiness >= 0;
	judgement->score = Max(0.0, Min(1.0, judgement->steadiness));
	note_rate(judgement, judgement->late_bytes, late_us);
	if (facts->live_bytes < PLH_SUSPECT_LARGE_BYTES ||
		judgement->late_epochs < PLH_SUSPECT_LATE_CONTEXTS ||
		context->rises < 2 * PLH_SUSPECT_RISES ||
		judgement->steadiness < PLH_SUSPECT_STEADINESS)
		return false;
	judgement->verdict = PLH_VERDICT_CONTEXTS;
	return true;
}

/*
 * process_suspect.c
 *	  What a process is suspect of by the figures that it has counted over time: its memory
 *	  contexts, by family, and as a whole what no call site shows.
 *
 * A trend is judged as a site is: what was gained in the later half of it, compared with the
 * earlier one.  One that begins where a process has long been at rest has gained nothing in its
 * earlier half, and is steady, too.
 *
 * The bytes of contexts are counted, so that there is no error.  What is known of a family tells
 * what growth means: PostgreSQL's own caches fill up, and are no leak.
 *
 * The figures may be damaged ones.
 */
#include "postgres.h"

#include "datatype/timestamp.h"

#include "judge/course.h"
#include "judge/kept_memory.h"
#include "judge/process_suspect.h"
#include "judge/proven_suspect.h"

/* The figure that a finding on a process goes by. */
PlhSeries
plh_process_suspect_series(PlhKind kind)
{
	switch (kind)
	{
		case PLH_KIND_MALLOC_GROWS:
		case PLH_KIND_MALLOC_REACHED:
			return PLH_SERIES_OUTSIDE;
		case PLH_KIND_MAPPED_GROWS:
			return PLH_SERIES_MAPPED;
		case PLH_KIND_OUTSIDE_GROWS:
			return PLH_SERIES_UNTOLD;
		default:
			return PLH_SERIES_LASTING;
	}
}

/* Fill in the rate of the later half, unless the figure has stopped growing. */
static void
note_rate(PlhFinding *finding, const PlhTrend *trend, TimestampTz now)
{
	double		bytes = (double) trend->risen - (double) trend->middle;
	double		passed_us = (double) trend->risen_at - (double) trend->middle_at;

	if (bytes <= 0 || passed_us < PLH_SUSPECT_RATE_US ||
		plh_suspect_has_stopped(trend->first_at, trend->risen_at, now))
		return;
	finding->rate = plh_suspect_rate(bytes, passed_us);
}

/*
 * Does a figure keep growing, from one census to the next, as long as its process works?  How much
 * it has gained is told of all the time until now.
 */
static bool
keeps_growing(PlhFinding *finding, const PlhTrend *trend, const PlhTrend *at_work, TimestampTz now)
{
	double		steadiness = plh_course_trend_steadiness(at_work);

	finding->bytes = trend->now;
	finding->growth_bytes = trend->now - trend->first;
	finding->late_bytes = trend->now - trend->middle;
	finding->score = Max(0.0, Min(1.0, steadiness));
	note_rate(finding, trend, now);
	return finding->growth_bytes >= PLH_SUSPECT_LARGE_BYTES &&
		trend->fall <= finding->growth_bytes * PLH_SUSPECT_FALL_PART &&
		(trend->points >= PLH_SUSPECT_EPOCHS ||
		 finding->growth_bytes >= PLH_SUSPECT_SURE_BYTES) &&
		trend->rises >= PLH_SUSPECT_RISES &&
		at_work->late < at_work->now && steadiness >= PLH_SUSPECT_STEADINESS;
}

/* Does it hold very much outside of contexts, which nothing limits, whether it grows or not? */
static bool
is_large(const PlhFinding *finding, const PlhTrend *trend)
{
	return plh_finding_is_outside(finding) &&
		finding->bytes >= PLH_SUSPECT_GIVEN_OUT_BYTES &&
		trend->fall <= finding->bytes * PLH_SUSPECT_FALL_PART;
}

/*
 * The bytes that a finding on malloc is about: what it has gained, or all that it has given out
 * where that is very much.
 */
int64
plh_process_suspect_malloc_bytes(const PlhFinding *finding)
{
	return finding->bytes >= PLH_SUSPECT_GIVEN_OUT_BYTES ? finding->bytes : finding->growth_bytes;
}

/* Does malloc keep much that was freed, and was not needed again? */
static bool
is_freed(PlhFinding *finding, const PlhProfileHeader *header, TimestampTz now)
{
	PlhKeptMemory kept = plh_kept_memory_find(header);

	finding->bytes = kept.bytes;
	finding->score = kept.bytes / (1.0 + kept.bytes + plh_course_sound(header->malloc_bytes));
	return kept.bytes >= PLH_SUSPECT_KEPT_BYTES &&
		(double) now - (double) kept.since >= PLH_SUSPECT_KEPT_US;
}

/* Are the figures counted that a kind of findings goes by? */
static bool
is_counted(const PlhProfileHeader *header, PlhKind kind)
{
	if (header->census_at == 0)
		return false;
	if (kind == PLH_KIND_OUTSIDE_GROWS)
		return header->malloc_bytes < 0;
	return header->malloc_bytes >= 0 || kind == PLH_KIND_PROCESS_GROWS;
}

/* Is what has grown more than is normal, where all that nobody knows counts? */
static bool
is_beyond_normal(const PlhFinding *finding)
{
	return (finding->kind != PLH_KIND_MAPPED_GROWS && finding->kind != PLH_KIND_OUTSIDE_GROWS) ||
		finding->bytes >= PLH_SUSPECT_KEPT_BYTES;
}

/*
 * Judge a process as a whole: is that a finding on it?  Its bytes are those that it is about,
 * growth_bytes what was gained since the history began.  A process that has not counted itself
 * again until "now" has been at rest.
 */
bool
plh_process_suspect_judge(PlhFinding *finding, const PlhProfileHeader *header,
						  PlhKind kind, TimestampTz now)
{
	PlhTrend	trend;
	PlhTrend	at_work;

	memset(finding, 0, sizeof(*finding));
	finding->kind = kind;
	if (!is_counted(header, kind))
		return false;
	finding->counted_at = header->census_at;
	if (kind == PLH_KIND_MALLOC_KEEPS)
		return is_freed(finding, header, now);
	plh_course_trend(&trend, header, plh_process_suspect_series(kind));
	plh_course_trend_at_work(&at_work, header, plh_process_suspect_series(kind));
	finding->baseline_at = trend.first_at;
	finding->has_baseline = true;
	return (keeps_growing(finding, &trend, &at_work, now) && is_beyond_normal(finding)) ||
		is_large(finding, &trend);
}

/*
 * Fill in what is proven of malloc's blocks.  Returns whether the kind of the finding fits that:
 * where much of them can be reached, they may be a cache that fills, until they are many.
 */
bool
plh_process_suspect_fits_proof(PlhFinding *finding, const PlhProfileImage *image)
{
	if (finding->kind != PLH_KIND_MALLOC_GROWS && finding->kind != PLH_KIND_MALLOC_REACHED)
		return true;
	plh_proven_collect_malloc(&finding->process.proven, image);
	return (finding->kind == PLH_KIND_MALLOC_REACHED) ==
		plh_proven_suspect_is_reached(&finding->process.proven, finding->bytes);
}

/*
 * Do samples of malloc stand for more than it has given out outside of contexts?  Then it was not
 * seen that some were freed, as by a library that calls another free than the server's.
 */
bool
plh_process_suspect_misses_frees(const PlhProfileHeader *header)
{
	double		given_out = (double) header->malloc_bytes - (double) header->context_bytes;

	return header->census_at != 0 && header->malloc_bytes >= 0 &&
		(double) header->malloc_sampled_bytes -
		PLH_SUSPECT_MISSED_ERRORS * (double) header->malloc_sampled_error -
		PLH_SUSPECT_MISSED_BYTES > Max(0.0, given_out);
}

/* Is the family of that kind?  One of an unknown name is of none. */
static bool
is_of_kind(const PlhFamilyAccount *family, PlhFamilyKind kind)
{
	return family->family != NULL && family->family->kind == kind;
}

/* How steadily the number of contexts has grown; negative: it has not. */
static double
steadiness_of(const PlhFamilyAccount *family, TimestampTz worked_at)
{
	return plh_course_steadiness(0, family->early_contexts, family->contexts,
								 (double) family->early_at - (double) family->first_at,
								 (double) worked_at - (double) family->early_at);
}

/*
 * Have contexts of the same kind stopped growing, all together?  When those of one family did is
 * not known, but these did no later.
 */
static bool
have_all_stopped(const PlhFamilyAccount *family, const PlhProfileHeader *header, TimestampTz now)
{
	PlhTrend	trend;

	plh_course_trend(&trend, header, family->lasting ? PLH_SERIES_LASTING : PLH_SERIES_PASSING);
	return trend.points > 0 && plh_suspect_has_stopped(trend.first_at, trend.risen_at, now);
}

/* Note the rate at which they have grown since the middle of their time, while they do. */
static void
note_family_rate(PlhFinding *finding, const PlhFamilyAccount *family,
				 const PlhProfileHeader *header, TimestampTz now)
{
	TimestampTz worked_at = plh_profile_image_worked_at(header);
	double		late_us = (double) worked_at - (double) family->early_at;

	if (finding->late_bytes <= 0 || late_us < PLH_SUSPECT_RATE_US ||
		family->bytes <= family->late_bytes ||
		plh_suspect_has_stopped(family->first_at, worked_at, now) ||
		have_all_stopped(family, header, now))
		return;
	finding->rate = plh_suspect_rate(finding->late_bytes, late_us);
}

/* Is the family one of plans and functions, of which large applications have many? */
static bool
is_of_code(const PlhFamilyAccount *family)
{
	return is_of_kind(family, PLH_FAMILY_PLANS) || is_of_kind(family, PLH_FAMILY_FUNCTIONS);
}

/* Does the number of contexts keep growing, in the last quarter of their time, too? */
static bool
become_more(const PlhFamilyAccount *family, TimestampTz worked_at)
{
	int64		late_contexts = family->contexts - family->early_contexts;

	if (is_of_code(family) && family->bytes < PLH_SUSPECT_CODE_BYTES)
		return false;
	return late_contexts >= PLH_SUSPECT_LATE_CONTEXTS &&
		family->contexts - family->late_contexts >= late_contexts / 8 &&
		family->rises >= PLH_SUSPECT_CONTEXT_RISES &&
		steadiness_of(family, worked_at) >= PLH_SUSPECT_STEADINESS;
}

/*
 * Has a family come to rest?  It has gained next to nothing in the last quarter of its time, or the
 * process has long been idle.
 */
bool
plh_process_suspect_family_rests(const PlhFamilyAccount *family, const PlhProfileHeader *header,
								 TimestampTz now)
{
	int64		gained = family->bytes - family->late_bytes;

	return gained <= Max(PLH_COURSE_NOISE_BYTES, (int64) (family->bytes * PLH_COURSE_NOISE_PART)) ||
		have_all_stopped(family, header, now);
}

/* Does a cache, which may be one context, keep growing? */
static bool
cache_grows(const PlhFamilyAccount *family, TimestampTz worked_at)
{
	return family->bytes - family->early_bytes >= PLH_SUSPECT_LARGE_BYTES / 4 &&
		plh_course_steadiness(0, family->early_bytes, family->bytes,
							  (double) family->early_at - (double) family->first_at,
							  (double) worked_at - (double) family->early_at) >=
		PLH_SUSPECT_STEADINESS;
}

/*
 * Are there many contexts that nobody frees?  A cursor that is held may be wanted.  All locks are
 * in one context, whose bytes were looked at.
 */
static bool
are_held(const PlhFamilyAccount *family)
{
	if (is_of_kind(family, PLH_FAMILY_ROWS))
		return family->contexts >= PLH_SUSPECT_MANY_CURSORS;
	if (is_of_kind(family, PLH_FAMILY_LOCKS))
		return true;
	return is_of_code(family) ? family->bytes >= PLH_SUSPECT_MANY_BYTES :
		family->contexts >= PLH_SUSPECT_MANY_CONTEXTS;
}

/* Are contexts without a limit numerous, and most of what the statement holds? */
static bool
are_most_of_statement(const PlhFamilyAccount *family, const PlhAccount *account)
{
	return family->contexts >= PLH_SUSPECT_MANY_CONTEXTS &&
		!is_of_kind(family, PLH_FAMILY_NODES) && family->bytes >= account->passing_bytes / 2;
}

/*
 * Does decoding hold more than it may?  Its setting limits the changes of transactions, but not
 * what it knows of each transaction and subtransaction.
 */
static bool
is_beyond_decoding(const PlhFamilyAccount *family, const PlhProfileHeader *header)
{
	bool		is_limited = strcmp(family->largest_name, "Tuples") == 0 ||
		strcmp(family->largest_name, "Change") == 0;

	return !is_limited || family->bytes > header->decoding_bytes + PLH_SUSPECT_LARGE_BYTES;
}

/* Are they large, or so many that they are worth a word? */
static bool
are_worth_a_word(const PlhFamilyAccount *family)
{
	return family->bytes >= PLH_SUSPECT_LARGE_BYTES ||
		(family->lasting && !is_of_kind(family, PLH_FAMILY_CACHE) &&
		 family->contexts >= PLH_SUSPECT_VERY_MANY_CONTEXTS);
}

/* Of what kind a finding on the contexts is.  Returns false where it is none. */
static bool
find_kind(PlhKind *kind, const PlhFamilyAccount *family, const PlhAccount *account,
		  const PlhProfileHeader *header)
{
	*kind = PLH_KIND_CONTEXTS_GROW;
	if (!are_worth_a_word(family))
		return false;
	if (is_of_kind(family, PLH_FAMILY_DECODING))
	{
		*kind = PLH_KIND_DECODING;
		return is_beyond_decoding(family, header);
	}
	if (!family->lasting)
		return are_most_of_statement(family, account);
	if (is_of_kind(family, PLH_FAMILY_CACHE))
	{
		*kind = PLH_KIND_CACHE_GROWS;
		return cache_grows(family, plh_profile_image_worked_at(header));
	}
	if (become_more(family, plh_profile_image_worked_at(header)))
		return true;
	*kind = PLH_KIND_CONTEXTS_HOLD;
	return are_held(family);
}

bool
plh_process_suspect_judge_family(PlhFinding *finding, const PlhFamilyAccount *family,
								 const PlhAccount *account,
								 const PlhProfileHeader *header, TimestampTz now)
{
	memset(finding, 0, sizeof(*finding));
	finding->bytes = family->bytes;
	finding->counted_at = header->census_at;
	finding->growth_bytes = finding->late_bytes = family->bytes - family->early_bytes;
	finding->score = Max(0.0, Min(1.0, steadiness_of(family, plh_profile_image_worked_at(header))));
	finding->context = family->largest;
	finding->contexts.family = family;
	finding->contexts.late_contexts = family->contexts - family->early_contexts;
	if (!find_kind(&finding->kind, family, account, header))
		return false;
	/* what they hold was counted, and is no question of growth */
	if (finding->kind == PLH_KIND_CONTEXTS_HOLD || finding->kind == PLH_KIND_DECODING ||
		!family->lasting)
		finding->score = 1.0;
	note_family_rate(finding, family, header, now);
	return true;
}

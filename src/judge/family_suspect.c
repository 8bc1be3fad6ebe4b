/*
 * family_suspect.c
 *	  What the memory contexts of a family are suspect of: that their number keeps growing, or
 *	  is large.
 *
 * Their bytes are counted, so that there is no error.  What is known of the family tells what
 * growth means: PostgreSQL's own caches fill up, and are no leak.
 */
#include "postgres.h"

#include "datatype/timestamp.h"

#include "judge/course.h"
#include "judge/family_suspect.h"

/* Is the family of that kind?  One of an unknown name is of none. */
static bool
is_of_kind(const PlhFamilyAccount *family, PlhFamilyKind kind)
{
	return family->family != NULL && family->family->kind == kind;
}

/* How steadily the number of contexts has grown; negative: it has not. */
static double
steadiness_of(const PlhFamilyAccount *family, TimestampTz counted_at)
{
	return plh_course_steadiness(0, family->early_contexts, family->contexts,
								 (double) family->early_at - (double) family->first_at,
								 (double) counted_at - (double) family->early_at);
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
note_rate(PlhFinding *finding, const PlhFamilyAccount *family,
		  const PlhProfileHeader *header, TimestampTz now)
{
	double		late_us = (double) header->census_at - (double) family->early_at;

	if (finding->late_bytes <= 0 || late_us < PLH_SUSPECT_LEAK_RATE_US ||
		family->bytes <= family->late_bytes ||
		plh_suspect_has_stopped(family->first_at, header->census_at, now) ||
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
become_more(const PlhFamilyAccount *family, TimestampTz counted_at)
{
	int64		late_contexts = family->contexts - family->early_contexts;

	if (is_of_code(family) && family->bytes < PLH_SUSPECT_CODE_BYTES)
		return false;
	return late_contexts >= PLH_SUSPECT_LATE_CONTEXTS &&
		family->contexts - family->late_contexts >= late_contexts / 8 &&
		family->rises >= PLH_SUSPECT_CONTEXT_RISES &&
		steadiness_of(family, counted_at) >= PLH_SUSPECT_STEADINESS;
}

/* Does a cache, which may be one context, keep growing? */
static bool
cache_grows(const PlhFamilyAccount *family, TimestampTz counted_at)
{
	return family->bytes - family->early_bytes >= PLH_SUSPECT_LARGE_BYTES / 4 &&
		plh_course_steadiness(0, family->early_bytes, family->bytes,
							  (double) family->early_at - (double) family->first_at,
							  (double) counted_at - (double) family->early_at) >=
		PLH_SUSPECT_STEADINESS;
}

/* Are there many contexts that nobody frees?  A cursor that is held may be wanted. */
static bool
are_held(const PlhFamilyAccount *family)
{
	if (is_of_kind(family, PLH_FAMILY_ROWS))
		return family->contexts >= PLH_SUSPECT_MANY_CURSORS;
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

	return !is_limited || family->bytes > header->maintenance_bytes + PLH_SUSPECT_LARGE_BYTES;
}

/* Of what kind a finding on the contexts is.  Returns false where it is none. */
static bool
find_kind(PlhKind *kind, const PlhFamilyAccount *family, const PlhAccount *account,
		  const PlhProfileHeader *header)
{
	*kind = PLH_KIND_CONTEXTS_GROW;
	if (family->bytes < PLH_SUSPECT_LARGE_BYTES)
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
		return cache_grows(family, header->census_at);
	}
	if (become_more(family, header->census_at))
		return true;
	*kind = PLH_KIND_CONTEXTS_HOLD;
	return are_held(family);
}

/*
 * Judge the contexts of a family, in which nobody may have allocated anything that was sampled.
 */
bool
plh_family_suspect_judge(PlhFinding *finding, const PlhFamilyAccount *family,
						 const PlhAccount *account,
						 const PlhProfileHeader *header, TimestampTz now)
{
	memset(finding, 0, sizeof(*finding));
	finding->bytes = family->bytes;
	finding->counted_at = header->census_at;
	finding->growth_bytes = finding->late_bytes = family->bytes - family->early_bytes;
	finding->score = Max(0.0, Min(1.0, steadiness_of(family, header->census_at)));
	finding->context = family->largest;
	finding->contexts.family = family;
	finding->contexts.late_contexts = family->contexts - family->early_contexts;
	if (!find_kind(&finding->kind, family, account, header))
		return false;
	note_rate(finding, family, header, now);
	return true;
}

/*
 * site_facts.h
 *	  What an image says of one call site, and of when it allocated what it holds.
 *
 * Reports, pictures, dumps and checks start from these facts, so that they say the same of a site.
 * Callable inside palloc: nothing is allocated, and the pointers lead into the image.
 */
#pragma once

#include "profile/baseline.h"
#include "profile/profile_image.h"

typedef struct PlhSiteFacts
{
	const PlhSiteRecord *site;
	const PlhCounters *counters;	/* the site's own */
	const PlhStringRecord *context; /* its name; NULL for the catch-all site */
	const char *lifetime;		/* NULL for the catch-all site */
	const PlhStatementRecord *statement;	/* NULL where none was running */
	const PlhStackRecord *stack;	/* NULL where there is none */
	int64		error_bytes;	/* 95% bound of the live bytes */
	int64		peak_bytes;		/* live when the process held most */
	bool		has_baseline;	/* the next two are known */
	int64		baseline_bytes; /* live at the baseline */
	int64		baseline_count;
} PlhSiteFacts;

/* What a site, over all statements, holds of a finding, of a peak, or of a plan's node. */
typedef struct PlhShare
{
	const PlhSiteRecord *site;
	int64		bytes;
} PlhShare;

/* qsort comparator: the largest first. */
static inline int
plh_site_facts_compare_shares(const void *a, const void *b)
{
	const PlhShare *left = a;
	const PlhShare *right = b;

	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return left->site < right->site ? -1 : left->site > right->site;
}

/* What chunks take beyond what was asked for is told from these bytes and this part on. */
#define PLH_ROUNDED_BYTES INT64CONST(1048576)
#define PLH_ROUNDED_PART 0.25

static inline bool
plh_site_facts_is_rounded(int64 bytes, int64 spare_bytes)
{
	return spare_bytes >= PLH_ROUNDED_BYTES && spare_bytes >= bytes * PLH_ROUNDED_PART;
}

extern void plh_site_facts_resolve(PlhSiteFacts *facts, const PlhProfileImage *image,
								   const PlhSiteRecord *site, const PlhBaseline *baseline);
extern bool plh_site_facts_next(PlhSiteFacts *facts, const PlhProfileImage *image,
								const PlhBaseline *baseline, uint32 *position);
extern void plh_site_facts_sum(PlhCounters *sums, const PlhCounters *counters);

/* What a site allocated from one time up to another. */
typedef struct PlhSiteAge
{
	TimestampTz from;
	TimestampTz until;
	int64		live_bytes;		/* of total_bytes, what was not freed */
	int64		total_bytes;	/* never 0 */
	int64		error_bytes;	/* 95% bound of live_bytes, as if the site's
								 * chunks were of about the same size */
} PlhSiteAge;

/*
 * Do the spans of a site add up to what it holds?  "spans" is the record that it refers to; NULL if
 * there is none, or it can't be had.
 */
extern bool plh_site_facts_ages_add_up(const PlhSiteRecord *site, const PlhSpansRecord *spans);

/*
 * Fills in the ages of a site, the oldest first, and returns their number; 0 where they are not
 * known.  The figures were true at "now".
 */
extern int	plh_site_facts_ages(PlhSiteAge ages[PLH_SPANS], const PlhProfileImage *image,
								const PlhSiteRecord *site, TimestampTz now);

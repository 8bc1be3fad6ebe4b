/*
 * finding.h
 *	  A finding on a process: facts, and no words.
 *
 * findings.h says how the findings of a process are made, and telling/ what is said of them.
 */
#pragma once

#include "judge/account.h"
#include "judge/proven.h"
#include "judge/statement_limit.h"
#include "judge/verdict.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"

/* The most sites of a statement that are told apart; some may be of one function. */
#define PLH_SHARES 12

/*
 * A finding on a statement or on contexts is named after a call site that has this part of it: one
 * that has less explains nothing.
 */
#define PLH_NAMED_PART 0.15

/* What is known of one call site, or of several that are added up. */
typedef struct PlhSitesFound
{
	bool		is_malloc;		/* they call malloc */
	bool		is_over;		/* the transactions that had samples */
	int			sites;			/* that hold something */
	int			statements;		/* of these sites */
	int64		live_count;		/* chunks */
	int64		live_bytes;		/* by samples, which counts may contradict */
	int64		left_bytes;		/* the same, and no more than was counted */
	int64		left_error;		/* 95% bound of live_bytes */
	int64		total_bytes;	/* allocated there, freed or not */
	int64		spare_bytes;	/* what their chunks take beyond these */
	int64		transactions;	/* in which there were samples */
	int64		epochs;			/* the same; of a long one, seconds */
	int64		age_epochs;		/* from the first sample to now, inclusive */
	int64		early_epochs;	/* from there to the early checkpoint */
	int64		early_bytes;	/* held at that checkpoint */
	TimestampTz early_at;		/* when that was; 0 = not known */
	int64		late_epochs;	/* from there to now */
	TimestampTz last_at;		/* of the last sample; 0 = not known */
	PlhProven	proven;			/* of live_bytes */
	int			part_count;		/* of the largest below, where several call
								 * sites have one cause; else 0 */
	int			places;			/* how many call sites these are */
	PlhShare	parts[PLH_SHARES];	/* over all statements */
} PlhSitesFound;

/* What is known of memory contexts of a family. */
typedef struct PlhContextsFound
{
	const PlhFamilyAccount *family;
	int64		late_contexts;	/* more than in the middle of their time */
	bool		is_scattered;	/* no site has much of their samples */
	const PlhFamilyAccount *output; /* of decoding: what it writes to, where
									 * that is much, too; else NULL */
	int64		kept_bytes;		/* of decoding: what sites have for it that
								 * the session keeps */
	int64		value_bytes;	/* of decoding: a value or row; 0: none is
								 * large */
} PlhContextsFound;

/* What is known of a statement, or of all of a transaction. */
typedef struct PlhStatementFound
{
	int64		counted_bytes;	/* of all bytes; 0 = not known */
	PlhLimitKind limit;			/* the setting that limits its largest site */
	int64		limit_bytes;	/* that it may hold and be no suspect */
	int64		nodes;			/* those of the plan that have a limit */
	int64		node_bytes;		/* that these hold */
	int64		unlimited_bytes;	/* of the largest family without a limit */
	const PlhFamilyAccount *part;	/* contexts that hold much of it, of a
									 * kind that no work_mem limits; or NULL */
	int			share_count;	/* of its largest sites */
	PlhShare	shares[PLH_SHARES];
} PlhStatementFound;

/* What is known of a process as a whole. */
typedef struct PlhProcessFound
{
	PlhProven	proven;			/* of what malloc has given out */
} PlhProcessFound;

typedef struct PlhFinding
{
	PlhKind		kind;
	int64		bytes;			/* that it is about */
	int64		error_bytes;	/* 95% bound of these; 0: they were counted */
	TimestampTz counted_at;		/* when the figures were true */
	bool		has_baseline;
	int64		growth_bytes;	/* since the baseline, or all history */
	TimestampTz baseline_at;	/* 0 = not known */
	int64		late_bytes;		/* gained since the middle of its time;
								 * negative where more was freed */
	PlhRate		rate;
	double		score;			/* 0 to 1 */
	const PlhSiteRecord *site;	/* of several, that which holds most; of
								 * contexts, one in them; or NULL */
	const PlhContextRecord *context;	/* of contexts, and of what a
										 * statement holds, those of the name
										 * that has most; else NULL */
	union						/* by the subject of the kind */
	{
		PlhSitesFound sites;
		PlhContextsFound contexts;
		PlhStatementFound statement;
		PlhProcessFound process;
	};
} PlhFinding;

/* What a call site is part of. */
typedef struct PlhSiteOrigin
{
	uint32		function;		/* the same number, from 1 on, of sites of a
								 * statement at which one function allocates
								 * for itself; 0: none is known that does */
	bool		is_unlimited;	/* no setting limits what is allocated there */
	bool		is_decoding;	/* it is for changes that are decoded */
} PlhSiteOrigin;

/*
 * Who knows which functions sites have in their stacks.  "find" gives sites of one cause the same
 * number, from 1 on, and 0 to those of which it knows none.  "fills_cache" tells whether the server
 * fills a cache of its own at a site.
 */
typedef struct PlhCauses
{
	void		(*find) (void *arg, const PlhShare *sites, int count, uint32 *causes);
	void		(*find_origins) (void *arg, const PlhShare *sites, int count,
								 PlhSiteOrigin *origins);
	bool		(*fills_cache) (void *arg, const PlhSiteRecord *site);
	void	   *arg;
} PlhCauses;

typedef struct PlhFindings
{
	int			count;
	PlhFinding *list;			/* the largest first */
	PlhAccount *account;		/* of the memory contexts and the rest */
	int64		begun_bytes;	/* held by sites of which a proof would tell
								 * something new */
} PlhFindings;

static inline PlhVerdict
plh_finding_verdict(const PlhFinding *finding)
{
	return plh_verdict_of(finding->kind);
}

static inline PlhSubject
plh_finding_subject(const PlhFinding *finding)
{
	return plh_verdict_subject(finding->kind);
}

/* The contexts that it is about; NULL where it is about something else. */
static inline const PlhFamilyAccount *
plh_finding_family(const PlhFinding *finding)
{
	return plh_finding_subject(finding) == PLH_SUBJECT_CONTEXTS ? finding->contexts.family : NULL;
}

/* Is it about what a process has outside of contexts, of which no call site is known? */
static inline bool
plh_finding_is_outside(const PlhFinding *finding)
{
	return finding->kind == PLH_KIND_MALLOC_GROWS || finding->kind == PLH_KIND_MALLOC_REACHED ||
		finding->kind == PLH_KIND_MAPPED_GROWS || finding->kind == PLH_KIND_OUTSIDE_GROWS;
}

/* Is it about memory to which nothing points, at call sites? */
static inline bool
plh_finding_is_lost(const PlhFinding *finding)
{
	return finding->kind == PLH_KIND_SITE_LOST || finding->kind == PLH_KIND_MALLOC_SITE_LOST;
}

/* Is it about call sites that go on holding more? */
static inline bool
plh_finding_leaks(const PlhFinding *finding)
{
	return finding->kind == PLH_KIND_SITE_LEAKS || finding->kind == PLH_KIND_MALLOC_SITE_LEAKS;
}

/*
 * suspect.h
 *	  Tells a leak from a cache, by the figures of a call site.
 *
 * A leak keeps holding more, transaction after transaction; a cache fills up.  So what a site held
 * at a checkpoint in the first half of its life is compared with what it has added since.  Where
 * there is no such checkpoint, only the growth since a baseline is left to judge by, and says less.
 *
 * Pure functions: they allocate nothing, never throw, and call nothing of the server.  Whatever the
 * figures are, torn and damaged ones included, the score is between 0 and 1, and no figure of a
 * judgement is infinite.
 */
#pragma once

#include "judge/proven.h"
#include "judge/verdict.h"
#include "profile/profile_layout.h"

/* The thresholds of the verdicts.  Nothing else in the project knows them. */

/*
 * A leak has had samples in this many epochs.  A session makes its caches in its first few
 * transactions, and the checkpoints 1, 2 and 4 epochs after the first sample all lie in the first
 * half of so long a life.
 */
#define PLH_SUSPECT_EPOCHS 8

/* Less than this is no leak at any interval: each process fills some caches when it begins. */
#define PLH_SUSPECT_FLOOR_BYTES INT64CONST(131072)

/* Less than this is no growth since a baseline: a session that works fills caches. */
#define PLH_SUSPECT_GROWTH_BYTES INT64CONST(1048576)

/*
 * What is held is known where its error is this part of it at most: of small chunks that takes some
 * 16 samples, of one of 512 MB a single one.
 */
#define PLH_SUSPECT_ERROR_PART 0.5

/*
 * A site of fewer samples than these, which are exact, may be one buffer that is larger now and
 * smaller then.
 */
#define PLH_SUSPECT_EXACT_SAMPLES 16

/*
 * What a leak held at its early checkpoint is beyond its standard deviation by this factor: of
 * small chunks that takes 4 samples.  The rate up to there is what the later one is divided by.
 */
#define PLH_SUSPECT_EARLY_SIGMAS 2.0

/*
 * The same of what a leak has gained since: a cache that was all but full at the checkpoint gains a
 * few samples by chance.
 */
#define PLH_SUSPECT_GAIN_SIGMAS 2.8

/*
 * Where much of what a site allocates is freed, the number of its live samples goes up and down by
 * chance.  A leak has gained this many standard deviations of that, which chance reaches once in
 * 700 times.
 */
#define PLH_SUSPECT_LATE_SIGMAS 3.0

/*
 * A leak has grown since the checkpoint at this part of the rate before, at least.  A cache that is
 * filled at random, and was 60% full halfway, has kept growing at just that rate, and later grows
 * at a lower one.  A limit nearer to 1 would miss leaks whose few samples came early by chance.
 */
#define PLH_SUSPECT_STEADINESS 0.4

/*
 * Memory that falls by more than this part of its growth, and grows again, is used again: by a
 * queue that is emptied, or by a library that frees in steps.  Of a site it is a part of what it
 * holds, as what falls is all that the session keeps.
 */
#define PLH_SUSPECT_FALL_PART 0.25
#define PLH_SUSPECT_SITE_FALL_PART 0.5

/* Where less than this part of what a site allocated is there, it may be such memory. */
#define PLH_SUSPECT_USED_AGAIN_PART 0.67

/*
 * Of a process that was counted this often, a second apart at first, it is known whether what it
 * keeps falls; of a large buffer sooner, as it is there in each count.
 */
#define PLH_SUSPECT_COUNTS 16
#define PLH_SUSPECT_BUFFER_COUNTS 3

/*
 * What has not changed for this long, and for this part of the time in which it came to be, is not
 * being used again.
 */
#define PLH_SUSPECT_REST_US INT64CONST(5000000)
#define PLH_SUSPECT_REST_PART 0.5

/* What a few transactions have left, and can be reached, may be part of what still fills. */
#define PLH_SUSPECT_REACHED_REST_PART 1.0

/*
 * Growth since a baseline exceeds the error of what is held by this factor: what was held at the
 * baseline is an estimate with an error of its own, and of many sites some are always beyond a
 * bound of 95%.
 */
#define PLH_SUSPECT_GROWTH_ERRORS 2.0

/* The score of growth is this at most: whether it is steady is not known. */
#define PLH_SUSPECT_GROWTH_SCORE 0.5

/*
 * Growth that was seen for less than this has no rate: it may be of one moment, which says nothing
 * of an hour.
 */
#define PLH_SUSPECT_RATE_US INT64CONST(60000000)

/*
 * Memory is worth a word from this size on, whatever holds it and whoever is to blame: several
 * sites together, a statement that runs, one that is over, malloc.
 */
#define PLH_SUSPECT_LARGE_BYTES INT64CONST(33554432)

/*
 * A statement may hold what its settings allow to each node of its plan, and a node may be this
 * many times beyond that: two nodes may run through the same code.
 */
#define PLH_SUSPECT_QUERY_LIMITS 2.0

/*
 * A statement that holds this many times what a node may hold is large, even if each node is within
 * its limit: the number of its nodes is a cause by itself.
 */
#define PLH_SUSPECT_MANY_LIMITS 16.0

/* One function, at all of its call sites, or one value is a cause by itself from this size on. */
#define PLH_SUSPECT_FUNCTION_BYTES INT64CONST(16777216)

/*
 * What fewer transactions than these have allocated is no cache that all fill, and none that can be
 * told from a leak by its course.
 */
#define PLH_SUSPECT_HELD_TRANSACTIONS 8

/*
 * What has become more in fewer censuses than these may have done so at once: one that comes by
 * chance in the middle of a statement shows what that is about to free.
 */
#define PLH_SUSPECT_RISES 4

/*
 * Contexts keep becoming more if this many censuses have seen a rise, and there are this many more
 * than halfway.
 */
#define PLH_SUSPECT_CONTEXT_RISES 6
#define PLH_SUSPECT_LATE_CONTEXTS 32

/*
 * So many contexts of one kind are a cause by themselves, whether they become more or not, and very
 * many also where they are small.  Of those that a session makes on purpose, such as prepared
 * statements, it takes as much memory, too.
 */
#define PLH_SUSPECT_MANY_CONTEXTS 1024
#define PLH_SUSPECT_VERY_MANY_CONTEXTS 16384
#define PLH_SUSPECT_MANY_BYTES INT64CONST(134217728)

/*
 * Plans and compiled functions become more until a session has used all that its application has:
 * from this size on that is worth a word.
 */
#define PLH_SUSPECT_CODE_BYTES INT64CONST(50331648)

/*
 * Less than this that a process has gained as a whole is judged when it was counted eight times:
 * what a compiler takes for a moment it gives back in steps.  And what no setting limits, such as
 * the parse trees of a statement, is large from this size on.
 */
#define PLH_SUSPECT_SURE_BYTES INT64CONST(67108864)

/*
 * No setting limits what malloc gives out outside of contexts, or others map: from this size on
 * that is worth a word, whether it keeps growing or not.
 */
#define PLH_SUSPECT_GIVEN_OUT_BYTES INT64CONST(134217728)

/* So many cursors WITH HOLD at a time are forgotten, and not wanted. */
#define PLH_SUSPECT_MANY_CURSORS 16

/* What malloc keeps, or what others have mapped, is normal below this size. */
#define PLH_SUSPECT_KEPT_BYTES INT64CONST(67108864)

/*
 * What malloc has kept for as long as this, it has kept for nothing: a statement that runs frees
 * memory which it takes again, between two of its steps, and so do large statements that follow one
 * another.
 */
#define PLH_SUSPECT_KEPT_US INT64CONST(60000000)

/*
 * Call sites of malloc that leak are the answer to its growth outside of contexts where they hold
 * this part of it; else there is more to be found.
 */
#define PLH_SUSPECT_EXPLAINED_PART 0.5

/* About how many bytes a block of malloc takes beyond what was asked for. */
#define PLH_SUSPECT_MALLOC_ADDS 16

/*
 * If samples of malloc stand for more than malloc itself has given out, the rest was freed unseen.
 * It must exceed this many times its error, and this many bytes: the two are not counted at one
 * instant, and a bound of 95% is exceeded now and then.
 */
#define PLH_SUSPECT_MISSED_ERRORS 2.0
#define PLH_SUSPECT_MISSED_BYTES INT64CONST(1048576)

/*
 * What is lost is known where its error is this part of it at most: of small chunks that takes
 * eight samples, half of what a leak takes.  Where less is known, it may be next to nothing.
 */
#define PLH_SUSPECT_LOST_ERROR_PART 1.0

/*
 * Growth of which this part can be reached may be a cache that fills, or a queue.  From a size on
 * that few caches have, its course says more than that.
 */
#define PLH_SUSPECT_REACHED_PART 0.25
#define PLH_SUSPECT_REACHED_BYTES INT64CONST(134217728)

/*
 * What had samples in this many epochs, half of those of a leak, may be about to become a suspect,
 * and is worth a proof; and again once it is this many times as large as what was proven.
 */
#define PLH_SUSPECT_BEGUN_EPOCHS 4
#define PLH_SUSPECT_PROVEN_TIMES 4.0

/* The facts that the verdict on a site is based on, or on several that are added up. */
typedef struct PlhSuspectFacts
{
	int64		live_bytes;
	int64		live_count;
	int64		total_bytes;
	int64		spare_bytes;	/* what their chunks take beyond these */
	int64		live_samples;
	double		live_variance;	/* of live_bytes, in bytes squared */
	bool		has_baseline;
	int64		growth_bytes;	/* of live_bytes since the baseline */
	TimestampTz baseline_at;	/* 0 = not known */
	int64		fall_bytes;		/* by which what the process keeps has fallen */
	int64		counts;			/* of the process */
	bool		counted_early;	/* at the early checkpoint, too */
	int64		epochs;			/* of a site: those that had samples */
	int64		age_epochs;		/* from the first sample to now, inclusive */
	int64		transactions;	/* in which there were samples */
	bool		is_session;		/* nobody frees it by itself */
	bool		is_malloc;		/* of call sites of malloc */
	bool		is_over;		/* the transactions that had samples */
	int64		limit_bytes;	/* what a statement may hold there */
	PlhCheckpoint early;		/* in the first half of life; epochs 0 = none */
	int			sites;			/* that hold something; a single site counts
								 * in any case */
	int			statements;		/* of these sites */
	TimestampTz first_at;		/* of the first sample; 0 = not known */
	TimestampTz last_at;		/* of the last sample; 0 = not known */
	TimestampTz active_to;		/* when the process is known to have worked */
	TimestampTz counted_to;		/* when the figures were true */
	PlhProven	proven;			/* what a proof tells of live_bytes */
} PlhSuspectFacts;

/* What a verdict on sites rests on. */
typedef enum PlhBasis
{
	PLH_BY_FIGURES,				/* their course, as far as it is known */
	PLH_BY_LOSS,				/* a proof of what is lost, alone */
	PLH_BY_REACH				/* both: it grows as a leak does, but can be
								 * reached */
} PlhBasis;

typedef struct PlhJudgement
{
	PlhVerdict	verdict;
	PlhBasis	basis;			/* what it rests on */
	double		score;			/* 0 to 1; 0 without a verdict */
	int64		bytes;			/* that it is about; 0 without a verdict */
	int64		error_bytes;	/* 95% bound of these */
	int64		late_bytes;		/* gained since the early checkpoint, 0 */
	int64		late_samples;	/* without one; negative where more was */
	int64		late_epochs;	/* freed */
	bool		has_steadiness;
	double		steadiness;		/* late rate per early rate, at least 0 */
	PlhRate		rate;
} PlhJudgement;

extern PlhRate plh_suspect_rate(double bytes, double passed_us);
extern int64 plh_suspect_age(const PlhProfileHeader *header, const PlhSiteRecord *site);
extern const PlhCheckpoint *plh_suspect_early_checkpoint(const PlhSiteRecord *site,
														 int64 age_epochs);
extern void plh_suspect_collect(PlhSuspectFacts *facts, const PlhProfileHeader *header,
								const PlhSiteRecord *site);
extern void plh_suspect_subtract_baseline(PlhSuspectFacts *facts, int64 baseline_bytes);
extern void plh_suspect_pool(PlhSuspectFacts *sum, const PlhSuspectFacts *facts);
extern void plh_suspect_pool_early(PlhSuspectFacts *sum, const PlhSiteRecord *site,
								   const PlhSuspectFacts *facts);
extern PlhJudgement plh_suspect_judge(const PlhSuspectFacts *facts);
extern bool plh_suspect_leaks(const PlhSuspectFacts *facts, const PlhJudgement *judgement);
extern bool plh_suspect_rests(const PlhSuspectFacts *facts, double part);
extern bool plh_suspect_has_stopped(TimestampTz since, TimestampTz grown_at, TimestampTz now);

/*
 * suspect.h
 *	  Tells a leak from a cache, by the figures of a call site.
 *
 * A leak goes on holding more, transaction after transaction; a cache fills
 * up.  So what a site held at a checkpoint in the first half of its life is
 * compared with what it has added since.  Where there is no such checkpoint,
 * only the growth since a baseline is left to judge by, and says less.
 *
 * Pure functions: they allocate nothing, never throw, and call nothing of the
 * server.  Whatever the figures are, torn and damaged ones included, the score
 * is between 0 and 1, and no figure of a judgement is infinite.
 */
#ifndef PLH_SUSPECT_H
#define PLH_SUSPECT_H

#include "profile/profile_layout.h"

/*
 * The thresholds of the verdicts.  Nothing else in the project knows them.
 */

/*
 * A leak has had samples in this many epochs.  A session makes its caches in
 * its first few transactions, and the checkpoints 1, 2 and 4 epochs after the
 * first sample all lie in the first half of so long a life.
 */
#define PLH_SUSPECT_EPOCHS 8

/*
 * Any suspect has this many live samples: the standard error of what it holds
 * is then about a quarter of that.
 */
#define PLH_SUSPECT_SAMPLES 16

/*
 * Of fewer samples, those of large chunks say as much: what a statement holds, or has
 * left, is known where its error is this part of it at most.
 */
#define PLH_SUSPECT_ERROR_PART 0.25

/*
 * A leak had this many live samples at its early checkpoint.  The rate up to
 * there is what the later one is divided by, and with fewer samples it may be
 * anything.
 */
#define PLH_SUSPECT_EARLY_SAMPLES 4

/*
 * A leak has gained this many live samples since: a cache that was all but
 * full at the checkpoint gains a few by chance.
 */
#define PLH_SUSPECT_LATE_SAMPLES 8

/*
 * Where much of what a site allocates is freed, the number of its live samples
 * goes up and down by chance.  A leak has gained this many standard deviations
 * of that, which chance reaches once in 700 times.
 */
#define PLH_SUSPECT_LATE_SIGMAS 3.0

/*
 * A leak has grown since the checkpoint at this part of the rate before, at
 * least.  A cache that is filled at random, and was 60% full halfway, has gone
 * on at just that rate, and later goes on at a lower one.  A limit nearer to 1
 * would miss leaks whose few samples came early by chance.
 */
#define PLH_SUSPECT_STEADINESS 0.4

/*
 * The score of a leak tends to its steadiness as its live samples become many
 * times this number.
 */
#define PLH_SUSPECT_SCORE_SAMPLES 20.0

/*
 * Growth since a baseline exceeds the error of what is held by this factor:
 * what was held at the baseline is an estimate with an error of its own, and
 * of many sites some are always beyond a bound of 95%.
 */
#define PLH_SUSPECT_GROWTH_ERRORS 2.0

/*
 * The score of growth is this at most: whether it is steady is not known.
 */
#define PLH_SUSPECT_GROWTH_SCORE 0.5

/*
 * Times shorter than these give no rate.  The clock of samples goes in steps
 * of up to 10 ms.  A leak has proved that it goes on, so that its time need be
 * long by that clock only; growth may be all of one moment, and an average is
 * not worth showing before a minute has passed.
 */
#define PLH_SUSPECT_LEAK_RATE_US INT64CONST(100000)
#define PLH_SUSPECT_GROWTH_RATE_US INT64CONST(60000000)

/*
 * Memory is worth a word from this size on, whatever holds it and whoever is to
 * blame: several sites together, a statement that runs, one that is over, malloc.
 */
#define PLH_SUSPECT_LARGE_BYTES INT64CONST(33554432)

/*
 * A statement may hold what its settings allow to each node of its plan; a site
 * in it, this many times that: two nodes may run through the same code.
 */
#define PLH_SUSPECT_QUERY_LIMITS 2.0

/*
 * A statement that takes too much has gone on so in the later half of its time,
 * at this part of the rate before.
 */
#define PLH_SUSPECT_QUERY_STEADINESS 0.1

/*
 * What fewer transactions than these have allocated is no cache that all fill,
 * and none that can be told from a leak by its course.
 */
#define PLH_SUSPECT_HELD_TRANSACTIONS 8

/*
 * What has become more in fewer censuses than these may have done so at once:
 * one that comes by chance in the middle of a statement shows what that is about
 * to free.
 */
#define PLH_SUSPECT_RISES 4

/*
 * Of contexts this many more are there than at the checkpoint.
 */
#define PLH_SUSPECT_LATE_CONTEXTS 32

/*
 * Blocks of contexts take this part more of malloc than they say: its own header,
 * and what is rounded up.
 */
#define PLH_SUSPECT_BLOCK_PART 0.02

/*
 * What malloc keeps, or what others have mapped, is normal below this size.
 */
#define PLH_SUSPECT_KEPT_BYTES INT64CONST(67108864)

/*
 * What malloc has kept for as long as this, it has kept for nothing: a statement
 * that runs frees memory which it takes again at once, between two of its steps.
 */
#define PLH_SUSPECT_KEPT_US INT64CONST(5000000)

/*
 * Call sites of malloc that leak are the answer to its growth outside of contexts
 * where they hold this part of it; else there is more to be found.
 */
#define PLH_SUSPECT_EXPLAINED_PART 0.5

/* A block of malloc takes about so many bytes more than were asked for. */
#define PLH_SUSPECT_MALLOC_ADDS 16

/*
 * What samples of malloc stand for beyond what malloc itself has given out was
 * freed unseen, from so many times its error on, and so many bytes: the two are
 * not counted at one instant, and a bound of 95% is exceeded now and then.
 */
#define PLH_SUSPECT_MISSED_ERRORS 2.0
#define PLH_SUSPECT_MISSED_BYTES INT64CONST(1048576)

/* The verdicts, those that say most last. */
typedef enum PlhVerdict
{
	PLH_VERDICT_NONE,
	PLH_VERDICT_GROWING,		/* more than at the baseline: leak or cache */
	PLH_VERDICT_RETAINED,		/* freed, and kept by malloc */
	PLH_VERDICT_MAPPED,			/* neither contexts' nor malloc's, and grows */
	PLH_VERDICT_MALLOC,			/* malloc outside of contexts goes on growing:
								 * a leak of a call site, or all of it */
	PLH_VERDICT_CONTEXTS,		/* contexts go on becoming more */
	PLH_VERDICT_HELD,			/* kept by a few transactions that are over */
	PLH_VERDICT_QUERY,			/* a statement that runs takes too much */
	PLH_VERDICT_LEAK			/* goes on holding more */
#define PLH_VERDICTS (PLH_VERDICT_LEAK + 1)
} PlhVerdict;

/* The facts that a verdict is based on, of one site or of several added up. */
typedef struct PlhSuspectFacts
{
	int64		live_bytes;
	int64		live_count;
	int64		total_bytes;
	int64		live_samples;
	double		live_variance;	/* of live_bytes, in bytes squared */
	bool		has_baseline;
	int64		growth_bytes;	/* of live_bytes since the baseline */
	TimestampTz baseline_at;	/* 0 = not known */
	int64		epochs;			/* in which there were samples */
	int64		age_epochs;		/* from the first sample to now, inclusive */
	int64		transactions;	/* in which there were samples */
	bool		is_session;		/* nobody frees it by itself */
	bool		is_malloc;		/* of call sites of malloc */
	bool		is_over;		/* the transactions in which there were
								 * samples */
	int64		limit_bytes;	/* what a statement may hold there */
	PlhCheckpoint early;		/* of the first half of its life; epochs 0 =
								 * none */
	int			statements;		/* that hold something; a single site counts
								 * as 1 */
	TimestampTz counted_to;		/* when the figures were true */
} PlhSuspectFacts;

typedef struct PlhJudgement
{
	PlhVerdict	verdict;
	double		score;			/* 0 to 1; 0 without a verdict */
	int64		error_bytes;	/* 95% bound of live_bytes; 0 without a
								 * verdict */
	int64		late_bytes;		/* gained since the early checkpoint, 0 */
	int64		late_samples;	/* without one; negative where more was */
	int64		late_epochs;	/* freed */
	bool		has_steadiness;
	double		steadiness;		/* late rate per early rate, at least 0 */
	bool		has_rate;
	int64		bytes_per_hour; /* positive */
} PlhJudgement;

extern int64 plh_suspect_age(const PlhProfileHeader *header,
							 const PlhSiteRecord *site);
extern const PlhCheckpoint *plh_suspect_early_checkpoint(const PlhSiteRecord *site,
														 int64 age_epochs);
extern void plh_suspect_collect(PlhSuspectFacts *facts,
								const PlhProfileHeader *header,
								const PlhSiteRecord *site);
extern void plh_suspect_subtract_baseline(PlhSuspectFacts *facts,
										  int64 baseline_bytes);
extern void plh_suspect_pool(PlhSuspectFacts *sum,
							 const PlhSuspectFacts *facts);
extern void plh_suspect_pool_early(PlhSuspectFacts *sum,
								   const PlhSiteRecord *site,
								   const PlhSuspectFacts *facts);
extern PlhJudgement plh_suspect_judge(const PlhSuspectFacts *facts);
extern bool plh_suspect_leaks(const PlhSuspectFacts *facts,
							  const PlhJudgement *judgement);
extern const char *plh_suspect_verdict_name(PlhVerdict verdict);

#endif							/* PLH_SUSPECT_H */

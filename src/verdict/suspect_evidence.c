/*
 * suspect_evidence.c
 *	  Why a site or a process is a suspect, and what to do next, in a few
 *	  sentences.
 */
#include "postgres.h"

#include "datatype/timestamp.h"

#include "base/settings.h"
#include "report/size_text.h"
#include "verdict/suspect_evidence.h"

/*
 * In how many statements, where it is not one.  Those of which nothing was sampled
 * are not known.
 */
static const char *
in_statements(const PlhSuspectFacts *facts)
{
	if (facts->statements <= 1)
		return "";
	return psprintf(" in at least %d statements", facts->statements);
}

/* What was gained on average in each of so many epochs. */
static const char *
per_epoch(int64 bytes, int64 epochs)
{
	return plh_size_text(bytes / Max(epochs, 1));
}

static char *
evidence_of_leak(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	return psprintf("Of %s allocated there%s it keeps %s (+/- %s), and goes on: %s per transaction in the last "
					INT64_FORMAT ", %s in the %u before (of a long transaction, each second counts as one).",
					plh_size_text(facts->total_bytes), in_statements(facts),
					plh_size_text(facts->live_bytes),
					plh_size_text(judgement->error_bytes),
					per_epoch(judgement->late_bytes, judgement->late_epochs),
					judgement->late_epochs,
					per_epoch(facts->early.live_bytes, facts->early.epochs),
					facts->early.epochs);
}

/* Why growth is not called a leak. */
static const char *
doubt_about_growth(const PlhSuspectFacts *facts)
{
	if (facts->statements > 1)
		return psprintf("each of %d statements has too few",
						facts->statements);
	return "too little has happened since its first allocation";
}

static char *
evidence_of_growth(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	return psprintf("It holds %s (+/- %s), %s more than at the baseline, from "
					INT64_FORMAT " samples; %s to tell a leak from a cache.",
					plh_size_text(facts->live_bytes),
					plh_size_text(judgement->error_bytes),
					plh_size_text(facts->growth_bytes),
					facts->live_samples, doubt_about_growth(facts));
}

static char *
evidence_of_query(const PlhSuspectFacts *facts, const PlhJudgement *judgement,
				  bool alive)
{
	return psprintf("The statement or transaction that %s %s (+/- %s), %s of it since the middle of its time;"
					" its settings, such as work_mem and hash_mem_multiplier, %s %s to each node of its plan.%s",
					alive ? "runs holds" : "ran held",
					plh_size_text(facts->live_bytes),
					plh_size_text(judgement->error_bytes),
					plh_size_text(judgement->late_bytes),
					alive ? "allow" : "allowed",
					plh_size_text(facts->limit_bytes),
					alive ? " It is freed when that ends." : "");
}

static char *
evidence_of_held(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	return psprintf(INT64_FORMAT " transaction%s over left %s (+/- %s) of %s allocated there%s."
					" It stays until the session ends, unless what allocated it frees it.",
					facts->transactions,
					facts->transactions == 1 ? " that is" : "s that are",
					plh_size_text(facts->live_bytes),
					plh_size_text(judgement->error_bytes),
					plh_size_text(facts->total_bytes), in_statements(facts));
}

static char *
evidence_of_contexts(const PlhSuspectFacts *facts,
					 const PlhJudgement *judgement)
{
	return psprintf("There were " INT64_FORMAT " contexts of that name when they were last counted, " INT64_FORMAT
					" more than at a time in the first half of theirs; they took %s, %s more than then.",
					facts->epochs, judgement->late_epochs,
					plh_size_text(facts->live_bytes),
					plh_size_text(judgement->late_bytes));
}

/* The course of a figure of the process. */
static const char *
course_text(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	int64		seconds = (facts->counted_to - facts->baseline_at) / USECS_PER_SEC;

	return psprintf("%s more than " INT64_FORMAT " s before, %s of it in the later half of that time",
					plh_size_text(facts->growth_bytes), Max(seconds, 0),
					plh_size_text(judgement->late_bytes));
}

/* How much of what malloc has given out was sampled, where that is not most. */
static const char *
sampled_text(const PlhProfileHeader *header)
{
	if (!header->malloc_tracked)
		return "";
	return psprintf(" %s (+/- %s) of that are known by call site; threads that are not sampled have allocated %s in all.",
					plh_size_text(header->malloc_sampled_bytes),
					plh_size_text(header->malloc_sampled_error),
					plh_size_text(header->malloc_other_bytes));
}

static char *
evidence_of_malloc(const PlhSuspectFacts *facts, const PlhJudgement *judgement,
				   const PlhProfileHeader *header)
{
	return psprintf("malloc has given out %s outside of memory contexts, %s.%s",
					plh_size_text(facts->live_bytes),
					course_text(facts, judgement), sampled_text(header));
}

static char *
evidence_of_mapped(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	return psprintf("%s of the process' own memory are neither in memory contexts nor malloc's, %s.",
					plh_size_text(facts->live_bytes),
					course_text(facts, judgement));
}

static char *
evidence_of_retained(const PlhSuspectFacts *facts,
					 const PlhProfileHeader *header)
{
	return psprintf("malloc keeps %s that were freed, besides %s that are in use."
					" The kernel gets them back when the session ends.",
					plh_size_text(facts->live_bytes),
					plh_size_text(header->malloc_bytes));
}

/*
 * The evidence of a verdict on the process of an image, in the current memory
 * context; NULL without a verdict.
 */
char *
plh_suspect_evidence(const PlhSuspectFacts *facts,
					 const PlhJudgement *judgement,
					 const PlhProfileImage *image)
{
	if (plh_suspect_leaks(facts, judgement))
		return evidence_of_leak(facts, judgement);
	switch (judgement->verdict)
	{
		case PLH_VERDICT_QUERY:
			return evidence_of_query(facts, judgement, image->alive);
		case PLH_VERDICT_HELD:
			return evidence_of_held(facts, judgement);
		case PLH_VERDICT_CONTEXTS:
			return evidence_of_contexts(facts, judgement);
		case PLH_VERDICT_MALLOC:
			return evidence_of_malloc(facts, judgement, image->header);
		case PLH_VERDICT_MAPPED:
			return evidence_of_mapped(facts, judgement);
		case PLH_VERDICT_RETAINED:
			return evidence_of_retained(facts, image->header);
		case PLH_VERDICT_GROWING:
			return evidence_of_growth(facts, judgement);
		case PLH_VERDICT_LEAK:
		case PLH_VERDICT_NONE:
			break;
	}
	return NULL;
}

/*
 * How to get to know who calls malloc, as words that end a sentence; NULL where that
 * is known.
 */
const char *
plh_suspect_evidence_malloc_hint(const PlhProfileHeader *header)
{
	if (header->malloc_tracked)
		return NULL;
	return plh_track_malloc ?
		"start the server with pg_leakhunt_malloc.so preloaded, and the call sites are known" :
		"turn pg_leakhunt.track_malloc on, and the call sites are known";
}

/* What to do about malloc's growth that no site explains. */
static const char *
next_of_malloc(const PlhProfileHeader *header)
{
	const char *hint = plh_suspect_evidence_malloc_hint(header);
	const char *next = "see which of these libraries the session's functions use, and let such sessions end now and then";

	return hint == NULL ? psprintf("%s.", next) : psprintf("%s; %s.", next, hint);
}

/*
 * What to do about a verdict on the process of an image, in a sentence; NULL without
 * a verdict.
 */
const char *
plh_suspect_evidence_next(const PlhSuspectFacts *facts,
						  const PlhJudgement *judgement,
						  const PlhProfileImage *image)
{
	if (plh_suspect_leaks(facts, judgement))
		return "report the site to who wrote it, and let such sessions end now and then until it is mended.";
	switch (judgement->verdict)
	{
		case PLH_VERDICT_QUERY:
			return "EXPLAIN the statement; no work_mem limits what a function, an aggregate or a trigger keeps.";
		case PLH_VERDICT_HELD:
			return "end the session, if it is not to use that again.";
		case PLH_VERDICT_CONTEXTS:
			return "look for what makes them and never ends it, such as statements that are prepared and not deallocated.";
		case PLH_VERDICT_MALLOC:
			return next_of_malloc(image->header);
		case PLH_VERDICT_MAPPED:
			return "look at what maps memory by itself, such as Python's objects and JIT compilers.";
		case PLH_VERDICT_RETAINED:
			return "end the session, or start the server with MALLOC_TRIM_THRESHOLD_=131072 in its environment, which makes glibc give memory back where nothing lies above it.";
		case PLH_VERDICT_GROWING:
			return "look again later: a leak goes on, a cache does not.";
		case PLH_VERDICT_LEAK:
		case PLH_VERDICT_NONE:
			break;
	}
	return NULL;
}

/*
 * suspect_evidence.c
 *	  Why a site or a process is a suspect, in a few sentences.
 *
 * Each sentence is true by itself, and of a process that is gone in the past tense.
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"

#include "base/plural.h"
#include "judge/course.h"
#include "judge/process_kind.h"
#include "judge/unwritten.h"
#include "report/context_examples.h"
#include "report/words.h"
#include "telling/share_text.h"
#include "telling/statement_evidence.h"
#include "telling/suspect_evidence.h"

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

/* Was most of what was allocated freed, as of what is enlarged again and again? */
static bool
is_enlarged(const PlhSuspectFacts *facts)
{
	return facts->total_bytes / 4 > facts->live_bytes;
}

/* When it last grew, or that it grows now. */
static const char *
growth_text(const PlhSuspectFacts *facts)
{
	const char *what = is_enlarged(facts) ? "What is held" : "and it";

	if (facts->last_at != 0 && facts->counted_to - facts->last_at >= USECS_PER_SEC)
		return psprintf("%s kept growing until %s", what, plh_words_time(facts->last_at));
	return psprintf("%s %s growing", what, facts->is_alive ? "keeps" : "kept");
}

/*
 * What was gained in each epoch: of a long transaction, each second is one, and of a
 * process without transactions, too.
 */
static const char *
rates_text(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	int64		late_bytes = judgement->late_bytes / Max(judgement->late_epochs, 1);
	int64		early_bytes = facts->early.live_bytes / Max(facts->early.epochs, 1);

	return psprintf("Averaged over the last " INT64_FORMAT " %s, it grew by %s in each; over the %u before, by %s.%s%s",
					judgement->late_epochs,
					plh_plural(judgement->late_epochs, "transaction", "transactions"),
					plh_words_size(late_bytes), facts->early.epochs,
					plh_words_size(early_bytes),
					facts->epochs > facts->transactions ?
					" Of a long transaction, each second counts as one." : "",
					facts->age_epochs <= facts->epochs ? "" :
					" This counts all transactions of the process, also those that allocated nothing here.");
}

/* A sentence on what had not been written to; "" where that is nothing. */
static const char *
unwritten_text(const PlhSuspectFacts *facts, const PlhProfileHeader *header)
{
	const char *part = plh_unwritten_part(facts, header);

	return part == NULL ? "" :
		psprintf(" At the last count %s of it had not been written to, so it took less memory than that.",
				 part);
}

/* What is left, as it is, and of how much; what is enlarged is allocated anew each time. */
static const char *
left_text(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	const char *bytes = plh_words_estimate(facts->live_bytes, judgement->error_bytes);
	const char *total = plh_words_size(facts->total_bytes);

	if (is_enlarged(facts))
		return psprintf("%s %s held; the rest of the %s allocated here over time%s %s freed", bytes,
						facts->is_alive ? "is still" : "was still", total,
						in_statements(facts), facts->is_alive ? "was" : "had been");
	return psprintf("%s of the %s allocated here%s %s not been freed", bytes, total,
					in_statements(facts), facts->is_alive ? "has" : "had");
}

static char *
evidence_of_leak(const PlhSuspectFacts *facts, const PlhJudgement *judgement,
				 const PlhProfileHeader *header)
{
	return psprintf("%s%s %s.%s %s", left_text(facts, judgement),
					is_enlarged(facts) ? "." : ",", growth_text(facts),
					unwritten_text(facts, header), rates_text(facts, judgement));
}

/* Why growth is not called a leak. */
static const char *
doubt_about_growth(const PlhSuspectFacts *facts)
{
	if (facts->statements > 1)
		return psprintf("Each of %d statements has too little of it to tell a leak from a cache.",
						facts->statements);
	if (facts->sites > 1)
		return psprintf("Each of the %d lines of SQL functions that lead there has too little of it to tell a leak from a cache.",
						facts->sites);
	return "Too little has happened since its first allocation to tell a leak from a cache.";
}

static char *
evidence_of_growth(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	return psprintf("It %s %s, %s more than at the baseline. %s",
					facts->is_alive ? "holds" : "held",
					plh_words_estimate(facts->live_bytes, judgement->error_bytes),
					plh_words_size(facts->growth_bytes),
					doubt_about_growth(facts));
}

static char *
evidence_of_held(const PlhSuspectFacts *facts, const PlhJudgement *judgement,
				 const PlhProfileImage *image)
{
	const char *noun = plh_process_kind_noun(image);
	const char *size = plh_words_estimate(facts->live_bytes, judgement->error_bytes);

	if (!facts->is_over)
		return psprintf("The %s transaction %s %s allocated here, in memory that lives as long as the %s."
						" It is not freed when the statement ends.%s",
						facts->is_alive ? "running" : "last",
						facts->is_alive ? "holds" : "held", size, noun,
						unwritten_text(facts, image->header));
	return psprintf(INT64_FORMAT " finished %s left %s of the %s allocated here%s.%s%s",
					facts->transactions,
					plh_plural(facts->transactions, "transaction", "transactions"),
					size, plh_words_size(facts->total_bytes), in_statements(facts),
					!facts->is_alive ? "" :
					psprintf(" It stays until the %s ends, unless the code that allocated it frees it.",
							 noun),
					unwritten_text(facts, image->header));
}

/* "12,345 contexts named X" or "12,345 contexts for prepared statements". */
static const char *
contexts_text(const PlhSuspect *suspect, const PlhProfileImage *image)
{
	const PlhFamily *family = suspect->family->family;
	const char *noun = plh_plural(suspect->facts.contexts, "context", "contexts");

	if (family == NULL)
		return psprintf(INT64_FORMAT " %s named \"%s\"", suspect->facts.contexts,
						noun, plh_account_name(suspect->family, image));
	return psprintf(INT64_FORMAT " %s for %s", suspect->facts.contexts, noun,
					family->title);
}

/* What is known of a family. */
static const char *
family_text(const PlhSuspect *suspect, const PlhProfileImage *image)
{
	const PlhFamily *family = suspect->family->family;

	if (family != NULL)
		return psprintf("%s %s", family->what, family->bound);
	return psprintf("They stay until the %s ends, unless the code that created them deletes them.",
					suspect->facts.is_session ? plh_process_kind_noun(image) : "statement or transaction");
}

/*
 * A sentence on contexts that are mostly free space; "" where that is not known.  All
 * other contexts may be free, too.
 */
static const char *
emptiness_text(const PlhSuspect *suspect, const PlhProfileHeader *header)
{
	int64		others = header->context_bytes - suspect->facts.live_bytes;

	if (header->context_free_bytes - Max(0, others) < suspect->facts.live_bytes / 2)
		return "";
	return " Most of that is free space inside them, which no other context can use.";
}

static char *
evidence_of_contexts(const PlhSuspect *suspect, const PlhProfileImage *image)
{
	const PlhSuspectFacts *facts = &suspect->facts;
	const PlhJudgement *judgement = &suspect->judgement;
	const char *more = "";

	if (judgement->late_contexts >= PLH_SUSPECT_LATE_CONTEXTS)
		more = psprintf(" Of these, " INT64_FORMAT " contexts and %s were added after %s.",
						judgement->late_contexts,
						plh_words_size(judgement->late_bytes),
						plh_words_time(suspect->family->early_at));
	return psprintf("At the last count %s held %s.%s%s%s %s",
					contexts_text(suspect, image),
					plh_words_size(facts->live_bytes), more,
					plh_context_examples_sentence(suspect->family->exemplified, image),
					emptiness_text(suspect, image->header),
					family_text(suspect, image));
}

/* That a family has all but stopped growing; "" where it has not. */
static const char *
rest_text(const PlhFamilyAccount *family)
{
	int64		gained = family->bytes - family->late_bytes;

	if (family->late_at <= family->early_at ||
		gained > Max(PLH_COURSE_NOISE_BYTES,
					 (int64) (family->bytes * PLH_COURSE_NOISE_PART)))
		return "";
	return psprintf(" They had hardly grown since %s.", plh_words_time(family->late_at));
}

static char *
evidence_of_cache(const PlhSuspect *suspect, const PlhProfileImage *image)
{
	return psprintf("At the last count %s held %s, of which %s was added after %s.%s%s This is no leak. %s",
					suspect->family->family->title,
					plh_words_size(suspect->facts.live_bytes),
					plh_words_size(suspect->judgement.late_bytes),
					plh_words_time(suspect->family->early_at),
					rest_text(suspect->family),
					plh_context_examples_sentence(suspect->family->exemplified, image),
					family_text(suspect, image));
}

/* The course of a figure of the process. */
static const char *
course_text(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	return psprintf("%s more than %s earlier. %s of that came in the second half of this time",
					plh_words_size(facts->growth_bytes),
					plh_words_span(facts->baseline_at, facts->counted_to),
					judgement->late_bytes >= facts->growth_bytes ? "All" :
					plh_words_size(judgement->late_bytes));
}

/* The families that hold most of what lasts, as a sentence; "" where none has much. */
static const char *
parts_text(const PlhSuspectList *list, const PlhProfileImage *image)
{
	const PlhAccount *account = list->account;
	StringInfoData text;
	int			told = 0;

	initStringInfo(&text);
	for (int i = 0; i < account->family_count && told < PLH_TOLD_SHARES; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (family->lasting &&
			family->bytes * 100 >= PLH_LEAST_PERCENT * account->lasting_bytes)
			appendStringInfo(&text, "%s%s %s",
							 told++ == 0 ? " Its largest parts: " : ", ",
							 plh_words_size(family->bytes),
							 plh_account_title(family, image));
	}
	if (told > 0)
		appendStringInfoChar(&text, '.');
	return text.data;
}

static char *
evidence_of_process_growth(const PlhSuspect *suspect, const PlhSuspectList *list,
						   const PlhProfileImage *image)
{
	return psprintf("What this %s keeps beyond statements was %s at the last count, %s."
					" No single cause explains most of it.%s",
					plh_process_kind_noun(image), plh_words_size(suspect->facts.live_bytes),
					course_text(&suspect->facts, &suspect->judgement),
					parts_text(list, image));
}

/* How much of what malloc has given out was sampled, where that is not most. */
static const char *
sampled_text(const PlhProfileHeader *header)
{
	if (!header->malloc_tracked)
		return "";
	return psprintf(" The call sites of %s of it are known. Threads that are not sampled have allocated %s in all.",
					plh_words_estimate(header->malloc_sampled_bytes, header->malloc_sampled_error),
					plh_words_size(header->malloc_other_bytes));
}

static char *
evidence_of_malloc(const PlhSuspectFacts *facts, const PlhJudgement *judgement,
				   const PlhProfileHeader *header)
{
	return psprintf("malloc had given out %s outside of memory contexts at the last count, %s.%s%s",
					plh_words_size(facts->live_bytes),
					course_text(facts, judgement), unwritten_text(facts, header),
					sampled_text(header));
}

static char *
evidence_of_mapped(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	return psprintf("At the last count %s of this process belonged neither to memory contexts nor to malloc, %s.",
					plh_words_size(facts->live_bytes),
					course_text(facts, judgement));
}

static char *
evidence_of_freed(const PlhSuspectFacts *facts, const PlhProfileImage *image)
{
	return psprintf("malloc %s %s that was freed, besides %s in use.%s",
					facts->is_alive ? "keeps" : "kept",
					plh_words_size(facts->live_bytes),
					plh_words_size(image->header->malloc_bytes),
					!facts->is_alive ? "" :
					psprintf(" The kernel gets it back when the %s ends.",
							 plh_process_kind_noun(image)));
}

/* The evidence of a verdict about memory contexts of a family. */
static char *
evidence_of_family(const PlhSuspect *suspect, const PlhProfileImage *image)
{
	return suspect->judgement.verdict == PLH_VERDICT_GROWING ?
		evidence_of_cache(suspect, image) : evidence_of_contexts(suspect, image);
}

/*
 * The evidence of a verdict on the process of an image, in the current memory
 * context.
 */
char *
plh_suspect_evidence(const PlhSuspect *suspect, const PlhSuspectList *list,
					 const PlhProfileImage *image, PlhStackTexts *texts)
{
	const PlhSuspectFacts *facts = &suspect->facts;
	const PlhJudgement *judgement = &suspect->judgement;

	if (suspect->family != NULL)
		return evidence_of_family(suspect, image);
	if (plh_suspect_leaks(facts, judgement))
		return evidence_of_leak(facts, judgement, image->header);
	switch (judgement->verdict)
	{
		case PLH_VERDICT_QUERY:
			return plh_statement_evidence(suspect, list->account, image, texts);
		case PLH_VERDICT_HELD:
			return evidence_of_held(facts, judgement, image);
		case PLH_VERDICT_MALLOC:
			return evidence_of_malloc(facts, judgement, image->header);
		case PLH_VERDICT_MAPPED:
			return evidence_of_mapped(facts, judgement);
		case PLH_VERDICT_FREED:
			return evidence_of_freed(facts, image);
		case PLH_VERDICT_GROWING:
			return facts->subject == PLH_SUBJECT_PROCESS ?
				evidence_of_process_growth(suspect, list, image) :
				evidence_of_growth(facts, judgement);
		case PLH_VERDICT_CONTEXTS:
		case PLH_VERDICT_LEAK:
		case PLH_VERDICT_NONE:
			break;
	}
	return pstrdup("");
}

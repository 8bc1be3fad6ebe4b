/*
 * finding_evidence.c
 *	  Why something is a finding, in a few sentences.
 *
 * statement_evidence.c has those on statements.
 */
#include "postgres.h"

#include "datatype/timestamp.h"

#include "judge/course.h"
#include "judge/process_kind.h"
#include "judge/suspect.h"
#include "judge/unwritten.h"
#include "report/words.h"
#include "telling/context_sentence.h"
#include "telling/finding_evidence.h"
#include "telling/function_shares.h"
#include "telling/statement_evidence.h"

/* Was most of what was allocated freed, as of what is enlarged again and again? */
static bool
is_enlarged(const PlhFinding *finding)
{
	return finding->sites.total_bytes / 4 > finding->bytes;
}

/* Did the sites last grow a while ago? */
static bool
has_stopped(const PlhFinding *finding)
{
	TimestampTz last_at = finding->sites.last_at;

	return last_at != 0 && finding->counted_at - last_at >= USECS_PER_SEC;
}

/*
 * What is left, and of how much; what is enlarged is allocated anew each time.  Statements of which
 * nothing was sampled are not known.
 */
static void
say_left(PlhSaid *said, const PlhFinding *finding, bool alive)
{
	const PlhFields fields = {
		.bytes = plh_words_estimate(finding->bytes, finding->error_bytes),
		.total = plh_words_size(finding->sites.total_bytes),
		.count = Max(finding->sites.statements, 1),
		.since = plh_words_time(finding->sites.last_at)
	};

	if (is_enlarged(finding))
	{
		plh_sentences_say(said, PLH_SAYS_enlarged, alive, &fields);
		plh_sentences_say(said, has_stopped(finding) ? PLH_SAYS_enlarged_until :
						  PLH_SAYS_enlarged_grows, alive, &fields);
	}
	else
		plh_sentences_say(said, has_stopped(finding) ? PLH_SAYS_left_until : PLH_SAYS_left,
						  alive, &fields);
}

/* What of it takes no memory, where that is much. */
static void
say_unwritten(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	switch (plh_unwritten_of(finding, image->header))
	{
		case PLH_UNWRITTEN_MOST:
			PLH_SAY(said, image->alive, most_unwritten);
			break;
		case PLH_UNWRITTEN_PART:
			PLH_SAY(said, image->alive, part_unwritten);
			break;
		case PLH_UNWRITTEN_LITTLE:
			break;
	}
}

/*
 * What was gained in each epoch: of a long transaction, each second is one, and of a process
 * without transactions, too.
 */
static void
say_rates(PlhSaid *said, const PlhFinding *finding)
{
	const PlhSitesFound *sites = &finding->sites;

	PLH_SAY(said, true, rates,.count = sites->late_epochs,
			.late = plh_words_size(finding->late_bytes / Max(sites->late_epochs, 1)),
			.early = plh_words_size(sites->early_bytes / Max(sites->early_epochs, 1)),
			.early_count = sites->early_epochs);
	if (sites->epochs > sites->transactions)
		PLH_SAY(said, true, rates_seconds);
	if (sites->age_epochs > sites->epochs)
		PLH_SAY(said, true, rates_all);
}

static void
say_leak(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	say_left(said, finding, image->alive);
	say_unwritten(said, finding, image);
	say_rates(said, finding);
}

/* Growth since the baseline, and why it is not called a leak. */
static void
say_growth(PlhSaid *said, const PlhFinding *finding, bool alive)
{
	PLH_SAY(said, alive, grown,.bytes = plh_words_estimate(finding->bytes, finding->error_bytes),
			.growth = plh_words_size(finding->growth_bytes));
	if (finding->sites.statements > 1)
		PLH_SAY(said, alive, grown_by_statements,.count = finding->sites.statements);
	else if (finding->sites.sites > 1)
		PLH_SAY(said, alive, grown_by_lines,.count = finding->sites.sites);
	else
		PLH_SAY(said, alive, grown_lately);
}

static void
say_held(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	const PlhFields fields = {
		.bytes = plh_words_estimate(finding->bytes, finding->error_bytes),
		.total = plh_words_size(finding->sites.total_bytes),
		.count = finding->sites.transactions,
		.statements = finding->sites.statements,
		.noun = plh_process_kind_noun(image)
	};

	if (!finding->sites.is_over)
		plh_sentences_say(said, PLH_SAYS_held_running, image->alive, &fields);
	else
		plh_sentences_say(said, finding->sites.statements > 1 ? PLH_SAYS_held_by_statements :
						  PLH_SAYS_held, image->alive, &fields);
	if (finding->sites.is_over && image->alive)
		plh_sentences_say(said, PLH_SAYS_held_stays, true, &fields);
	say_unwritten(said, finding, image);
}

/* That contexts are mostly free space, where it is known.  All others may be free, too. */
static void
say_emptiness(PlhSaid *said, const PlhFinding *finding, const PlhProfileHeader *header)
{
	int64		others = header->context_bytes - finding->bytes;

	if (header->context_free_bytes - Max(0, others) >= finding->bytes / 2)
		PLH_SAY(said, true, contexts_free);
}

/* What is known of a family. */
static void
say_family(PlhSaid *said, const PlhFamilyAccount *account, const PlhProfileImage *image)
{
	const PlhFamily *family = account->family;

	if (family != NULL)
		PLH_SAY(said, true, family,.what = family->what,.bound = family->bound);
	else
		PLH_SAY(said, true, contexts_stay,.noun = account->lasting ?
				plh_process_kind_noun(image) : PLH_PHRASE(true, noun_either));
}

static void
say_contexts(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	const PlhFamilyAccount *family = finding->contexts.family;
	const PlhFields fields = {
		.count = family->contexts,
		.bytes = plh_words_size(finding->bytes),
		.title = plh_account_title(family, image)
	};

	if (family->family != NULL)
		plh_sentences_say(said, PLH_SAYS_contexts, image->alive, &fields);
	else
		PLH_SAY(said, image->alive, contexts_named,.count = family->contexts,
				.bytes = fields.bytes,.title = plh_account_name(family, image));
	if (finding->contexts.late_contexts >= PLH_SUSPECT_LATE_CONTEXTS)
		PLH_SAY(said, image->alive, contexts_added,.count = finding->contexts.late_contexts,
				.bytes = plh_words_size(finding->late_bytes),
				.since = plh_words_time(family->early_at));
	plh_context_sentence_say(said, family->exemplified, image);
	say_emptiness(said, finding, image->header);
	say_family(said, family, image);
}

/* Has a family all but stopped growing? */
static bool
has_come_to_rest(const PlhFamilyAccount *family)
{
	int64		gained = family->bytes - family->late_bytes;

	return family->late_at > family->early_at &&
		gained <= Max(PLH_COURSE_NOISE_BYTES, (int64) (family->bytes * PLH_COURSE_NOISE_PART));
}

static void
say_cache(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	const PlhFamilyAccount *family = finding->contexts.family;

	PLH_SAY(said, image->alive, cache,.title = family->family->title,
			.bytes = plh_words_size(finding->bytes),
			.late = plh_words_size(finding->late_bytes),
			.since = plh_words_time(family->early_at));
	if (has_come_to_rest(family))
		PLH_SAY(said, image->alive, cache_rests,.since = plh_words_time(family->late_at));
	plh_context_sentence_say(said, family->exemplified, image);
	PLH_SAY(said, image->alive, cache_is_no_leak);
	say_family(said, family, image);
}

/* Which part of its growth came in the second half of its time. */
static const char *
late_part(const PlhFinding *finding)
{
	if (finding->late_bytes <= 0)
		return PLH_PHRASE(true, late_none);
	return finding->late_bytes >= finding->growth_bytes ? PLH_PHRASE(true, late_all) :
		plh_words_size(finding->late_bytes);
}

/* A sentence on what a process has as a whole, and the course of that. */
static void
say_course(PlhSaid *said, PlhSentence sentence, const PlhFinding *finding,
		   const PlhProfileImage *image)
{
	const PlhFields fields = {
		.noun = plh_process_kind_noun(image),
		.bytes = plh_words_size(finding->bytes),
		.growth = plh_words_size(finding->growth_bytes),
		.span = plh_words_span(finding->baseline_at, finding->counted_at),
		.late = late_part(finding)
	};

	plh_sentences_say(said, sentence, image->alive, &fields);
}

/* The families that hold most of what lasts, where any has much. */
static void
say_parts(PlhSaid *said, const PlhFoundIn *in)
{
	const PlhAccount *account = in->findings->account;
	StringInfoData parts;
	int			told = 0;

	initStringInfo(&parts);
	for (int i = 0; i < account->family_count && told < PLH_TOLD_SHARES; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (family->lasting && family->bytes * 100 >= PLH_LEAST_PERCENT * account->lasting_bytes)
			appendStringInfo(&parts, "%s%s", told++ == 0 ? "" : ", ",
							 PLH_PHRASE(true, process_part,
										.bytes = plh_words_size(family->bytes),
										.title = plh_account_title(family, in->image)));
	}
	if (told > 0)
		PLH_SAY(said, true, process_parts,.list = parts.data);
}

/* How much of what malloc has given out was sampled. */
static void
say_sampled(PlhSaid *said, const PlhProfileHeader *header)
{
	if (!header->malloc_tracked)
		return;
	PLH_SAY(said, true, malloc_sampled,
			.bytes = plh_words_estimate(header->malloc_sampled_bytes, header->malloc_sampled_error));
	if (header->malloc_other_bytes > 0)
		PLH_SAY(said, true, malloc_unsampled,.other = plh_words_size(header->malloc_other_bytes));
}

static void
say_freed(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	PLH_SAY(said, image->alive, freed,.bytes = plh_words_size(finding->bytes),
			.other = plh_words_size(image->header->malloc_bytes));
	if (image->alive)
		PLH_SAY(said, true, freed_until_end,.noun = plh_process_kind_noun(image));
}

void
plh_finding_evidence_say(PlhSaid *said, const PlhFinding *finding, const PlhFoundIn *in)
{
	const PlhProfileImage *image = in->image;

	switch (finding->kind)
	{
		case PLH_KIND_SITE_LEAKS:
		case PLH_KIND_MALLOC_SITE_LEAKS:
			say_leak(said, finding, image);
			break;
		case PLH_KIND_SITE_HOLDS:
			say_held(said, finding, image);
			break;
		case PLH_KIND_SITE_GROWS:
			say_growth(said, finding, image->alive);
			break;
		case PLH_KIND_CONTEXTS_GROW:
		case PLH_KIND_CONTEXTS_HOLD:
		case PLH_KIND_DECODING:
			say_contexts(said, finding, image);
			break;
		case PLH_KIND_CACHE_GROWS:
			say_cache(said, finding, image);
			break;
		case PLH_KIND_STATEMENT:
			plh_statement_evidence_say(said, finding, in);
			break;
		case PLH_KIND_MALLOC_GROWS:
			say_course(said, finding->growth_bytes > 0 ? PLH_SAYS_malloc_grown :
					   PLH_SAYS_malloc_large, finding, image);
			say_unwritten(said, finding, image);
			say_sampled(said, image->header);
			break;
		case PLH_KIND_MAPPED_GROWS:
			say_course(said, PLH_SAYS_mapped_grown, finding, image);
			break;
		case PLH_KIND_MALLOC_KEEPS:
			say_freed(said, finding, image);
			break;
		case PLH_KIND_PROCESS_GROWS:
			say_course(said, PLH_SAYS_process_grown, finding, image);
			say_parts(said, in);
			break;
		case PLH_KINDS:
			break;
	}
}

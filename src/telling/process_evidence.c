/*
 * process_evidence.c
 *	  Why a process as a whole is a finding, or what it has outside of memory contexts.
 */
#include "postgres.h"

#include "datatype/timestamp.h"

#include "judge/kept_memory.h"
#include "judge/process_kind.h"
#include "report/words.h"
#include "telling/function_shares.h"
#include "telling/holder_sentences.h"
#include "telling/process_evidence.h"
#include "telling/proven_evidence.h"
#include "telling/site_evidence.h"
#include "telling/size_sentences.h"

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

void
plh_process_evidence_say_outside(PlhSaid *said, const PlhFinding *finding,
								 const PlhProfileImage *image)
{
	static const PlhSentence sentences[PLH_KINDS][3] = {
		[PLH_KIND_MALLOC_GROWS] =
		{PLH_SAYS_malloc_large_once, PLH_SAYS_malloc_large, PLH_SAYS_malloc_grown},
		[PLH_KIND_MALLOC_REACHED] =
		{PLH_SAYS_malloc_large_once, PLH_SAYS_malloc_large, PLH_SAYS_malloc_grown},
		[PLH_KIND_MAPPED_GROWS] =
		{PLH_SAYS_mapped_large_once, PLH_SAYS_mapped_large, PLH_SAYS_mapped_grown},
		[PLH_KIND_OUTSIDE_GROWS] =
		{PLH_SAYS_outside_large_once, PLH_SAYS_outside_large, PLH_SAYS_outside_grown}
	};
	int			course = 2;

	if (finding->counted_at - finding->baseline_at < USECS_PER_SEC)
		course = 0;
	else if (finding->growth_bytes <= 0)
		course = 1;
	say_course(said, sentences[finding->kind][course], finding, image);
	if (finding->kind == PLH_KIND_OUTSIDE_GROWS)
		PLH_SAY(said, image->alive, outside_may_be_free);
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
							 plh_size_sentences_kind(family, in->image));
	}
	if (told > 0)
		PLH_SAY(said, true, process_parts,.list = parts.data);
}

void
plh_process_evidence_say_growth(PlhSaid *said, const PlhFinding *finding, const PlhFoundIn *in)
{
	say_course(said, PLH_SAYS_process_grown, finding, in->image);
	say_parts(said, in);
}

static void
say_sampled(PlhSaid *said, const PlhProfileHeader *header)
{
	if (!header->malloc_tracked)
		return;
	PLH_SAY(said, true, malloc_sampled,
			.bytes = plh_words_estimate(header->malloc_sampled_bytes,
										header->malloc_sampled_error));
	if (header->malloc_other_bytes > 0)
		PLH_SAY(said, true, malloc_unsampled,.other = plh_words_size(header->malloc_other_bytes));
}

void
plh_process_evidence_say_malloc(PlhSaid *said, const PlhFinding *finding,
								const PlhProfileImage *image, const PlhHolder *holder)
{
	plh_process_evidence_say_outside(said, finding, image);
	plh_proven_evidence_say(said, finding, image->alive);
	plh_site_evidence_say_unwritten(said, finding, image);
	say_sampled(said, image->header);
	plh_holder_sentences_say_beside(said, holder);
}

/*
 * Does malloc use again what it keeps?  What has been added since did not come from that, and what
 * is in arenas of threads is for these alone.
 */
static void
say_use(PlhSaid *said, const PlhKeptMemory *kept, const PlhProfileImage *image)
{
	if (kept->added_bytes > 0)
		PLH_SAY(said, image->alive, freed_added,.growth = plh_words_size(kept->added_bytes),
				.since = plh_words_time(kept->since));
	else if (image->alive && image->header->malloc_arena_bytes < kept->bytes / 2)
		PLH_SAY(said, true, freed_is_used);
}

void
plh_process_evidence_say_freed(PlhSaid *said, const PlhFinding *finding,
							   const PlhProfileImage *image)
{
	PlhKeptMemory kept = plh_kept_memory_find(image->header);

	PLH_SAY(said, image->alive, freed,.bytes = plh_words_size(finding->bytes),
			.other = plh_words_size(image->header->malloc_bytes));
	say_use(said, &kept, image);
	if (kept.is_from_outside)
		PLH_SAY(said, image->alive, freed_from_outside,.total = plh_words_size(kept.context_bytes));
	if (image->alive)
		PLH_SAY(said, true, freed_until_end,.noun = plh_process_kind_noun(image));
}

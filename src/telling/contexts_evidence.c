/*
 * contexts_evidence.c
 *	  Why memory contexts are a finding: how many they are, what of, and what bounds them.
 */
#include "postgres.h"

#include "judge/course.h"
#include "judge/process_kind.h"
#include "judge/suspect.h"
#include "reader/server_locks.h"
#include "report/context_list.h"
#include "report/words.h"
#include "telling/contexts_advice.h"
#include "telling/contexts_evidence.h"
#include "telling/proven_evidence.h"
#include "telling/share_sentences.h"
#include "telling/size_sentences.h"

/* The examples in a sentence, and the most characters of each. */
#define TOLD_EXAMPLES 2
#define TOLD_COLUMNS 150

bool
plh_contexts_evidence_say_examples(PlhSaid *said, const PlhContextRecord *record,
								   const PlhProfileImage *image)
{
	char	   *texts[PLH_EXAMPLES];
	int			count = plh_context_list_examples(record, image, TOLD_COLUMNS, texts);
	StringInfoData list;
	PlhFields	fields = {.list = ""};

	if (count == 0 || plh_profile_image_string(image, record->context_name) == NULL)
		return false;
	initStringInfo(&list);
	for (int i = 0; i < Min(count, TOLD_EXAMPLES); i++)
		appendStringInfo(&list, "%s%s", i > 0 ? "; " : "", texts[i]);
	if (list.data[list.len - 1] == '.') /* a text was cut: the sentence ends
										 * there */
		list.data[--list.len] = '\0';
	fields.list = list.data;
	fields.context = plh_context_list_name(image, record->context_name);
	plh_sentences_say(said, plh_context_list_has_counts(record, image) ?
					  PLH_SAYS_examples : PLH_SAYS_examples_such, true, &fields);
	return true;
}

/* That contexts are mostly free space, where it is known.  All others may be free, too. */
static void
say_emptiness(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	int64		others = header->context_bytes - finding->bytes;

	if (header->context_free_bytes - Max(0, others) >= finding->bytes / 2)
		PLH_SAY(said, image->alive, contexts_free);
}

static void
say_family(PlhSaid *said, const PlhFamilyAccount *account, const PlhProfileImage *image)
{
	const PlhFamily *family = account->family;

	if (family != NULL)
		PLH_SAY(said, true, family,.what = family->what,.bound = family->bound);
	else
		PLH_SAY(said, image->alive, contexts_stay,.noun = account->lasting ?
				plh_process_kind_noun(image) : PLH_PHRASE(true, noun_either));
}

bool
plh_contexts_evidence_say_phase(PlhSaid *said, const PlhFindingOrigin *origin)
{
	PlhSentence purpose = plh_phase_purpose(origin->phase);
	PlhSentence meaning = plh_phase_meaning(origin->phase);
	PlhFields	fields = {.percent = psprintf(INT64_FORMAT, origin->percent)};

	if (purpose == PLH_SENTENCES)
		return false;
	fields.what = plh_sentences_phrase(purpose, true, PLH_FIELDS(NULL));
	plh_sentences_say(said,
					  origin->shared_is_of_phase && plh_share_sentences_end_shared(said) ?
					  PLH_SAYS_phase_of_shared : PLH_SAYS_phase, true, &fields);
	if (meaning != PLH_SENTENCES)
		plh_sentences_say(said, meaning, true, PLH_FIELDS(NULL));
	return true;
}

/* What else there is of what is decoded, and whether one value has much of it. */
static void
say_parts_of_decoding(PlhSaid *said, const PlhContextsFound *contexts,
					  const PlhProfileImage *image)
{
	const PlhFamilyAccount *output = contexts->output;

	if (output != NULL)
	{
		PLH_SAY(said, image->alive, contexts,.count = output->contexts,
				.bytes = plh_words_size(output->bytes),.title = plh_account_title(output, image));
		say_family(said, output, image);
	}
	if (contexts->kept_bytes > 0)
		PLH_SAY(said, image->alive, decoding_kept,.bytes = plh_words_size(contexts->kept_bytes),
				.noun = plh_process_kind_noun(image));
	if (contexts->value_bytes > 0)
		PLH_SAY(said, image->alive, decoding_value,
				.bytes = plh_words_size(contexts->value_bytes));
}

/* What decoding holds, by whoever allocated it. */
static void
say_decoding(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image,
			 const PlhFindingOrigin *origin)
{
	if (plh_contexts_advice_is_of_plugin(finding, origin))
		PLH_SAY(said, image->alive, plugin_allocated,.library = origin->library);
	else if (origin->phase != PLH_PHASE_DECODING_CATALOGS)
		say_family(said, finding->contexts.family, image);
	else
		plh_contexts_evidence_say_phase(said, origin);
	say_parts_of_decoding(said, &finding->contexts, image);
}

/* How many locks it holds now, where the contexts are for locks: they may be those of before. */
static void
say_locks(PlhSaid *said, const PlhFamilyAccount *account, const PlhProfileImage *image)
{
	PlhServerLocks locks;

	if (!image->alive || account->family == NULL || account->family->kind != PLH_FAMILY_LOCKS)
		return;
	locks = plh_server_locks_of(image->header->pid);
	if (locks.count == 0)
		PLH_SAY(said, true, locks_none);
	else
		PLH_SAY(said, true, locks_held,.count = locks.count,.relations = locks.relations,
				.advisory = locks.advisory);
}

void
plh_contexts_evidence_say(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image,
						  const PlhFindingOrigin *origin)
{
	const PlhFamilyAccount *family = finding->contexts.family;
	const PlhFields fields = {
		.count = family->contexts,
		.bytes = plh_words_size(family->bytes),
		.title = plh_account_title(family, image)
	};
	bool		are_lost;

	if (family->family != NULL)
		plh_sentences_say(said, PLH_SAYS_contexts, image->alive, &fields);
	else
		PLH_SAY(said, image->alive, contexts_named,.count = family->contexts,
				.bytes = fields.bytes,.title = plh_account_name(family, image));
	if (finding->contexts.late_contexts >= PLH_SUSPECT_LATE_CONTEXTS)
		PLH_SAY(said, image->alive, contexts_added,.count = finding->contexts.late_contexts,
				.bytes = plh_words_size(finding->late_bytes),
				.since = plh_words_time(family->early_at));
	are_lost = plh_proven_evidence_say_contexts(said, finding, image);
	plh_contexts_evidence_say_examples(said, family->exemplified, image);
	say_locks(said, family, image);
	say_emptiness(said, finding, image);
	if (finding->kind == PLH_KIND_DECODING)
		say_decoding(said, finding, image, origin);
	else if (!are_lost || family->family != NULL)
		say_family(said, family, image);
}

void
plh_contexts_evidence_say_cache(PlhSaid *said, const PlhFinding *finding,
								const PlhProfileImage *image, const PlhFindingOrigin *origin)
{
	const PlhFamilyAccount *family = finding->contexts.family;
	const PlhFamily *known = origin->family != NULL ? origin->family : family->family;

	PLH_SAY(said, image->alive, cache,.title = family->family->title,
			.bytes = plh_words_size(finding->bytes),
			.late = plh_words_size(finding->late_bytes),
			.since = plh_words_time(family->early_at));
	plh_contexts_evidence_say_examples(said, family->exemplified, image);
	if (!known->is_endless)
		PLH_SAY(said, image->alive, cache_is_no_leak);
	PLH_SAY(said, true, family,.what = known->what,.bound = known->bound);
	if (origin->is_statistics)
		PLH_SAY(said, image->alive, cache_statistics);
}

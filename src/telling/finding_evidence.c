/*
 * finding_evidence.c
 *	  Why something is a finding, in a few sentences.
 */
#include "postgres.h"

#include <math.h>

#include "datatype/timestamp.h"

#include "judge/course.h"
#include "judge/process_kind.h"
#include "judge/suspect.h"
#include "profile/shared_frames.h"
#include "profile/site_facts.h"
#include "reader/server_locks.h"
#include "report/context_list.h"
#include "report/words.h"
#include "telling/contexts_advice.h"
#include "telling/finding_evidence.h"
#include "telling/function_shares.h"
#include "telling/holder_sentences.h"
#include "telling/limit_sentences.h"
#include "telling/size_sentences.h"

/* What was not counted is told apart where it has this part of all, at least. */
#define ESTIMATED_PART 100

/* What is told beside the main part of a statement has this part of all, at least. */
#define REST_PART 4

/* The examples in a sentence, and the most characters of each. */
#define TOLD_EXAMPLES 2
#define TOLD_COLUMNS 150

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
	switch (plh_account_unwritten_of(finding->bytes, image->header))
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
 * What was gained in each second, of one transaction, or of a process without any.  Seconds in
 * which nothing was sampled count as others do.
 */
static void
say_rate_of_time(PlhSaid *said, const PlhFinding *finding, bool alive)
{
	const PlhSitesFound *sites = &finding->sites;
	double		seconds = ((double) sites->last_at - (double) sites->early_at) / USECS_PER_SEC;

	if (sites->early_at != 0 && seconds >= 1.0)
		PLH_SAY(said, alive, rates_by_second,
				.rate = plh_words_size((int64) (finding->late_bytes / seconds)),
				.span = plh_words_span(sites->early_at, sites->last_at));
}

/* What was gained in each epoch: of a long transaction, each second is one. */
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

/* What the chunks of sites take, where that is much more than what was asked for. */
static void
say_rounding(PlhSaid *said, const PlhFinding *finding, bool alive)
{
	const PlhSitesFound *sites = &finding->sites;
	double		part = sites->total_bytes <= 0 ? 0 :
		(double) sites->spare_bytes / (double) sites->total_bytes;
	int64		spare = (int64) (finding->bytes * Max(part, 0.0));

	if (plh_site_facts_is_rounded(finding->bytes, spare))
		PLH_SAY(said, alive, rounding,.total = plh_words_size(finding->bytes + spare));
}

static void
say_leak(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	say_left(said, finding, image->alive);
	say_rounding(said, finding, image->alive);
	say_unwritten(said, finding, image);
	if (finding->sites.transactions <= 1)
		say_rate_of_time(said, finding, image->alive);
	else
		say_rates(said, finding);
}

/* Growth since the baseline, and why it is not called a leak. */
static void
say_growth(PlhSaid *said, const PlhFinding *finding, bool alive)
{
	PLH_SAY(said, alive, grown,.bytes = plh_words_estimate(finding->bytes, finding->error_bytes),
			.growth = plh_words_size(finding->growth_bytes));
	say_rounding(said, finding, alive);
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
	say_rounding(said, finding, image->alive);
	if (finding->sites.is_over && image->alive)
		plh_sentences_say(said, PLH_SAYS_held_stays, true, &fields);
	say_unwritten(said, finding, image);
}

bool
plh_finding_evidence_say_examples(PlhSaid *said, const PlhContextRecord *record,
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

/* What the phase was for.  Returns false where its contexts tell more. */
static bool
say_phase(PlhSaid *said, const PlhFindingOrigin *origin, bool alive)
{
	PlhSentence sentence = plh_phase_sentence(origin->phase);

	if (sentence == PLH_SENTENCES)
		return false;
	plh_sentences_say(said, sentence, alive,
					  PLH_FIELDS(.percent = psprintf(INT64_FORMAT, origin->percent)));
	return true;
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
		say_phase(said, origin, image->alive);
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

static void
say_contexts(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image,
			 const PlhFindingOrigin *origin)
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
	plh_finding_evidence_say_examples(said, family->exemplified, image);
	say_locks(said, family, image);
	say_emptiness(said, finding, image);
	if (finding->kind == PLH_KIND_DECODING)
		say_decoding(said, finding, image, origin);
	else
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
say_cache(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image,
		  const PlhFindingOrigin *origin)
{
	const PlhFamilyAccount *family = finding->contexts.family;
	const PlhFamily *known = origin->family != NULL ? origin->family : family->family;

	PLH_SAY(said, image->alive, cache,.title = family->family->title,
			.bytes = plh_words_size(finding->bytes),
			.late = plh_words_size(finding->late_bytes),
			.since = plh_words_time(family->early_at));
	if (has_come_to_rest(family))
		PLH_SAY(said, image->alive, cache_rests,.since = plh_words_time(family->late_at));
	plh_finding_evidence_say_examples(said, family->exemplified, image);
	if (!known->is_endless)
		PLH_SAY(said, image->alive, cache_is_no_leak);
	PLH_SAY(said, true, family,.what = known->what,.bound = known->bound);
}

/* Does it have nodes with a limit that hold much of it? */
static bool
is_of_nodes(const PlhFinding *finding)
{
	return finding->statement.nodes > 0 && finding->statement.node_bytes >= finding->bytes / 8;
}

/* What the nodes of a plan hold that have a limit. */
static void
say_nodes(PlhSaid *said, const PlhStatementFound *statement, bool alive)
{
	const PlhFields fields = {
		.bytes = plh_words_size(statement->node_bytes),
		.count = statement->nodes,
		.each = plh_words_size(statement->node_bytes / statement->nodes)
	};

	plh_sentences_say(said, statement->nodes == 1 ? PLH_SAYS_node : PLH_SAYS_nodes, alive, &fields);
}

const PlhFamily *
plh_finding_evidence_nodes(const PlhAccount *account)
{
	for (int i = 0; account != NULL && i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (!family->lasting && family->family != NULL && family->family->kind == PLH_FAMILY_NODES)
			return family->family;
	}
	return NULL;
}

/* Is it told with that family?  Nodes of all kinds are told together. */
static bool
is_told(const PlhFamily *family, const PlhFamily *told)
{
	return family == told || (told != NULL && family->kind == PLH_FAMILY_NODES &&
							  told->kind == PLH_FAMILY_NODES);
}

void
plh_finding_evidence_say_rest(PlhSaid *said, const PlhAccount *account,
							  const PlhFamily *told, bool alive)
{
	for (int i = 0; account != NULL && i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];
		PlhFields	fields = {.bytes = plh_words_size(family->bytes)};

		if (family->lasting || family->family == NULL || is_told(family->family, told))
			continue;
		if (family->bytes < account->passing_bytes / REST_PART)
			return;
		fields.title = family->family->title;
		fields.what = family->family->what;
		plh_sentences_say(said, told == NULL ? PLH_SAYS_held_for : PLH_SAYS_besides, alive,
						  &fields);
		return;
	}
}

/*
 * Is it known by its contexts what much of it is for?  Of what is in those of texts and plans, the
 * phase tells more: a function that the planner calls has its memory there, too.
 */
static bool
is_known_part(const PlhFamilyAccount *part, const PlhFindingOrigin *origin)
{
	return part != NULL &&
		(part->family != plh_family_of("MessageContext") ||
		 (origin->phase == PLH_PHASE_UNKNOWN && origin->library == NULL));
}

/* What limits what was allocated while an index was built. */
static void
say_build_limits(PlhSaid *said, const PlhFinding *finding, const PlhFoundIn *in,
				 const PlhFindingOrigin *origin)
{
	const PlhProfileHeader *header = in->image->header;

	if (origin->library == NULL && is_of_nodes(finding))
		say_nodes(said, &finding->statement, in->image->alive);
	PLH_SAY(said, in->image->alive, limit_build,
			.limit = plh_words_size(header->maintenance_bytes));
}

/* What limits what a statement holds, where anything does that is known. */
static void
say_limits(PlhSaid *said, const PlhFinding *finding, const PlhFoundIn *in,
		   const PlhFindingOrigin *origin)
{
	const PlhStatementFound *statement = &finding->statement;
	const PlhAccount *counted = statement->counted_bytes > 0 ? in->findings->account : NULL;
	const PlhFamily *nodes = plh_finding_evidence_nodes(in->findings->account);
	bool		alive = in->image->alive;

	if (is_known_part(statement->part, origin))
	{
		const PlhFamily *family = statement->part->family;

		PLH_SAY(said, alive, statement_part,
				.bytes = plh_words_size(Min(statement->part->bytes, finding->bytes)),
				.title = family->title,.what = family->what,.bound = family->bound);
		plh_finding_evidence_say_rest(said, counted, family, alive);
		return;
	}
	if (origin->phase == PLH_PHASE_INDEX_BUILD)
	{
		say_phase(said, origin, alive);
		say_build_limits(said, finding, in, origin);
		return;
	}
	if (origin->library != NULL || say_phase(said, origin, alive))
		return;
	if (is_of_nodes(finding))
	{
		say_nodes(said, statement, alive);
		plh_limit_sentences_say(said, in->image, nodes, statement->limit);
		plh_limit_sentences_say_plan(said, in->image);
		plh_finding_evidence_say_rest(said, counted, nodes, alive);
		return;
	}
	if (statement->part == NULL && in->stacks != NULL &&
		!plh_function_shares_name_site(finding, in->image, in->stacks))
		plh_finding_evidence_say_rest(said, counted, NULL, alive);
	plh_limit_sentences_say(said, in->image, NULL, statement->limit);
}

/* What ends memory of that lifetime, as a noun. */
static PlhSentence
noun_of(uint32 lifetime)
{
	switch (lifetime)
	{
		case PLH_LIFETIME_STATEMENT:
		case PLH_LIFETIME_QUERY:
			return PLH_SAYS_noun_statement;
		case PLH_LIFETIME_TRANSACTION:
			return PLH_SAYS_noun_transaction;
		default:
			return PLH_SAYS_noun_either;
	}
}

const char *
plh_finding_evidence_noun(uint32 lifetime)
{
	return plh_sentences_phrase(noun_of(lifetime), true, PLH_FIELDS(NULL));
}

/* What ends what its sites hold, if that is the same for nearly all of it. */
static PlhSentence
noun_of_all(const PlhStatementFound *statement)
{
	PlhSentence noun = PLH_SAYS_noun_either;
	int64		bytes = 0;
	int64		others = 0;

	for (int i = 0; i < statement->share_count; i++)
	{
		const PlhShare *share = &statement->shares[i];
		PlhSentence one = noun_of(share->site->key.lifetime);

		if (i == 0)
			noun = one;
		if (one == noun)
			bytes += share->bytes;
		else
			others += share->bytes;
	}
	return others >= bytes / 20 ? PLH_SAYS_noun_either : noun;
}

/* When the memory is freed; a portal of a cursor lasts longer than its statement. */
static void
say_end(PlhSaid *said, PlhSentence noun)
{
	if (noun == PLH_SAYS_noun_transaction)
		PLH_SAY(said, true, ends_with_transaction);
	else if (noun == PLH_SAYS_noun_statement)
		PLH_SAY(said, true, ends_with_statement);
	else
		PLH_SAY(said, true, ends);
}

/* How much it holds, and how the total comes about, so that it can be compared with counts. */
static void
say_total(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image,
		  PlhSentence noun, bool runs)
{
	static const PlhSentence sentences[] = {
		[PLH_UNWRITTEN_LITTLE] = PLH_SAYS_statement,
		[PLH_UNWRITTEN_PART] = PLH_SAYS_statement_part_unwritten,
		[PLH_UNWRITTEN_MOST] = PLH_SAYS_statement_most_unwritten
	};
	int64		counted = finding->statement.counted_bytes;
	const PlhFields fields = {
		.noun = plh_sentences_phrase(noun, true, PLH_FIELDS(NULL)),
		.bytes = plh_words_estimate(finding->bytes, finding->error_bytes)
	};

	plh_sentences_say(said, sentences[plh_account_unwritten_of(finding->bytes, image->header)],
					  runs, &fields);
	if (counted > 0 && finding->bytes - counted >= finding->bytes / ESTIMATED_PART)
		PLH_SAY(said, image->alive, statement_counted,.bytes = plh_words_size(counted));
}

/* A part of all, as a whole percentage; of a bound no less than that. */
static const char *
percent(const PlhFunctionShares *shares, int64 bytes, bool is_bound)
{
	double		part = plh_function_shares_percent(shares, bytes);

	return psprintf("%.0f", is_bound ? ceil(part) : part);
}

/* One function, and the site of it that the finding is named after. */
static const char *
share_phrase(const PlhFunctionShares *shares, const PlhFunctionShare *share)
{
	const PlhFields fields = {
		.percent = percent(shares, share->bytes, false),
		.site = share->site,
		.context = share->context_name,
		.most = percent(shares, share->largest_bytes, false),
		.name = share->largest_site
	};

	return plh_sentences_phrase(share->largest_site != NULL ? PLH_SAYS_share_largest :
								PLH_SAYS_share, true, &fields);
}

static bool
is_worth(const PlhFunctionShares *shares, int64 bytes)
{
	return plh_function_shares_percent(shares, bytes) >= PLH_LEAST_PERCENT;
}

/* Do the call sites that are told have as much as a function that is shared? */
static bool
are_most(const PlhFunctionShares *shares)
{
	int64		bytes = 0;

	for (int i = 0; i < shares->told; i++)
		bytes += shares->functions[i].bytes;
	return bytes >= PLH_SHARED_PART * shares->all;
}

/* The function that most of it was allocated in, or in functions that it calls. */
static void
say_shared(PlhSaid *said, const PlhSharedFunction *shared)
{
	const PlhFields fields = {
		.percent = psprintf("%.0f", plh_shared_function_percent(shared)),
		.name = shared->site,
		.count = shared->is_site ? shared->ways : shared->places
	};

	if (shared->is_site)
		plh_sentences_say(said, shared->has_more ? PLH_SAYS_shared_frame_site_least :
						  PLH_SAYS_shared_frame_site, true, &fields);
	else
		plh_sentences_say(said, shared->has_more ? PLH_SAYS_shared_frame_least :
						  PLH_SAYS_shared_frame, true, &fields);
}

/* What rounding adds to the largest sites of a statement, where that is much. */
static void
say_rounding_of_shares(PlhSaid *said, const PlhStatementFound *statement, bool alive)
{
	double		bytes = 0;
	double		spare = 0;

	for (int i = 0; i < statement->share_count; i++)
	{
		const PlhShare *share = &statement->shares[i];

		bytes += share->bytes;
		spare += share->bytes * plh_site_spare_part(share->site);
	}
	if (plh_site_facts_is_rounded((int64) bytes, (int64) spare))
		PLH_SAY(said, alive, rounding_adds,.bytes = plh_words_size((int64) spare));
}

/* Which functions have most of it, and where the rest is. */
static void
say_told_shares(PlhSaid *said, const PlhFunctionShares *shares, bool alive)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < shares->told; i++)
		appendStringInfo(&list, "%s%s", i == 0 ? "" : ", ",
						 share_phrase(shares, &shares->functions[i]));
	PLH_SAY(said, true, shares,.list = list.data);
	if (is_worth(shares, shares->others))
	{
		const PlhFields fields = {
			.percent = percent(shares, shares->others, false),
			.most = percent(shares, shares->others_most, true)
		};

		plh_sentences_say(said, shares->has_more ? PLH_SAYS_shares_many : PLH_SAYS_shares_other,
						  alive, &fields);
	}
	if (is_worth(shares, shares->unknown))
		PLH_SAY(said, true, shares_unknown,.percent = percent(shares, shares->unknown, false));
}

/*
 * Which functions have most of it.  Where the call sites that would be told have little, the one
 * function is told that most of it has in common.  If that is a call site itself, which is called
 * in many ways, its largest stacks would only look as if there were others.
 */
static void
say_shares(PlhSaid *said, const PlhFinding *finding, const PlhSharedFunction *shared,
		   const PlhFoundIn *in)
{
	PlhFunctionShares shares;

	plh_function_shares_add_up(&shares, finding, in->image, in->stacks);
	if (shared != NULL && !are_most(&shares))
	{
		say_shared(said, shared);
		if (shared->is_site)
			return;
	}
	if (shares.told > 0)
		say_told_shares(said, &shares, in->image->alive);
	else if (shared == NULL && shares.count > 0 && is_worth(&shares, shares.functions[0].bytes))
		PLH_SAY(said, true, scattered,
				.percent = percent(&shares, shares.functions[0].bytes, true));
}

/* The same of contexts in which no call site has much. */
static void
say_shared_of_contexts(PlhSaid *said, const PlhFindingOrigin * origin)
{
	if (origin->shared != NULL)
		say_shared(said, origin->shared);
}

/* Which of several call sites of one cause have most of it. */
static void
say_parts_of_cause(PlhSaid *said, const PlhFinding *finding, const PlhSharedFunction *shared,
				   const PlhFoundIn *in)
{
	if (finding->sites.part_count > 0 && shared != NULL && shared->places > 1)
		say_shares(said, finding, shared, in);
}

/* How much a transaction holds in which no statement runs. */
static void
say_waiting(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image,
			const PlhHolder *holder)
{
	PLH_SAY(said, true, transaction_holds,.since = plh_words_time(holder->waits_since),
			.bytes = plh_words_estimate(finding->bytes, finding->error_bytes));
	say_unwritten(said, finding, image);
}

static void
say_statement(PlhSaid *said, const PlhFinding *finding, const PlhFoundIn *in,
			  const PlhFindingOrigin *origin)
{
	PlhSentence noun = noun_of_all(&finding->statement);
	PlhHolder	holder = plh_holder_sentences_of(finding, in->image);
	bool		is_over = holder.kind == PLH_HELD_BY_LAST;

	if (holder.kind == PLH_HELD_BY_TRANSACTION)
		say_waiting(said, finding, in->image, &holder);
	else
		say_total(said, finding, in->image, noun, !is_over && in->image->alive);
	say_shares(said, finding, origin->shared, in);
	say_rounding_of_shares(said, &finding->statement, in->image->alive);
	say_limits(said, finding, in, origin);
	if (in->image->alive && !is_over)
		say_end(said, noun);
}

/* What cursors hold that are open. */
static void
say_cursors(PlhSaid *said, const PlhFinding *finding, const PlhSharedFunction *shared,
			const PlhFoundIn *in, const PlhHolder *holder)
{
	plh_holder_sentences_say(said, holder, in->findings->account, in->image);
	if (finding->kind == PLH_KIND_STATEMENT)
		say_shares(said, finding, shared, in);
	plh_holder_sentences_say_end(said, holder, in->image->alive);
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

/* What is outside of contexts; one count is no growth. */
static void
say_outside(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	static const PlhSentence sentences[PLH_KINDS][3] = {
		[PLH_KIND_MALLOC_GROWS] =
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

static void
say_freed(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	PLH_SAY(said, image->alive, freed,.bytes = plh_words_size(finding->bytes),
			.other = plh_words_size(image->header->malloc_bytes));
	if (image->alive)
		PLH_SAY(said, true, freed_until_end,.noun = plh_process_kind_noun(image));
}

void
plh_finding_evidence_say(PlhSaid *said, const PlhFinding *finding, const PlhFoundIn *in,
						 const PlhFindingOrigin *origin)
{
	const PlhProfileImage *image = in->image;
	PlhHolder	holder = plh_holder_sentences_of(finding, image);

	if (plh_holder_sentences_explain(&holder, finding))
	{
		say_cursors(said, finding, origin->shared, in, &holder);
		return;
	}
	switch (finding->kind)
	{
		case PLH_KIND_SITE_LEAKS:
		case PLH_KIND_MALLOC_SITE_LEAKS:
			say_leak(said, finding, image);
			say_parts_of_cause(said, finding, origin->shared, in);
			break;
		case PLH_KIND_SITE_HOLDS:
			say_held(said, finding, image);
			say_parts_of_cause(said, finding, origin->shared, in);
			break;
		case PLH_KIND_SITE_GROWS:
			say_growth(said, finding, image->alive);
			say_parts_of_cause(said, finding, origin->shared, in);
			break;
		case PLH_KIND_CONTEXTS_GROW:
		case PLH_KIND_CONTEXTS_HOLD:
		case PLH_KIND_DECODING:
			say_contexts(said, finding, image, origin);
			say_shared_of_contexts(said, origin);
			break;
		case PLH_KIND_CACHE_GROWS:
			say_cache(said, finding, image, origin);
			say_shared_of_contexts(said, origin);
			break;
		case PLH_KIND_STATEMENT:
			say_statement(said, finding, in, origin);
			break;
		case PLH_KIND_MALLOC_GROWS:
			say_outside(said, finding, image);
			say_unwritten(said, finding, image);
			say_sampled(said, image->header);
			plh_holder_sentences_say_beside(said, &holder);
			break;
		case PLH_KIND_MAPPED_GROWS:
		case PLH_KIND_OUTSIDE_GROWS:
			say_outside(said, finding, image);
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

/*
 * statement_evidence.c
 *	  Why a statement is a finding: how much it holds, where, what limits it, and what ends it.
 */
#include "postgres.h"

#include "judge/suspect.h"
#include "report/words.h"
#include "telling/contexts_evidence.h"
#include "telling/function_shares.h"
#include "telling/limit_sentences.h"
#include "telling/share_sentences.h"
#include "telling/site_evidence.h"
#include "telling/statement_evidence.h"

/* What was not counted is told apart where it has this part of all, at least. */
#define ESTIMATED_PART 100

/* What is told beside the main part of a statement has this part of all, at least. */
#define REST_PART 4

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
plh_statement_evidence_nodes(const PlhAccount *account)
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
plh_statement_evidence_say_rest(PlhSaid *said, const PlhAccount *account,
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
	const PlhFamily *nodes = plh_statement_evidence_nodes(in->findings->account);
	bool		alive = in->image->alive;

	if (is_known_part(statement->part, origin))
	{
		const PlhFamily *family = statement->part->family;

		PLH_SAY(said, alive, statement_part,
				.bytes = plh_words_size(Min(statement->part->bytes, finding->bytes)),
				.title = family->title,.what = family->what,.bound = family->bound);
		plh_statement_evidence_say_rest(said, counted, family, alive);
		return;
	}
	if (origin->phase == PLH_PHASE_INDEX_BUILD)
	{
		plh_contexts_evidence_say_phase(said, origin);
		say_build_limits(said, finding, in, origin);
		return;
	}
	if (origin->library != NULL || plh_contexts_evidence_say_phase(said, origin))
		return;
	if (is_of_nodes(finding))
	{
		say_nodes(said, statement, alive);
		plh_limit_sentences_say(said, in->image, nodes, statement->limit);
		plh_limit_sentences_say_plan(said, in->image);
		plh_statement_evidence_say_rest(said, counted, nodes, alive);
		return;
	}
	if (statement->part == NULL && in->stacks != NULL &&
		!plh_function_shares_name_site(finding, in->image, in->stacks))
		plh_statement_evidence_say_rest(said, counted, NULL, alive);
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
plh_statement_evidence_noun(uint32 lifetime)
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

/* How much a transaction holds in which no statement runs. */
static void
say_waiting(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image,
			const PlhHolder *holder)
{
	PLH_SAY(said, true, transaction_holds,.since = plh_words_time(holder->waits_since),
			.bytes = plh_words_estimate(finding->bytes, finding->error_bytes));
	plh_site_evidence_say_unwritten(said, finding, image);
}

void
plh_statement_evidence_say(PlhSaid *said, const PlhFinding *finding, const PlhFoundIn *in,
						   const PlhFindingOrigin *origin)
{
	PlhSentence noun = noun_of_all(&finding->statement);
	PlhHolder	holder = plh_holder_sentences_of(finding, in->image);
	bool		is_over = holder.kind == PLH_HELD_BY_LAST;

	if (holder.kind == PLH_HELD_BY_TRANSACTION)
		say_waiting(said, finding, in->image, &holder);
	else
		say_total(said, finding, in->image, noun, !is_over && in->image->alive);
	plh_share_sentences_say(said, finding, origin->shared, in);
	plh_share_sentences_say_rounding(said, &finding->statement, in->image->alive);
	say_limits(said, finding, in, origin);
	if (in->image->alive && !is_over)
		say_end(said, noun);
}

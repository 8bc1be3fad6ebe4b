/*
 * statement_evidence.c
 *	  What a statement or transaction holds, where, and what limits it, in a few sentences.
 */
#include "postgres.h"

#include <math.h>

#include "judge/unwritten.h"
#include "report/words.h"
#include "telling/function_shares.h"
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

/* Of the nodes with a limit, the family that holds most; NULL where none was counted. */
static const PlhFamily *
largest_nodes(const PlhAccount *account)
{
	for (int i = 0; account != NULL && i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (!family->lasting && family->family != NULL && family->family->kind == PLH_FAMILY_NODES)
			return family->family;
	}
	return NULL;
}

void
plh_statement_evidence_say_limit(PlhSaid *said, const PlhProfileImage *image,
								 const PlhFamily *family, int64 limit_bytes)
{
	const char *limit = plh_words_size(limit_bytes);

	if (limit_bytes != image->header->node_memory_bytes)
		PLH_SAY(said, image->alive, limit_settings,.limit = limit);
	else if (family != NULL && family == plh_family_of("TupleSort main"))
		PLH_SAY(said, image->alive, limit_sorts,
				.limit = plh_words_size(image->header->sort_memory_bytes));
	else if (family != NULL && family->kind == PLH_FAMILY_NODES)
		PLH_SAY(said, image->alive, limit_hashes,.limit = limit);
	else
		PLH_SAY(said, image->alive, limit_hash,.limit = limit);
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

/* What limits what a statement holds, where anything does that is known. */
static void
say_limits(PlhSaid *said, const PlhFinding *finding, const PlhFoundIn *in)
{
	const PlhStatementFound *statement = &finding->statement;
	const PlhAccount *counted = statement->counted_bytes > 0 ? in->findings->account : NULL;
	const PlhFamily *nodes = largest_nodes(in->findings->account);
	bool		alive = in->image->alive;

	if (statement->part != NULL)
	{
		const PlhFamily *family = statement->part->family;

		PLH_SAY(said, alive, statement_part,
				.bytes = plh_words_size(Min(statement->part->bytes, finding->bytes)),
				.title = family->title,.what = family->what,.bound = family->bound);
		plh_statement_evidence_say_rest(said, counted, family, alive);
		return;
	}
	if (is_of_nodes(finding))
	{
		say_nodes(said, statement, alive);
		plh_statement_evidence_say_limit(said, in->image, nodes, statement->limit_bytes);
		plh_statement_evidence_say_rest(said, counted, nodes, alive);
		return;
	}
	if (in->stacks != NULL && !plh_function_shares_name_site(finding, in->image, in->stacks))
		plh_statement_evidence_say_rest(said, counted, NULL, alive);
	if (statement->limit_bytes != in->image->header->node_memory_bytes)
		plh_statement_evidence_say_limit(said, in->image, NULL, statement->limit_bytes);
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
		  PlhSentence noun)
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

	plh_sentences_say(said, sentences[plh_unwritten_of(finding, image->header)], image->alive,
					  &fields);
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

/* Does a part have enough to be told? */
static bool
is_worth(const PlhFunctionShares *shares, int64 bytes)
{
	return plh_function_shares_percent(shares, bytes) >= PLH_LEAST_PERCENT;
}

/* Which functions have most of it, and where the rest is. */
static void
say_shares(PlhSaid *said, const PlhFinding *finding, const PlhFoundIn *in)
{
	PlhFunctionShares shares;
	StringInfoData list;

	plh_function_shares_add_up(&shares, finding, in->image, in->stacks);
	if (shares.told == 0)
	{
		if (shares.count > 0 && is_worth(&shares, shares.functions[0].bytes))
			PLH_SAY(said, true, scattered,
					.percent = percent(&shares, shares.functions[0].bytes, true));
		return;
	}
	initStringInfo(&list);
	for (int i = 0; i < shares.told; i++)
		appendStringInfo(&list, "%s%s", i == 0 ? "" : ", ",
						 share_phrase(&shares, &shares.functions[i]));
	PLH_SAY(said, true, shares,.list = list.data);
	if (is_worth(&shares, shares.others))
	{
		const PlhFields fields = {
			.percent = percent(&shares, shares.others, false),
			.most = percent(&shares, shares.others_most, true)
		};

		plh_sentences_say(said, shares.has_more ? PLH_SAYS_shares_many : PLH_SAYS_shares_other,
						  in->image->alive, &fields);
	}
	if (is_worth(&shares, shares.unknown))
		PLH_SAY(said, true, shares_unknown,.percent = percent(&shares, shares.unknown, false));
}

void
plh_statement_evidence_say(PlhSaid *said, const PlhFinding *finding, const PlhFoundIn *in)
{
	PlhSentence noun = noun_of_all(&finding->statement);

	say_total(said, finding, in->image, noun);
	say_shares(said, finding, in);
	say_limits(said, finding, in);
	if (in->image->alive)
		say_end(said, noun);
}

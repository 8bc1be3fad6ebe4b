/*
 * doubt_held.c
 *	  What a statement, a transaction or open cursors hold, within what they may.
 */
#include "postgres.h"

#include "judge/site_suspects.h"
#include "judge/statement_limit.h"
#include "judge/statement_suspect.h"
#include "judge/suspect.h"
#include "report/words.h"
#include "telling/doubt_held.h"
#include "telling/doubted_site.h"
#include "telling/holder_sentences.h"
#include "telling/limit_sentences.h"
#include "telling/moment.h"
#include "telling/statement_evidence.h"

/* What a statement holds in nodes of one kind, what limits these, and what else it holds. */
static void
say_nodes(PlhDoubt *doubt, const PlhProfileImage *image, const PlhFamilyAccount *nodes,
		  const PlhAccount *account, bool runs)
{
	double		allowed = (double) plh_limit_sentences_node_bytes(image, nodes->family) *
		(double) Max(nodes->contexts, 1);

	plh_sentences_say(&doubt->words, nodes->bytes <= allowed ? PLH_SAYS_nodes_within :
					  PLH_SAYS_nodes_about, runs,
					  PLH_FIELDS(.title = nodes->family->title,
								 .bytes = plh_words_size(nodes->bytes)));
	plh_limit_sentences_say(&doubt->words, image, nodes->family, PLH_LIMIT_NODE);
	plh_limit_sentences_say_plan(&doubt->words, image);
	plh_statement_evidence_say_rest(&doubt->words,
									plh_statement_suspect_is_counted(account, image->header) ?
									account : NULL, nodes->family, runs);
}

bool
plh_doubt_held_find_cursors(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	PlhHolder	holder;

	if (!plh_holder_sentences_find(&holder, doubted->process))
		return false;
	plh_holder_sentences_say(&doubt->words, &holder, doubted->findings->account, image);
	PLH_SAY(&doubt->words, true, holder_is_no_leak);
	plh_holder_sentences_say_end(&doubt->words, &holder, image->alive);
	if (image->alive)
		plh_holder_sentences_advise(&doubt->next, &holder);
	return true;
}

/* What is held at the site that has most, by a statement or by a transaction that waits. */
static void
say_largest(PlhDoubt *doubt, const PlhDoubted *doubted, const PlhSiteRecord *site)
{
	const PlhProfileImage *image = doubted->process->image;
	PlhHolder	holder = plh_memory_holder_find(image, site->counters.live_bytes);
	PlhFields	fields = {NULL};

	plh_doubted_site_fill(&fields, image, site, doubted->findings->account, doubted->stacks,
						  &doubt->nameless);
	fields.noun = plh_statement_evidence_noun(site->key.lifetime);
	fields.since = plh_words_time(holder.waits_since);
	if (holder.kind == PLH_HELD_BY_TRANSACTION)
	{
		plh_sentences_say(&doubt->words, PLH_SAYS_transaction_within, true, &fields);
		PLH_SAY(&doubt->words, true, holder_is_no_leak);
		plh_holder_sentences_say_end(&doubt->words, &holder, true);
		plh_holder_sentences_advise(&doubt->next, &holder);
		return;
	}
	plh_sentences_say(&doubt->words, PLH_SAYS_site_within,
					  image->alive && holder.kind == PLH_HELD_BY_STATEMENT, &fields);
	plh_limit_sentences_say(&doubt->words, image,
							plh_statement_evidence_nodes(doubted->findings->account),
							plh_statement_limit_kind(image, site));
}

static bool
is_of_nodes(const PlhFamily *family)
{
	return family != NULL && family->kind == PLH_FAMILY_NODES;
}

/*
 * The nodes of a plan that hold much: the largest part of what was counted, as each of them may
 * have a site of its own, or that with the largest site, where others have more at many.  NULL
 * where there are none, or most is freed since.
 */
static const PlhFamilyAccount *
large_nodes(const PlhProfileImage *image, const PlhAccount *account, const PlhSiteRecord *largest)
{
	bool		is_largest = is_of_nodes(plh_site_suspects_family(image, largest));

	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (family->lasting)
			continue;
		if (is_of_nodes(family->family))
			return family->bytes >= PLH_SUSPECT_LARGE_BYTES &&
				plh_doubted_site_passing(image) >= family->bytes / 2 ? family : NULL;
		if (!is_largest)
			return NULL;
	}
	return NULL;
}

bool
plh_doubt_held_find_statement(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhAccount *account = doubted->findings->account;
	const PlhSiteRecord *site = plh_doubted_site_largest(image, PLH_DOUBTED_IN_STATEMENT);
	const PlhFamilyAccount *nodes;

	if (site == NULL)
		return false;
	nodes = large_nodes(image, account, site);
	if (nodes != NULL && !plh_moment_has_lost(doubted->process, nodes->bytes) &&
		plh_statement_limit_kind(image, site) == PLH_LIMIT_NODE)
		say_nodes(doubt, image, nodes, account, image->alive &&
				  plh_memory_holder_find(image, nodes->bytes).kind == PLH_HELD_BY_STATEMENT);
	else if (site->counters.live_bytes >= PLH_SUSPECT_LARGE_BYTES)
		say_largest(doubt, doubted, site);
	else
		return false;
	return true;
}

/*
 * holder_sentences.c
 *	  What is said of cursors that are open, and of transactions whose sessions wait.
 *
 * A portal without a name is that of a statement which the client has not read to its end, or not
 * closed.  All others are cursors, whoever has opened them: DECLARE, a driver, or a function.
 */
#include "postgres.h"

#include "judge/statement_suspect.h"
#include "report/words.h"
#include "telling/holder_sentences.h"
#include "telling/limit_sentences.h"

/* What cursors hold in contexts of one kind is told where it is this part of it. */
#define KIND_PART 2

PlhHolder
plh_holder_sentences_of(const PlhFinding *finding, const PlhProfileImage *image)
{
	const PlhFamilyAccount *family = plh_finding_family(finding);

	if (finding->kind != PLH_KIND_STATEMENT && finding->kind != PLH_KIND_MALLOC_GROWS &&
		finding->kind != PLH_KIND_MALLOC_REACHED &&
		(family == NULL || family->lasting))
		return (PlhHolder)
	{
		PLH_HELD_BY_STATEMENT
	};
	return plh_memory_holder_find(image, finding->bytes);
}

bool
plh_holder_sentences_find(PlhHolder *holder, const PlhExplainedProcess *process)
{
	*holder = plh_memory_holder_find(process->image, 0);
	return holder->kind == PLH_HELD_BY_CURSORS && holder->bytes >= PLH_SUSPECT_LARGE_BYTES &&
		(process->rss_anon_bytes < 0 || process->rss_anon_bytes >=
		 holder->bytes - plh_account_unwritten_bytes(process->image->header));
}

bool
plh_holder_sentences_explain(const PlhHolder *holder, const PlhFinding *finding)
{
	const PlhFamilyAccount *family = plh_finding_family(finding);

	return holder->kind == PLH_HELD_BY_CURSORS &&
		(finding->kind == PLH_KIND_STATEMENT ||
		 (family != NULL && !family->lasting && family->family != NULL &&
		  family->family->kind != PLH_FAMILY_DECODING));
}

static bool
is_nameless(const PlhHolder *holder)
{
	return holder->name == NULL || holder->name[0] == '\0';
}

const char *
plh_holder_sentences_cause(const PlhHolder *holder)
{
	if (holder->kind == PLH_HELD_BY_TRANSACTION)
		return PLH_PHRASE(true, cause_transaction);
	if (holder->cursors > 1)
		return PLH_PHRASE(true, cause_cursors);
	return is_nameless(holder) ? PLH_PHRASE(true, cause_result) : PLH_PHRASE(true, cause_cursor);
}

/* The family that has most of what ends with statements; NULL: none is known. */
static const PlhFamilyAccount *
largest_passing(const PlhAccount *account)
{
	for (int i = 0; account != NULL && i < account->family_count; i++)
		if (!account->families[i].lasting)
			return account->families[i].family == NULL ? NULL : &account->families[i];
	return NULL;
}

/* What most of it is for, and what limits that.  Each cursor needs something of the executor. */
static void
say_kind(PlhSaid *said, const PlhHolder *holder, const PlhAccount *account,
		 const PlhProfileImage *image)
{
	const PlhFamilyAccount *family = largest_passing(account);

	if (family == NULL || family->bytes < holder->bytes / KIND_PART ||
		family->family->kind == PLH_FAMILY_EXECUTOR)
		return;
	PLH_SAY(said, image->alive, cursor_for,.title = family->family->title,
			.bytes = plh_words_size(Min(family->bytes, holder->bytes)));
	if (family->family->kind == PLH_FAMILY_NODES && holder->cursors == 1)
	{
		plh_limit_sentences_say(said, image, family->family, PLH_LIMIT_NODE);
		plh_limit_sentences_say_plan(said, image);
	}
}

/* The one that is open, or the largest. */
static void
say_cursors(PlhSaid *said, const PlhHolder *holder, bool alive)
{
	const PlhFields fields = {
		.count = holder->cursors,
		.name = holder->name,
		.since = plh_words_time(holder->cursor->opened_at),
		.bytes = plh_words_size(holder->bytes),
		.most = plh_words_size(Min(holder->cursor->bytes, holder->bytes))
	};

	if (holder->cursors == 1)
	{
		plh_sentences_say(said, is_nameless(holder) ? PLH_SAYS_result_holds :
						  PLH_SAYS_cursor_holds, alive, &fields);
		return;
	}
	plh_sentences_say(said, PLH_SAYS_cursors_hold, alive, &fields);
	if (!is_nameless(holder))
		plh_sentences_say(said, PLH_SAYS_cursor_largest, alive, &fields);
}

void
plh_holder_sentences_say(PlhSaid *said, const PlhHolder *holder,
						 const PlhAccount *account, const PlhProfileImage *image)
{
	say_cursors(said, holder, image->alive);
	say_kind(said, holder, account, image);
	if (holder->waits)
		PLH_SAY(said, true, transaction_waits,.since = plh_words_time(holder->waits_since));
}

void
plh_holder_sentences_say_end(PlhSaid *said, const PlhHolder *holder, bool alive)
{
	if (holder->kind == PLH_HELD_BY_TRANSACTION)
		PLH_SAY(said, alive, transaction_frees);
	else if (holder->cursors == 1 && is_nameless(holder))
		PLH_SAY(said, alive, result_frees);
	else if ((holder->cursor->flags & PLH_PORTAL_HOLDS) != 0)
		PLH_SAY(said, alive, cursor_with_hold_frees);
	else
		PLH_SAY(said, alive, cursor_frees);
}

PlhSentence
plh_holder_sentences_on_query(const PlhHolder *holder)
{
	if (holder->cursors > 1)
		return PLH_SAYS_cursor_statement_largest;
	return is_nameless(holder) ? PLH_SAYS_result_statement : PLH_SAYS_cursor_statement;
}

void
plh_holder_sentences_advise(PlhSaid *said, const PlhHolder *holder)
{
	if (holder->kind == PLH_HELD_BY_TRANSACTION || (holder->cursors == 1 && is_nameless(holder)))
		PLH_SAY(said, true, end_transaction);
	else if ((holder->cursor->flags & PLH_PORTAL_HOLDS) != 0)
		PLH_SAY(said, true, close_held_cursors);
	else
		PLH_SAY(said, true, close_cursors);
	if (holder->waits)
		PLH_SAY(said, true, idle_timeout);
}

void
plh_holder_sentences_say_beside(PlhSaid *said, const PlhHolder *holder)
{
	if (holder->waits && holder->cursor != NULL && !is_nameless(holder))
		PLH_SAY(said, true, cursor_beside,.name = holder->name,
				.since = plh_words_time(holder->cursor->opened_at));
}

/*
 * finding_advice.c
 *	  What to do next about a finding, in a few sentences.
 */
#include "postgres.h"

#include "judge/process_kind.h"
#include "judge/suspect.h"
#include "judge/unwritten.h"
#include "report/blamed_code.h"
#include "report/words.h"
#include "telling/ending_advice.h"
#include "telling/finding_advice.h"
#include "telling/outside_advice.h"
#include "telling/site_family.h"

/* From this size on a single value or text is a cause by itself. */
#define VALUE_BYTES INT64CONST(33554432)

/* What advice depends on. */
typedef struct Advised
{
	PlhSaid    *said;
	const PlhFinding *finding;
	const PlhProfileImage *image;
	const PlhListedSite *named; /* the site it is named after; NULL: none */
	PlhBlamedCode code;			/* the extension or language nearest to it */
	const PlhFamily *family;	/* what is known of the code that allocates,
								 * if it is the server's; else NULL */
} Advised;

static void
say_help(const Advised *advised, const PlhFamily *family)
{
	PLH_SAY(advised->said, true, help,.help = family->help);
}

/* Is most of it memory that was never written to, in a process that is there? */
static bool
is_unwritten(const Advised *advised)
{
	return advised->image->alive &&
		plh_unwritten_of(advised->finding, advised->image->header) == PLH_UNWRITTEN_MOST;
}

/* How to have the kernel get back what was freed. */
static void
advise_on_freed(const Advised *advised)
{
	const PlhProfileHeader *header = advised->image->header;
	PlhProcessKind kind = plh_process_kind(header);

	if (advised->image->alive &&
		(kind == PLH_PROCESS_SESSION || kind == PLH_PROCESS_BACKGROUND_WORKER))
		PLH_SAY(advised->said, true, trim,.pid = header->pid);
	else
		plh_ending_advice_end(advised->said, advised->image);
	PLH_SAY(advised->said, true, trim_threshold);
}

/* Whose fault a leak is in code of the server, or where to look. */
static PlhSentence
author_of(const PlhProfileImage *image)
{
	switch (plh_process_kind(image->header))
	{
		case PLH_PROCESS_SESSION:
		case PLH_PROCESS_PARALLEL_WORKER:
			return PLH_SAYS_author_of_statement;
		case PLH_PROCESS_BACKGROUND_WORKER:
			return PLH_SAYS_author_of_worker;
		case PLH_PROCESS_AUTOVACUUM_WORKER:
			return PLH_SAYS_author_of_vacuum;
		case PLH_PROCESS_WALSENDER:
		case PLH_PROCESS_OTHER:
			break;
	}
	return PLH_SAYS_author_is_core;
}

/* Where to look for what a function of a language keeps, or calls. */
static void
say_language(const Advised *advised)
{
	const PlhSiteRecord *site = advised->finding->site;
	const char *language = advised->code.language;

	PLH_SAY(advised->said, true, language_ran,.language = language);
	if (site != NULL && site->key.lifetime == PLH_LIFETIME_PROCESS)
		PLH_SAY(advised->said, true, language_keeps,.store = plh_outside_advice_store(language));
	else
		PLH_SAY(advised->said, true, language_calls);
}

/* What to do about a site that keeps growing. */
static void
advise_on_leak(const Advised *advised)
{
	if (advised->family != NULL)
		say_help(advised, advised->family);
	else if (advised->code.library != NULL)
		PLH_SAY(advised->said, true, report_to_authors,.library = advised->code.library);
	else if (advised->code.language != NULL)
		say_language(advised);
	else
		plh_sentences_say(advised->said, author_of(advised->image), true, PLH_FIELDS(NULL));
	if (is_unwritten(advised))
		PLH_SAY(advised->said, true, no_hurry);
	else
		plh_ending_advice_recycle(advised->said, advised->image);
}

/* What to do about what a few transactions have left. */
static void
advise_on_held(const Advised *advised)
{
	if (advised->family != NULL)
		say_help(advised, advised->family);
	if (advised->family == NULL && is_unwritten(advised))
		PLH_SAY(advised->said, true, no_need);
	else
		plh_ending_advice_end(advised->said, advised->image);
}

/* What to do about a node that holds more than it may, or about many. */
static void
say_nodes(const Advised *advised)
{
	const PlhStatementFound *statement = &advised->finding->statement;
	int64		each = statement->node_bytes / Max(1, statement->nodes);

	if (each > PLH_SUSPECT_QUERY_LIMITS * statement->limit_bytes)
		PLH_SAY(advised->said, true, node_misjudged);
	else if (each > statement->limit_bytes / 2)
		PLH_SAY(advised->said, true, nodes_full);
	else
		PLH_SAY(advised->said, true, nodes_many,.each = plh_words_size(each));
}

/* Does the call site that the finding is named after begin with that function? */
static bool
is_at(const PlhListedSite *named, const char *function)
{
	return named != NULL && named->stack.site != NULL &&
		strncmp(named->stack.site, function, strlen(function)) == 0;
}

/*
 * Is that where the buffer of a temporary file is allocated?  A node has one or two of them, unless
 * a hash join has very many batches, whose buffers have a context of their own from 16 on.
 */
static bool
is_file_buffer(const PlhListedSite *named)
{
	return is_at(named, "BufFileCreateTemp") || is_at(named, "makeBufFile");
}

/*
 * About how large a single value or text is that has much of what a statement holds; 0 where there
 * is none.  Arrays of hash tables and sorts are single chunks, too, but in nodes, or known by the
 * functions that enlarge them.
 */
static int64
value_bytes(const Advised *advised)
{
	const PlhStatementFound *statement = &advised->finding->statement;
	const PlhCounters *counters;
	int64		bytes;

	if (advised->code.library != NULL || advised->code.language != NULL ||
		advised->named == NULL || advised->named->stack.site == NULL ||
		statement->share_count == 0 || is_at(advised->named, "tuplehash_grow") ||
		(statement->part != NULL &&
		 statement->part->family != plh_family_of("MessageContext")) ||
		statement->node_bytes > advised->finding->bytes / 2)
		return 0;
	counters = &statement->shares[0].site->counters;
	bytes = counters->live_count == 0 ? 0 : counters->live_bytes / counters->live_count;
	return bytes < VALUE_BYTES ? 0 : bytes;
}

/* What to do about such a value: as the client sends it, or as a function makes it. */
static void
say_value(const Advised *advised, int64 bytes)
{
	plh_sentences_say(advised->said, advised->finding->statement.part != NULL ?
					  PLH_SAYS_value_of_client : PLH_SAYS_value_made, true,
					  PLH_FIELDS(.bytes = plh_words_size(bytes)));
}

/* What to do where functions build large values. */
static void
say_functions(const Advised *advised)
{
	switch (plh_process_kind(advised->image->header))
	{
		case PLH_PROCESS_SESSION:
			PLH_SAY(advised->said, true, functions_hold);
			break;
		case PLH_PROCESS_PARALLEL_WORKER:
			PLH_SAY(advised->said, true, leader_holds);
			break;
		case PLH_PROCESS_AUTOVACUUM_WORKER:
			PLH_SAY(advised->said, true, vacuum_holds);
			break;
		case PLH_PROCESS_BACKGROUND_WORKER:
		case PLH_PROCESS_WALSENDER:
		case PLH_PROCESS_OTHER:
			PLH_SAY(advised->said, true, see_report,.pid = advised->image->header->pid,
					.noun = plh_process_kind_noun(advised->image));
	}
}

/* What to do to have a statement take less. */
static void
advise_on_statement(const Advised *advised)
{
	const PlhStatementFound *statement = &advised->finding->statement;
	int64		value = value_bytes(advised);

	if (value > 0)
		say_value(advised, value);
	else if (statement->part != NULL)
		say_help(advised, statement->part->family);
	else if (is_file_buffer(advised->named))
		PLH_SAY(advised->said, true, file_buffers,.help = plh_family_of("HashSpillContext")->help);
	else if (advised->family != NULL)
		say_help(advised, advised->family);
	else if (statement->node_bytes > advised->finding->bytes / 2)
		say_nodes(advised);
	else if (advised->code.library != NULL)
		PLH_SAY(advised->said, true, library_allocates,.library = advised->code.library);
	else if (advised->code.language != NULL)
		PLH_SAY(advised->said, true, language_holds,.language = advised->code.language);
	else
		say_functions(advised);
	plh_ending_advice_cancel(advised->said, advised->image);
}

/* What to do about contexts of a name that nobody knows. */
static void
say_creator(const Advised *advised)
{
	if (advised->code.library != NULL)
		PLH_SAY(advised->said, true, creator_of_library,.library = advised->code.library);
	else if (advised->code.language != NULL)
		PLH_SAY(advised->said, true, creator_of_language,.language = advised->code.language);
	else
		PLH_SAY(advised->said, true, creator_unknown,
				.context = plh_account_name(advised->finding->contexts.family, advised->image));
}

/* How to free what contexts have. */
static void
say_freeing(const Advised *advised)
{
	const PlhFamilyAccount *family = advised->finding->contexts.family;

	if (family->family == plh_family_of("CurTransactionContext"))
		plh_ending_advice_subtransactions(advised->said, advised->image);
	else if (!family->lasting)
		plh_ending_advice_cancel(advised->said, advised->image);
	else if (advised->finding->kind != PLH_KIND_CACHE_GROWS)
		plh_ending_advice_end_now(advised->said, advised->image);
}

/* What to do about contexts. */
static void
advise_on_contexts(const Advised *advised)
{
	const PlhFamily *family = advised->finding->contexts.family->family;

	if (family == NULL)
		say_creator(advised);
	else
		say_help(advised, family->kind == PLH_FAMILY_CACHE && advised->family != NULL ?
				 advised->family : family);
	say_freeing(advised);
}

void
plh_finding_advice_say(PlhSaid *said, const PlhFinding *finding,
					   const PlhProfileImage *image, const PlhListedSite *named,
					   const PlhMallocStatement *statement)
{
	Advised		advised = {said, finding, image, named};

	if (named != NULL)
	{
		advised.code = plh_blamed_code_find(&named->stack);
		advised.family = plh_site_family(&named->stack);
	}
	switch (finding->kind)
	{
		case PLH_KIND_SITE_LEAKS:
		case PLH_KIND_MALLOC_SITE_LEAKS:
			advise_on_leak(&advised);
			break;
		case PLH_KIND_SITE_HOLDS:
			advise_on_held(&advised);
			break;
		case PLH_KIND_CONTEXTS_GROW:
		case PLH_KIND_CONTEXTS_HOLD:
		case PLH_KIND_CACHE_GROWS:
		case PLH_KIND_DECODING:
			advise_on_contexts(&advised);
			break;
		case PLH_KIND_STATEMENT:
			advise_on_statement(&advised);
			break;
		case PLH_KIND_MALLOC_GROWS:
			plh_outside_advice_of_malloc(said, image, statement->may_run);
			break;
		case PLH_KIND_MAPPED_GROWS:
			plh_outside_advice_of_mapped(said, image, statement->may_run);
			break;
		case PLH_KIND_MALLOC_KEEPS:
			advise_on_freed(&advised);
			break;
		case PLH_KIND_SITE_GROWS:
		case PLH_KIND_PROCESS_GROWS:
			PLH_SAY(said, true, look_later);
			break;
		case PLH_KINDS:
			break;
	}
}

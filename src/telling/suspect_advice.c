/*
 * suspect_advice.c
 *	  What to do next about a suspect, in a sentence or two.
 */
#include "postgres.h"

#include "judge/process_kind.h"
#include "judge/unwritten.h"
#include "report/blamed_code.h"
#include "report/words.h"
#include "telling/ending_advice.h"
#include "telling/outside_advice.h"
#include "telling/site_family.h"
#include "telling/suspect_advice.h"

/* From this size on a single value or text is a cause by itself. */
#define VALUE_BYTES INT64CONST(33554432)

/* How to have the kernel get back what was freed, as a sentence. */
static const char *
give_back_text(const PlhProfileImage *image)
{
	switch (plh_process_kind(image->header))
	{
		case PLH_KIND_SESSION:
		case PLH_KIND_BACKGROUND_WORKER:
			if (image->alive)
				return psprintf("To give it back to the kernel: SELECT pg_leakhunt_trim(%d).",
								image->header->pid);
			break;
		default:
			break;
	}
	return plh_ending_advice_end(image);
}

/* The extension or language that is nearest to the allocation, if that is known. */
static PlhBlamedCode
blamed_code(const PlhListedSite *listed)
{
	PlhBlamedCode none = {NULL, NULL};

	return listed == NULL ? none : plh_blamed_code_find(&listed->stack);
}

/* What is known of the code that allocates, if it is the server's. */
static const PlhFamily *
family_of(const PlhListedSite *listed)
{
	return listed == NULL ? NULL : plh_site_family(&listed->stack);
}

/* Whose fault a leak is in code of the server, or where to look. */
static const char *
author_text(const PlhProfileImage *image)
{
	switch (plh_process_kind(image->header))
	{
		case PLH_KIND_SESSION:
		case PLH_KIND_PARALLEL_WORKER:
			return "See which functions the statement calls: one of them, or PostgreSQL itself, never frees this. If it is PostgreSQL, a newer minor release may fix it.";
		case PLH_KIND_BACKGROUND_WORKER:
			return "See which extension started this background worker: its code, or PostgreSQL itself, never frees this. If it is PostgreSQL, a newer minor release may fix it.";
		case PLH_KIND_AUTOVACUUM_WORKER:
			return "A newer minor release of PostgreSQL may fix it. If not, look at the functions in expressions of indexes.";
		case PLH_KIND_WALSENDER:
		case PLH_KIND_OTHER:
			break;
	}
	return "A newer minor release of PostgreSQL may fix it. If not, report it to PostgreSQL's developers, with what pg_leakhunt_suspects shows as \"stack\".";
}

/* How to live with what stays, as a sentence. */
static const char *
live_with_text(const PlhSuspect *suspect, const PlhProfileImage *image)
{
	return image->alive &&
		plh_unwritten_is_most(&suspect->facts, image->header) ?
		"There is no hurry: most of it was never written to, and takes no memory." :
		plh_ending_advice_recycle(image);
}

/* Where to look for what a function of a language keeps, or calls, as two sentences. */
static const char *
keeper_text(const PlhSuspect *suspect, const char *language)
{
	if (suspect->site != NULL && suspect->site->key.lifetime == PLH_LIFETIME_PROCESS)
		return psprintf("See what it keeps in %s. If it keeps nothing there, a module or a function that it calls never frees this.",
						plh_outside_advice_store(language));
	return "See which functions it calls: one of them, or PostgreSQL itself, never frees this. If it is PostgreSQL, a newer minor release may fix it.";
}

/* What to do about a site that keeps growing. */
static const char *
next_of_leak(const PlhSuspect *suspect, const PlhProfileImage *image,
			 const PlhListedSite *listed)
{
	PlhBlamedCode code = blamed_code(listed);
	const PlhFamily *family = family_of(listed);
	const char *recycle = live_with_text(suspect, image);

	if (family != NULL)
		return psprintf("%s %s", family->help, recycle);
	if (code.library != NULL)
		return psprintf("Report this to the authors of %s, with what pg_leakhunt_suspects shows as \"stack\". %s",
						code.library, recycle);
	if (code.language != NULL)
		return psprintf("A %s function was running when this was allocated. %s %s",
						code.language, keeper_text(suspect, code.language), recycle);
	return psprintf("%s %s", author_text(image), recycle);
}

/* What to do about what a few transactions have left. */
static const char *
next_of_held(const PlhSuspect *suspect, const PlhProfileImage *image,
			 const PlhListedSite *listed)
{
	const PlhFamily *family = family_of(listed);

	if (family != NULL)
		return psprintf("%s %s", family->help, plh_ending_advice_end(image));
	return image->alive &&
		plh_unwritten_is_most(&suspect->facts, image->header) ?
		"There is no need to act: most of it was never written to, and takes no memory." :
		plh_ending_advice_end(image);
}

/* What to do about a node that holds more than it may, or about many. */
static const char *
next_of_nodes(const PlhSuspectFacts *facts)
{
	int64		each = facts->node_bytes / Max(1, facts->nodes);

	if (each > PLH_SUSPECT_QUERY_LIMITS * facts->limit_bytes)
		return "EXPLAIN the statement: a hash table got far more rows than the planner expected, or very many rows have the same key. Update statistics with ANALYZE, or rewrite the statement. Where very many rows have the same key, SET enable_hashjoin = off for it.";
	if (each > facts->limit_bytes / 2)
		return "Lower work_mem or hash_mem_multiplier for this statement, or change its plan so that it has fewer hash tables and sorts.";
	return psprintf("Let the plan have fewer hash tables and sorts: read fewer partitions, or SET enable_partitionwise_join = off (the default). A lower work_mem helps only if it allows less than %s, which each of them holds on average.",
					plh_words_size(each));
}

/*
 * Is that where the buffer of a temporary file is allocated?  A node has one or two of
 * them, unless a hash join has very many batches, whose buffers have a context of their
 * own from 16 on.
 */
static bool
is_file_buffer(const PlhListedSite *listed)
{
	return listed != NULL && listed->stack.site != NULL &&
		(strncmp(listed->stack.site, "BufFileCreateTemp", 17) == 0 ||
		 strncmp(listed->stack.site, "makeBufFile", 11) == 0);
}

/*
 * About how large a single value or text is that has much of what a statement holds; 0
 * where there is none.  Arrays of hash tables and sorts are single chunks, too, but in
 * nodes, or known by the functions that enlarge them.
 */
static int64
value_bytes(const PlhSuspect *suspect, const PlhListedSite *listed)
{
	const PlhCounters *counters;

	if (listed == NULL || listed->stack.site == NULL || suspect->share_count == 0 ||
		strncmp(listed->stack.site, "tuplehash_grow", 14) == 0 ||
		(suspect->part != NULL && suspect->part->family != plh_family_of("MessageContext")) ||
		suspect->facts.node_bytes > suspect->facts.live_bytes / 2)
		return 0;
	counters = &suspect->shares[0].site->counters;
	return counters->live_count == 0 || counters->live_bytes / counters->live_count < VALUE_BYTES ?
		0 : counters->live_bytes / counters->live_count;
}

/* What to do about such a value: as the client sends it, or as a function makes it. */
static const char *
next_of_value(const PlhSuspect *suspect, int64 bytes)
{
	if (suspect->part != NULL)
		return psprintf("A single value or text of the statement has about %s, and is copied when the statement is parsed and run."
						" Pass it as a parameter instead of a literal, which saves copies. Better, send it in parts: as several rows, or as a large object (lo_put).",
						plh_words_size(bytes));
	return psprintf("A single value has about %s, and work_mem does not limit values. See by the call sites which function or aggregate builds it."
					" Let the client read it in parts: as several rows, or with substring() of a column.",
					plh_words_size(bytes));
}

/* What to do to have a statement take less. */
static const char *
next_of_statement(const PlhSuspect *suspect, const PlhProfileImage *image,
				  const PlhListedSite *listed)
{
	const PlhSuspectFacts *facts = &suspect->facts;
	PlhBlamedCode code = blamed_code(listed);
	int64		value = code.library != NULL || code.language != NULL ? 0 :
		value_bytes(suspect, listed);

	if (value > 0)
		return next_of_value(suspect, value);
	if (suspect->part != NULL)
		return suspect->part->family->help;
	if (is_file_buffer(listed))
		return psprintf("These are buffers of temporary files, two for each batch of a hash join. %s",
						plh_family_of("HashSpillContext")->help);
	if (family_of(listed) != NULL)
		return family_of(listed)->help;
	if (facts->node_bytes > facts->live_bytes / 2)
		return next_of_nodes(facts);
	if (code.library != NULL)
		return psprintf("The largest part of it was allocated by functions of %s, or by functions that these called. See which of them the statement uses: work_mem does not limit what extensions keep.",
						code.library);
	if (code.language != NULL)
		return psprintf("Look in the %s code that the statement runs for variables that hold large arrays or texts. work_mem does not limit these.",
						code.language);
	switch (plh_process_kind(image->header))
	{
		case PLH_KIND_SESSION:
			return "See by the call sites which function, aggregate or trigger of the statement builds large values, and let it build smaller ones. work_mem does not limit what they keep.";
		case PLH_KIND_PARALLEL_WORKER:
			return "See by the call sites which function or aggregate of the leader's statement builds large values, and let it build smaller ones. work_mem does not limit what they keep.";
		case PLH_KIND_AUTOVACUUM_WORKER:
			return "See which table it works on in pg_stat_progress_vacuum. autovacuum_work_mem does not limit what functions in expressions of indexes keep.";
		default:
			break;
	}
	return psprintf("See by the stack what the %s was doing: SELECT * FROM pg_leakhunt_report WHERE pid = %d.",
					plh_process_kind_noun(image), image->header->pid);
}

/* What to do about contexts of a name that nobody knows, as two sentences. */
static const char *
next_of_unknown(const PlhSuspect *suspect, const PlhProfileImage *image,
				const PlhListedSite *listed)
{
	PlhBlamedCode code = blamed_code(listed);
	const char *name = plh_account_name(suspect->family, image);

	if (code.library != NULL)
		return psprintf("Find what creates them and never deletes them. Memory in them was allocated through %s: report this to its authors.",
						code.library);
	if (code.language != NULL)
		return psprintf("Find what creates them and never deletes them. Memory in them was allocated while a %s function was running.",
						code.language);
	return psprintf("Search the sources of the extensions that this session uses for \"%s\": code there creates contexts of that name, and never deletes them.",
					name);
}

/* What to do about contexts. */
static const char *
next_of_family(const PlhSuspect *suspect, const PlhProfileImage *image,
			   const PlhListedSite *listed)
{
	const PlhFamily *family = suspect->family->family;
	const PlhFamily *of_site = family_of(listed);

	if (family == NULL)
		return next_of_unknown(suspect, image, listed);
	return family->kind == PLH_FAMILY_CACHE && of_site != NULL ? of_site->help :
		family->help;
}

/* How to free what contexts have, as a sentence; "" where that is of no use. */
static const char *
free_text(const PlhSuspect *suspect, const PlhProfileImage *image)
{
	if (suspect->family->family == plh_family_of("CurTransactionContext"))
		return plh_ending_advice_subtransactions(image);
	if (!suspect->family->lasting)
		return plh_ending_advice_cancel(image);
	return suspect->judgement.verdict == PLH_VERDICT_GROWING ? "" : plh_ending_advice_end_now(image);
}

/*
 * What to do about a verdict on the process of an image, in a sentence or two.
 */
const char *
plh_suspect_advice(const PlhSuspect *suspect,
				   const PlhProfileImage *image,
				   const PlhListedSite *listed,
				   const PlhMallocStatement *statement)
{
	if (suspect->family != NULL)
		return psprintf("%s%s", next_of_family(suspect, image, listed),
						free_text(suspect, image));
	if (plh_suspect_leaks(&suspect->facts, &suspect->judgement))
		return next_of_leak(suspect, image, listed);
	switch (suspect->judgement.verdict)
	{
		case PLH_VERDICT_QUERY:
			return psprintf("%s%s", next_of_statement(suspect, image, listed),
							plh_ending_advice_cancel(image));
		case PLH_VERDICT_HELD:
			return next_of_held(suspect, image, listed);
		case PLH_VERDICT_MALLOC:
			return plh_outside_advice_of_malloc(image, statement->may_run);
		case PLH_VERDICT_MAPPED:
			return plh_outside_advice_of_mapped(image, statement->may_run);
		case PLH_VERDICT_FREED:
			return psprintf("%s glibc gives more back at once if the server starts with MALLOC_TRIM_THRESHOLD_=131072 in its environment.",
							give_back_text(image));
		case PLH_VERDICT_GROWING:
		default:
			break;
	}
	return "Look again later: a leak keeps growing, a cache does not.";
}

/*
 * suspect_advice.c
 *	  What to do next about a suspect, in a sentence or two.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "base/compat.h"
#include "base/settings.h"
#include "report/blamed_code.h"
#include "report/malloc_callers.h"
#include "report/words.h"
#include "verdict/site_family.h"
#include "verdict/suspect_advice.h"
#include "verdict/unwritten.h"

/* What kinds of processes need advice of their own. */
typedef enum ProcessKind
{
	SESSION,
	BACKGROUND_WORKER,			/* of an extension, or logical replication */
	PARALLEL_WORKER,
	AUTOVACUUM_WORKER,
	WALSENDER,
	OTHER_PROCESS
} ProcessKind;

static ProcessKind
kind_of(const PlhProfileHeader *header)
{
	switch (header->backend_type)
	{
		case B_BACKEND:
			return SESSION;
		case B_BG_WORKER:
			return strcmp(header->label, "parallel worker") == 0 ?
				PARALLEL_WORKER : BACKGROUND_WORKER;
		case B_AUTOVAC_WORKER:
			return AUTOVACUUM_WORKER;
		case B_WAL_SENDER:
			return WALSENDER;
		default:
			return OTHER_PROCESS;
	}
}

/* What a process is called that has clients, or has none. */
const char *
plh_suspect_advice_noun(const PlhProfileImage *image)
{
	static const char *const nouns[] = {
		"session", "background worker", "parallel worker", "autovacuum worker",
		"walsender", "process"
	};

	return nouns[kind_of(image->header)];
}

/* How to end a process so that its memory is freed, as a sentence. */
static const char *
end_text(const PlhProfileImage *image)
{
	if (image->crashed)
		return psprintf("Nothing: the memory was freed when the %s ended.",
						plh_suspect_advice_noun(image));
	if (!image->alive)			/* a dump of a process that may run still */
		return psprintf("If the %s still runs, end it, unless it will need this memory again.",
						plh_suspect_advice_noun(image));
	switch (kind_of(image->header))
	{
		case SESSION:
			return psprintf("End the session, unless it will need this memory again: SELECT pg_terminate_backend(%d).",
							image->header->pid);
		case PARALLEL_WORKER:
		case AUTOVACUUM_WORKER:
			return psprintf("Wait until the %s ends: it does so with its work.",
							plh_suspect_advice_noun(image));
		case BACKGROUND_WORKER:
		case WALSENDER:
			return psprintf("Restart the %s, unless it will need this memory again: SELECT pg_terminate_backend(%d).",
							plh_suspect_advice_noun(image), image->header->pid);
		case OTHER_PROCESS:
			break;
	}
	return "A restart of the server frees this memory.";
}

/* How to live with a process that keeps growing, as a sentence; "" where it ends anyway. */
static const char *
recycle_text(const PlhProfileImage *image)
{
	switch (kind_of(image->header))
	{
		case SESSION:
			return psprintf("Until this is fixed, limit how long such connections live (a pool's max lifetime), or end them from time to time%s.",
							!image->alive ? "" :
							psprintf(": SELECT pg_terminate_backend(%d)", image->header->pid));
		case BACKGROUND_WORKER:
		case WALSENDER:
			return psprintf("Until this is fixed, restart such %ss from time to time%s.",
							plh_suspect_advice_noun(image),
							!image->alive ? "" :
							psprintf(": SELECT pg_terminate_backend(%d)", image->header->pid));
		case PARALLEL_WORKER:
		case AUTOVACUUM_WORKER:
			return psprintf("Each %s frees it when it ends.", plh_suspect_advice_noun(image));
		case OTHER_PROCESS:
			break;
	}
	return "Until this is fixed, only a restart of the server frees it.";
}

/* How to free at once what ends with the session, as a sentence; "" where nobody can. */
static const char *
end_now_text(const PlhProfileImage *image)
{
	if (!image->alive || kind_of(image->header) != SESSION)
		return "";
	return psprintf(" To free it now, end the session: SELECT pg_terminate_backend(%d).",
					image->header->pid);
}

/* The same of what ends with the statement or transaction. */
static const char *
cancel_text(const PlhProfileImage *image)
{
	if (!image->alive || kind_of(image->header) != SESSION)
		return "";
	return psprintf(" To free it now: SELECT pg_cancel_backend(%d), or pg_terminate_backend(%d) if the session is idle in transaction.",
					image->header->pid, image->header->pid);
}

/*
 * The same of subtransactions: where a client has set savepoints, a statement that is
 * cancelled goes back to the last of them only.
 */
static const char *
end_subtransactions_text(const PlhProfileImage *image)
{
	if (!image->alive || kind_of(image->header) != SESSION)
		return "";
	return psprintf(" To free it now: SELECT pg_cancel_backend(%d). If its client has set savepoints, this frees nothing before ROLLBACK or COMMIT; then end the session: SELECT pg_terminate_backend(%d).",
					image->header->pid, image->header->pid);
}

/*
 * How to see the call sites of malloc, as a sentence; NULL where they are known.
 */
const char *
plh_suspect_advice_malloc_hint(const PlhProfileHeader *header)
{
	if (header->malloc_tracked)
		return NULL;
	return plh_track_malloc ?
		"To see call sites of malloc and their statements, restart the server with pg_leakhunt_malloc.so in LD_PRELOAD." :
		"To see call sites of malloc and their statements, turn pg_leakhunt.track_malloc on.";
}

/* Where functions of a language keep values beyond a call. */
static const char *
store_of(const char *language)
{
	if (strcmp(language, "PL/Perl") == 0)
		return "%_SHARED and global variables";
	return strcmp(language, "PL/Python") == 0 ? "GD, SD and global variables" :
		"GD and global variables";
}

/* What to do about a language, as a sentence. */
static const char *
language_text(const PlhProfileImage *image, const char *language)
{
	return psprintf("This %s has loaded %s: see what its functions keep in %s.",
					plh_suspect_advice_noun(image), language, store_of(language));
}

/* What to do about a compiler of queries, whose code and notes about it add up. */
static const char *const jit_text =
"It has compiled queries: SET jit = off, and see whether it still grows.";

/* Where to look first for what has called malloc, as a sentence or two. */
const char *
plh_suspect_advice_outside(const PlhProfileImage *image)
{
	const char *noun = plh_suspect_advice_noun(image);
	PlhLoadedCode loaded = {NULL};

	if (image->alive)
		loaded = plh_malloc_callers_loaded(image->header->pid);
	if (loaded.language != NULL)
		return language_text(image, loaded.language);
	if (loaded.has_jit)
		return jit_text;
	if (loaded.has_others)
		return psprintf("See what the %s does with the libraries that it has loaded by itself.%s",
						noun, PLH_SETTINGS_BY_MALLOC ?
						" It may also set large values with SET or set_config, which PostgreSQL keeps by malloc." : "");
	if (PLH_SETTINGS_BY_MALLOC)
		return psprintf("See first whether the %s sets large values with SET or set_config, which PostgreSQL keeps by malloc. Then see which of these libraries it uses.",
						noun);
	return psprintf("See which of these libraries the %s uses.", noun);
}

/* What to do about malloc's growth that no site explains. */
static const char *
next_of_malloc(const PlhProfileImage *image)
{
	const char *hint = plh_suspect_advice_malloc_hint(image->header);
	const char *next = psprintf("%s %s", plh_suspect_advice_outside(image), recycle_text(image));

	return hint == NULL ? next :
		psprintf("%s%s %s", next,
				 kind_of(image->header) != SESSION ? "" :
				 " pg_leakhunt_check, in another session, runs one statement again and again and tells by how much malloc grows each time.",
				 hint);
}

/* How to have the kernel get back what was freed, as a sentence. */
static const char *
give_back_text(const PlhProfileImage *image)
{
	switch (kind_of(image->header))
	{
		case SESSION:
		case BACKGROUND_WORKER:
			if (image->alive)
				return psprintf("To give it back to the kernel: SELECT pg_leakhunt_trim(%d).",
								image->header->pid);
			break;
		default:
			break;
	}
	return end_text(image);
}

/* What to do about memory that others have mapped. */
static const char *
next_of_mapped(const PlhProfileImage *image)
{
	PlhLoadedCode loaded = {NULL};

	if (image->alive)
		loaded = plh_malloc_callers_loaded(image->header->pid);
	if (loaded.language != NULL)
		return psprintf("%s %s", language_text(image, loaded.language), recycle_text(image));
	if (loaded.has_jit)
		return jit_text;
	return "Look for code that maps memory by itself, such as Python's objects and JIT compilers.";
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
	switch (kind_of(image->header))
	{
		case SESSION:
		case PARALLEL_WORKER:
			return "See which functions the statement calls: one of them, or PostgreSQL itself, never frees this. If it is PostgreSQL, a newer minor release may fix it.";
		case BACKGROUND_WORKER:
			return "See which extension started this background worker: its code, or PostgreSQL itself, never frees this. If it is PostgreSQL, a newer minor release may fix it.";
		case AUTOVACUUM_WORKER:
			return "A newer minor release of PostgreSQL may fix it. If not, look at the functions in expressions of indexes.";
		case WALSENDER:
		case OTHER_PROCESS:
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
		recycle_text(image);
}

/* Where to look for what a function of a language keeps, or calls, as two sentences. */
static const char *
keeper_text(const PlhSuspect *suspect, const char *language)
{
	if (suspect->site != NULL && suspect->site->key.lifetime == PLH_LIFETIME_PROCESS)
		return psprintf("See what it keeps in %s. If it keeps nothing there, a module or a function that it calls never frees this.",
						store_of(language));
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
		return psprintf("%s %s", family->help, end_text(image));
	return image->alive &&
		plh_unwritten_is_most(&suspect->facts, image->header) ?
		"There is no need to act: most of it was never written to, and takes no memory." :
		end_text(image);
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

/* What to do to have a statement take less. */
static const char *
next_of_statement(const PlhSuspect *suspect, const PlhProfileImage *image,
				  const PlhListedSite *listed)
{
	const PlhSuspectFacts *facts = &suspect->facts;
	PlhBlamedCode code = blamed_code(listed);

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
		return psprintf("Most of it was allocated by functions of %s, or by functions that these called. See which of them the statement uses: work_mem does not limit what extensions keep.",
						code.library);
	if (code.language != NULL)
		return psprintf("Look in the %s code that the statement runs for variables that hold large arrays or texts. work_mem does not limit these.",
						code.language);
	switch (kind_of(image->header))
	{
		case SESSION:
			return "See by the call sites which function, aggregate or trigger of the statement builds large values, and let it build smaller ones. work_mem does not limit what they keep.";
		case PARALLEL_WORKER:
			return "See by the call sites which function or aggregate of the leader's statement builds large values, and let it build smaller ones. work_mem does not limit what they keep.";
		case AUTOVACUUM_WORKER:
			return "See which table it works on in pg_stat_progress_vacuum. autovacuum_work_mem does not limit what functions in expressions of indexes keep.";
		default:
			break;
	}
	return psprintf("See by the stack what the %s was doing: SELECT * FROM pg_leakhunt_report WHERE pid = %d.",
					plh_suspect_advice_noun(image), image->header->pid);
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
		return end_subtransactions_text(image);
	if (!suspect->family->lasting)
		return cancel_text(image);
	return suspect->judgement.verdict == PLH_VERDICT_GROWING ? "" : end_now_text(image);
}

/*
 * What to do about a verdict on the process of an image, in a sentence or two.
 */
const char *
plh_suspect_advice(const PlhSuspect *suspect,
				   const PlhProfileImage *image,
				   const PlhListedSite *listed)
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
							cancel_text(image));
		case PLH_VERDICT_HELD:
			return next_of_held(suspect, image, listed);
		case PLH_VERDICT_MALLOC:
			return next_of_malloc(image);
		case PLH_VERDICT_MAPPED:
			return next_of_mapped(image);
		case PLH_VERDICT_FREED:
			return psprintf("%s glibc gives more back at once if the server starts with MALLOC_TRIM_THRESHOLD_=131072 in its environment.",
							give_back_text(image));
		case PLH_VERDICT_GROWING:
		default:
			break;
	}
	return "Look again later: a leak keeps growing, a cache does not.";
}

/*
 * worst_suspects.c
 *	  The worst suspects of all processes, found in a short time.
 *
 * To judge a process takes a tenth of a millisecond, as its whole profile is read.  What leaks gets
 * large, so the largest are judged first, and the result says how many are left.  Names of
 * functions that this session has not looked up yet are waited for only so long, as some exporters
 * connect anew for every other question; what takes longer is there at one of the next calls.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/clock.h"
#include "process/profile_directory.h"
#include "reader/collections.h"
#include "reader/database_text.h"
#include "reader/profile_reader.h"
#include "telling/function_shares.h"
#include "telling/image_findings.h"
#include "telling/worst_suspects.h"

/*
 * Processes are judged until so long after the caller has begun, but for some time in any case.
 * Names are waited for so long in all, and that time does not count.
 */
#define JUDGE_UNTIL_US 15000
#define JUDGE_US 3000
#define NAMES_US 200000

/* The suspects that were found so far, and what they are found with. */
typedef struct Search
{
	PlhWorstSuspects *worst;
	int			room;			/* of its suspects */
	const PlhSuppressions *suppressions;
	PlhRoleFilter may_see;
	PlhSymbols *symbols;
	int64		named_us;		/* time that names have taken */
	MemoryContext memory;		/* of the result */
} Search;

static char *
copy_text(const char *text)
{
	return text == NULL ? NULL : pstrdup(text);
}

/* The suspect that is called so, which is entered if it is new. */
static PlhWorstSuspect *
enter(Search *search, const PlhWorstSuspect *wanted)
{
	PlhWorstSuspects *worst = search->worst;
	MemoryContext caller_context;
	PlhWorstSuspect *found;

	for (int i = 0; i < worst->count; i++)
	{
		found = &worst->suspects[i];
		if (plh_texts_are_same(found->verdict, wanted->verdict) &&
			plh_texts_are_same(found->backend_type, wanted->backend_type) &&
			plh_texts_are_same(found->context_name, wanted->context_name) &&
			plh_texts_are_same(found->site, wanted->site))
			return found;
	}
	worst->suspects = plh_array_grow(worst->suspects, worst->count,
									 &search->room, sizeof(PlhWorstSuspect));
	caller_context = MemoryContextSwitchTo(search->memory);
	found = &worst->suspects[worst->count++];
	*found = *wanted;
	found->backend_type = copy_text(wanted->backend_type);
	found->context_name = copy_text(wanted->context_name);
	found->site = copy_text(wanted->site);
	MemoryContextSwitchTo(caller_context);
	return found;
}

/* Add a suspect of a process; "named" is NULL if it is not named after a site. */
static void
add_suspect(Search *search, const PlhFinding *finding,
			const PlhListedSite *named, const PlhProfileImage *image)
{
	PlhWorstSuspect wanted = {
		.backend_type = plh_profile_image_backend_type(image),
		.verdict = plh_verdict_name(plh_finding_verdict(finding)),
		.context_name = plh_image_findings_contexts(finding, named, image),
		.site = named != NULL ? named->stack.site : NULL
	};
	PlhWorstSuspect *entered = enter(search, &wanted);

	search->worst->found++;
	entered->bytes += finding->bytes;
	entered->has_rate = entered->has_rate || finding->rate.is_known;
	entered->bytes_per_hour += finding->rate.bytes_per_hour;
}

/*
 * Describe the site of a suspect, and find if it is named after that.  Returns false if it is
 * suppressed.  One whose stack is not named yet may be: it is left to a later call where there are
 * patterns.
 */
static bool
describe(Search *search, const PlhFinding *finding,
		 const PlhProfileImage *image, PlhStackTexts *texts,
		 PlhListedSite *listed, bool *names_site)
{
	int64		begun_us = plh_clock_us(CLOCK_MONOTONIC);
	int			left_out = plh_symbols_left_out(search->symbols);
	bool		is_shown = plh_image_findings_describe(finding, image, texts, search->suppressions,
													   listed) == PLH_SHOWN;

	*names_site = is_shown && plh_function_shares_name_site(finding, image, texts);
	search->named_us += plh_clock_us(CLOCK_MONOTONIC) - begun_us;
	return is_shown &&
		(search->suppressions->count == 0 || plh_symbols_left_out(search->symbols) == left_out);
}

static void
judge(Search *search, const PlhProfileImage *image)
{
	PlhFindings *findings = plh_image_findings_find(image, search->symbols);
	PlhStackTexts *texts;

	if (findings->count == 0)
		return;
	texts = plh_stack_text_open(search->symbols, image);
	for (int i = 0; i < findings->count; i++)
	{
		const PlhFinding *finding = &findings->list[i];
		PlhListedSite listed;
		bool		names_site = false;

		if (finding->site == NULL || describe(search, finding, image, texts, &listed, &names_site))
			add_suspect(search, finding, names_site ? &listed : NULL, image);
	}
}

/* Judge a process in a memory context of its own, if it is still there. */
static void
judge_process(Search *search, int pid)
{
	MemoryContext process_context = AllocSetContextCreate(search->memory,
														  "pg_leakhunt profile image",
														  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(process_context);
	PlhProfileImage *image = plh_profile_reader_find(plh_profile_directory_path(), pid, false);

	if (image != NULL && image->alive && search->may_see(image->header->role_oid))
		judge(search, image);
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(process_context);
}

/* qsort comparator, in the order of pg_leakhunt_suspects: by what they hold, "growing" last. */
static int
compare_suspects(const void *a, const void *b)
{
	const PlhWorstSuspect *left = a;
	const PlhWorstSuspect *right = b;
	const char *growing = plh_verdict_name(PLH_VERDICT_GROWING);
	bool		left_grows = strcmp(left->verdict, growing) == 0;
	bool		right_grows = strcmp(right->verdict, growing) == 0;

	if (left_grows != right_grows)
		return left_grows ? 1 : -1;
	return left->bytes > right->bytes ? -1 : left->bytes < right->bytes;
}

PlhWorstSuspects *
plh_worst_suspects_find(const PlhServerFigures *figures, const PlhSuppressions *suppressions,
						PlhRoleFilter may_see, int64 begun_us)
{
	int64		until_us = Max(begun_us + JUDGE_UNTIL_US, plh_clock_us(CLOCK_MONOTONIC) + JUDGE_US);
	Search		search = {
		.worst = palloc0(sizeof(PlhWorstSuspects)),
		.room = PLH_WORST_SUSPECTS,
		.suppressions = suppressions,
		.may_see = may_see,
		.symbols = plh_symbols_open_in_passing(until_us + NAMES_US),
		.memory = CurrentMemoryContext
	};
	PlhWorstSuspects *worst = search.worst;
	int			judged = 0;

	worst->suspects = palloc(sizeof(PlhWorstSuspect) * search.room);
	while (judged < figures->profiled_count &&
		   (judged == 0 ||
			plh_clock_us(CLOCK_MONOTONIC) - search.named_us < until_us))
	{
		CHECK_FOR_INTERRUPTS();
		judge_process(&search, figures->profiled[judged++].pid);
	}
	worst->unjudged = figures->profiled_count - judged;
	plh_symbols_close(search.symbols);
	qsort(worst->suspects, worst->count, sizeof(PlhWorstSuspect), compare_suspects);
	worst->count = Min(worst->count, PLH_WORST_SUSPECTS);
	return worst;
}

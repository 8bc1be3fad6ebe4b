/*
 * doubt_outside.c
 *	  What is outside of memory contexts, and is no finding: malloc, mapped, or free in malloc.
 */
#include "postgres.h"

#include "judge/course.h"
#include "judge/suspect.h"
#include "report/malloc_callers.h"
#include "report/words.h"
#include "telling/advice.h"
#include "telling/doubt_growth.h"
#include "telling/doubt_outside.h"
#include "telling/doubted_site.h"
#include "telling/holder_sentences.h"
#include "telling/malloc_statement.h"
#include "telling/moment.h"
#include "telling/process_evidence.h"

static void
say_callers(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhSiteRecord *site = plh_doubted_site_largest(image, PLH_DOUBTED_BY_MALLOC);

	if (site != NULL)
	{
		PlhFields	fields = {NULL};

		plh_doubted_site_fill(&fields, image, site, doubted->findings->account,
							  doubted->stacks, &doubt->nameless);
		plh_sentences_say(&doubt->words, PLH_SAYS_outside_largest, image->alive, &fields);
	}
	else if (image->alive)
	{
		PlhMallocCallers callers = plh_malloc_callers_find(image->header->pid, doubted->symbols);

		plh_advice_say_libraries(&doubt->words, &callers);
	}
}

/*
 * Has what malloc gave out outside of contexts stopped growing, and the process, too?  For how long
 * is in "course".
 */
static bool
rests_outside(PlhCourse *course, const PlhDoubted *doubted)
{
	const PlhExplainedProcess *process = doubted->process;
	const PlhProfileHeader *header = process->image->header;
	double		contexts = header->context_bytes * (1.0 + PLH_COURSE_BLOCK_PART);

	return plh_course_follow(course, header, PLH_SERIES_OUTSIDE,
							 Max(0, header->malloc_bytes - (int64) contexts),
							 process->image->alive ? process->now : header->census_at) &&
		plh_course_rests(course) && plh_course_rests(doubted->course);
}

/* Has malloc given out much outside of contexts? */
static bool
is_large(const PlhDoubted *doubted)
{
	const PlhProfileHeader *header = doubted->process->image->header;
	int64		outside = header->malloc_bytes - header->context_bytes;

	return header->census_at != 0 && outside >= PLH_SUSPECT_LARGE_BYTES &&
		!plh_moment_has_lost(doubted->process, outside);
}

/* Is that so, while it does not go on? */
static bool
find_outside(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhProfileHeader *header = image->header;
	int64		outside = header->malloc_bytes - header->context_bytes;
	PlhCourse	course = {0};
	PlhHolder	holder;
	bool		rests;

	if (!is_large(doubted))
		return false;
	rests = rests_outside(&course, doubted);
	if (rests)
		PLH_SAY(&doubt->words, image->alive, outside_rests,.bytes = plh_words_size(outside),
				.age = plh_words_duration(course.rests_since, course.now));
	else
		PLH_SAY(&doubt->words, image->alive, outside_lately,.bytes = plh_words_size(outside));
	say_callers(doubt, doubted);
	holder = plh_memory_holder_find(image, 0);
	plh_holder_sentences_say_beside(&doubt->words, &holder);
	doubt->is_undecided = image->alive && !rests;
	if (image->alive)
		PLH_SAY(&doubt->next, true, see_history,.pid = doubted->process->pid);
	if (image->alive && !rests)
		PLH_SAY(&doubt->next, true, ask_later);
	plh_advice_sites(&doubt->next, header);
	return true;
}

/* Is much outside of contexts, of which malloc does not tell whether it is in use? */
static bool
find_untold(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhProfileHeader *header = image->header;
	int64		outside = header->own_bytes - header->context_bytes;

	if (header->census_at == 0 || header->malloc_bytes >= 0 || outside < PLH_SUSPECT_LARGE_BYTES)
		return false;
	PLH_SAY(&doubt->words, image->alive, outside_untold,.bytes = plh_words_size(outside),
			.total = plh_words_size(plh_course_most_in_contexts(header, header->census_at)));
	plh_advice_say_trim_to_see(&doubt->next, image);
	plh_advice_sites(&doubt->next, header);
	return true;
}

/*
 * Is much outside of contexts that malloc gave out or others have mapped, and neither is enough by
 * itself, nor grows?  An interpreter of a language does both.
 */
static bool
find_malloc_and_mapped(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhAccount *account = doubted->findings->account;
	int64		mapped = account->other_bytes - image->header->overhead_bytes;

	if (!account->knows_malloc || mapped <= 0 || plh_doubt_growth_is_seen(doubted->course) ||
		account->outside_bytes + mapped < PLH_SUSPECT_LARGE_BYTES ||
		plh_moment_has_lost(doubted->process, account->outside_bytes + mapped))
		return false;
	PLH_SAY(&doubt->words, image->alive, outside_mapped,.bytes = plh_words_size(mapped),
			.outside = plh_words_size(account->outside_bytes));
	doubt->loaded = plh_advice_loaded(image);
	if (doubt->loaded != NULL)
		plh_advice_where(&doubt->next, image);
	else if (image->alive)
		PLH_SAY(&doubt->next, true, mapped_by_unknown);
	return true;
}

/* Is most of what it has free in malloc, but not for so long that this is a finding? */
static bool
find_kept(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhProfileHeader *header = image->header;
	PlhFinding	finding = {.kind = PLH_KIND_MALLOC_KEEPS};
	PlhMallocStatement statement;

	if (header->census_at == 0 || header->malloc_free_bytes < PLH_SUSPECT_KEPT_BYTES ||
		header->malloc_free_bytes < header->own_bytes / 2)
		return false;
	finding.bytes = header->malloc_free_bytes;
	plh_process_evidence_say_freed(&doubt->words, &finding, image);
	statement = plh_malloc_statement_find(&finding, image);
	if (statement.evidence != NULL)
		appendStringInfo(&doubt->words.text, " %s", statement.evidence);
	plh_advice_say_trim(&doubt->next, image);
	plh_advice_say_former(&doubt->next, image);
	return true;
}

/* What is free is told before what is in use, unless that may keep growing. */
bool
plh_doubt_outside_find(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	PlhCourse	course = {0};

	return (!is_large(doubted) || rests_outside(&course, doubted) ? find_kept(doubt, doubted) :
			false) ||
		find_outside(doubt, doubted) || find_untold(doubt, doubted) ||
		find_malloc_and_mapped(doubt, doubted);
}

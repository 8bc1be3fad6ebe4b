/*
 * staying_doubt.c
 *	  What stays in a session without being suspect, and whether it grows.
 */
#include "postgres.h"

#include "base/plural.h"
#include "base/sampling.h"
#include "judge/suspect.h"
#include "report/words.h"
#include "telling/largest_site_text.h"
#include "telling/outside_advice.h"
#include "telling/staying_doubt.h"

/* The sampling interval that is proposed where samples are too few, and as a text. */
#define FINE_INTERVAL_BYTES 32768
#define FINE_INTERVAL "32kB"

/* Growth can be judged once a process is this old. */
#define YOUNG_S 10

/* Why the site that holds most is no leak, by its figures. */
static const char *
judgement_text(const PlhProfileHeader *header, const PlhSiteRecord *site)
{
	PlhSuspectFacts facts;
	PlhJudgement judgement;

	plh_suspect_collect(&facts, header, site);
	judgement = plh_suspect_judge(&facts);
	if (plh_sampling_error_bytes(facts.live_variance, facts.live_bytes,
								 facts.live_samples) >
		PLH_SUSPECT_ERROR_PART * (double) facts.live_bytes)
		return psprintf("which is too uncertain for a verdict (%s)",
						plh_words_interval(header->sample_interval));
	if (facts.epochs < PLH_SUSPECT_EPOCHS)
		return psprintf("allocated in only " INT64_FORMAT " %s; a verdict needs at least %d (a long transaction counts once per second)",
						facts.epochs,
						plh_plural(facts.epochs, "transaction", "transactions"), PLH_SUSPECT_EPOCHS);
	if (judgement.has_steadiness &&
		judgement.steadiness < PLH_SUSPECT_STEADINESS)
		return psprintf("and it grew at %.0f%% of the rate before, as a cache does that fills up",
						100.0 * judgement.steadiness);
	return "whose growth so far does not tell a leak from a cache";
}

/* Of what lasts, the contexts of one family that hold most, if they are many. */
static const PlhFamilyAccount *
many_lasting_contexts(const PlhAccount *account)
{
	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (family->lasting && family->contexts >= PLH_SUSPECT_LATE_CONTEXTS)
			return family;
	}
	return NULL;
}

/* Could what samples say that a site holds as well be nothing? */
static bool
is_noise(const PlhSiteRecord *site)
{
	const PlhCounters *counters = &site->counters;

	return plh_sampling_error_bytes(counters->live_variance, counters->live_bytes,
									counters->live_samples) > counters->live_bytes;
}

/*
 * The cache of PostgreSQL's that a site is in, if it is counted.  Extensions allocate in
 * CacheMemoryContext, too: a site in that is told of by itself.
 */
static const PlhFamilyAccount *
cache_of(const PlhProfileImage *image, const PlhSiteRecord *site,
		 const PlhSuspectList *list)
{
	const PlhFamily *family = site == NULL ? NULL :
		plh_largest_site_family(image, site);

	if (family == NULL || family->kind != PLH_FAMILY_CACHE ||
		family == plh_family_of("CacheMemoryContext"))
		return NULL;
	return plh_largest_site_account(list->account, family, true);
}

/* What stays in the session, and why that is no leak; NULL if nothing does. */
static const char *
staying_text(PlhDoubt *doubt, const PlhExplainedProcess *process,
			 const PlhSuspectList *list, const PlhCourse *course, PlhStackTexts *stacks)
{
	const PlhProfileImage *image = process->image;
	const PlhSiteRecord *site = plh_largest_site_find(image, PLH_SITES_OF_SESSION);
	const PlhFamilyAccount *contexts = many_lasting_contexts(list->account);
	const PlhFamilyAccount *cache = cache_of(image, site, list);

	if (contexts != NULL && contexts->bytes >= PLH_SUSPECT_LARGE_BYTES &&
		(site == NULL || contexts->bytes > site->counters.live_bytes))
		return contexts->family != NULL && contexts->family->kind == PLH_FAMILY_CACHE ?
			psprintf("Most of what stays, %s, is %s. %s %s",
					 plh_words_size(contexts->bytes), contexts->family->title,
					 contexts->family->what, contexts->family->bound) :
			psprintf("Most of what stays is %s in " INT64_FORMAT " contexts: %s. %s",
					 plh_words_size(contexts->bytes), contexts->contexts,
					 plh_account_title(contexts, image),
					 plh_course_rests(course) ? "Their number does not grow now." :
					 "Their number has not grown for long enough to tell a leak.");
	if (cache != NULL)
		return psprintf("The largest part of what stays, %s, is %s. %s %s",
						plh_words_size(cache->bytes), cache->family->title,
						cache->family->what, cache->family->bound);
	return site == NULL || is_noise(site) ? NULL :
		psprintf("The largest part of what stays is %s, %s.",
				 plh_largest_site_text(image, site, list->account, stacks,
									   &doubt->nameless),
				 judgement_text(image->header, site));
}

/*
 * Has it grown of late?  The caches that each session fills are no reason to look
 * closer.
 */
static bool
has_grown(const PlhCourse *course)
{
	return !plh_course_rests(course) &&
		course->grown_bytes >= PLH_SUSPECT_LARGE_BYTES / 8;
}

/* Why growth is no reason to look closer; NULL where it may be one. */
static const char *
harmless_growth(const PlhExplainedProcess *process, const PlhSuspectList *list,
				const PlhCourse *course)
{
	const PlhProfileImage *image = process->image;
	const PlhFamilyAccount *cache = cache_of(image, plh_largest_site_find(image, PLH_SITES_OF_SESSION), list);

	if (image->header->malloc_free_bytes > course->grown_bytes / 2)
		return psprintf("Most of its growth %s freed: malloc %s %s, to use it again.",
						image->alive ? "was" : "had been",
						image->alive ? "keeps" : "kept",
						plh_words_size(image->header->malloc_free_bytes));
	return cache == NULL || cache->bytes <= course->grown_bytes / 2 ? NULL :
		psprintf("Most of its growth %s a cache that %s.",
				 image->alive ? "is" : "was", image->alive ? "fills up" : "filled up");
}

/* Is most of what it has outside of memory contexts, where no finer samples help? */
static bool
is_mostly_outside(const PlhProfileHeader *header)
{
	return header->malloc_bytes >= 0 && !header->malloc_tracked &&
		header->own_bytes - header->context_bytes - header->malloc_free_bytes >
		header->context_bytes;
}

/* What to do to learn more of a process that grows. */
static const char *
next_of_growth(const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;

	if (is_mostly_outside(header))
		return psprintf("Ask again in %d s. Most of its memory is outside of memory contexts. %s",
						YOUNG_S, plh_outside_advice_where(process->image));
	if (header->sample_interval <= FINE_INTERVAL_BYTES)
		return psprintf("Ask again in %d s.", YOUNG_S);
	return psprintf("Ask again in %d s. Finer samples help to tell the call site: SELECT pg_leakhunt_start(%d, '%s', duration => '10 minutes').",
					YOUNG_S, process->pid, FINE_INTERVAL);
}

/* For how long it has not grown, where that is worth a word; NULL: it grows. */
static const char *
pause_of(const PlhCourse *course)
{
	return course->end_unknown || course->now - course->rests_since < USECS_PER_SEC ? NULL :
		plh_words_duration(course->rests_since, course->now);
}

/* Growth that may be a leak, but not for long enough to say so. */
static const char *
unknown_growth(const PlhCourse *course, bool alive)
{
	const char *pause = pause_of(course);

	if (pause == NULL)
		return alive ? "It has grown, but not for long enough to tell why." :
			"It had grown, but not for long enough to tell why.";
	return alive ?
		psprintf("It has not grown for %s, which is too short to tell whether it will grow again.", pause) :
		psprintf("It had stopped growing %s before the last count, which is too short to tell why it had grown.", pause);
}

/* That nothing grows, or not much. */
static const char *
no_growth(const PlhCourse *course, bool alive)
{
	if (course->grown_bytes > 0 && !plh_course_rests(course))
		return alive ?
			"Its growth is too small to matter, and no statement that runs now holds more than its settings allow." :
			"Its growth was too small to matter, and no statement that ran then held more than its settings allowed.";
	return alive ?
		"Nothing keeps growing, and no statement that runs now holds more than its settings allow." :
		"Nothing kept growing, and no statement that ran then held more than its settings allowed.";
}

/*
 * What stays in the session, and what to do if that keeps growing.  What was never counted
 * is not said to be nothing.
 */
void
plh_staying_doubt_find(PlhDoubt *doubt, const PlhExplainedProcess *process,
					   const PlhSuspectList *list, const PlhCourse *course,
					   PlhStackTexts *stacks)
{
	bool		alive = process->image->alive;
	const char *harmless = harmless_growth(process, list, course);
	bool		grows = has_grown(course) && harmless == NULL;
	const char *staying = staying_text(doubt, process, list, course, stacks);

	if (process->image->header->census_at == 0)
	{
		doubt->reason = alive ? "It has allocated too little to tell." :
			"It had allocated too little to tell.";
		return;
	}
	if (grows)
		doubt->reason = unknown_growth(course, alive);
	else
		doubt->reason = has_grown(course) ? harmless : no_growth(course, alive);
	if (staying != NULL)
		doubt->reason = psprintf("%s %s", doubt->reason, staying);
	doubt->is_undecided = grows && alive;
	if (doubt->is_undecided)
		doubt->next = next_of_growth(process);
}

/*
 * staying_doubt.c
 *	  What stays in a session without being a finding, and whether it grows.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "judge/suspect.h"
#include "report/words.h"
#include "telling/outside_advice.h"
#include "telling/site_fields.h"
#include "telling/staying_doubt.h"

/* The sampling interval that is proposed where samples are too few, and as a text. */
#define FINE_INTERVAL_BYTES 32768
#define FINE_INTERVAL "32kB"

/* Growth can be judged once a process is this old. */
#define YOUNG_S 10

/* Say what the site that holds most is, and why that is no leak, by its figures. */
static void
say_site(PlhDoubt *doubt, const PlhDoubted *doubted, const PlhSiteRecord *site)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhProfileHeader *header = image->header;
	PlhSuspectFacts facts;
	PlhJudgement judgement;
	PlhSentence sentence = PLH_SAYS_stays_untold;
	PlhFields	fields = {.least = PLH_SUSPECT_EPOCHS};

	plh_suspect_collect(&facts, header, site);
	judgement = plh_suspect_judge(&facts);
	plh_site_fields_fill(&fields, image, site, doubted->findings->account, doubted->stacks,
						 &doubt->nameless);
	fields.interval = plh_words_interval(header->sample_interval);
	fields.count = facts.epochs;
	fields.percent = psprintf("%.0f", 100.0 * judgement.steadiness);
	if (plh_sampling_error_bytes(facts.live_variance, facts.live_bytes, facts.live_samples) >
		PLH_SUSPECT_ERROR_PART * (double) facts.live_bytes)
		sentence = PLH_SAYS_stays_uncertain;
	else if (facts.epochs < PLH_SUSPECT_EPOCHS)
		sentence = PLH_SAYS_stays_few;
	else if (judgement.has_steadiness && judgement.steadiness < PLH_SUSPECT_STEADINESS)
		sentence = PLH_SAYS_stays_slower;
	plh_sentences_say(&doubt->words, sentence, image->alive, &fields);
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
cache_of(const PlhDoubted *doubted, const PlhSiteRecord *site)
{
	const PlhFamily *family = site == NULL ? NULL :
		plh_largest_site_family(doubted->process->image, site);

	if (family == NULL || family->kind != PLH_FAMILY_CACHE ||
		family == plh_family_of("CacheMemoryContext"))
		return NULL;
	return plh_largest_site_account(doubted->findings->account, family, true);
}

/* Say what a cache of PostgreSQL's has of what stays. */
static void
say_cache(PlhDoubt *doubt, PlhSentence sentence, const PlhFamilyAccount *cache)
{
	const PlhFields fields = {
		.bytes = plh_words_size(cache->bytes),
		.title = cache->family->title,
		.what = cache->family->what,
		.bound = cache->family->bound
	};

	plh_sentences_say(&doubt->words, sentence, true, &fields);
}

/* Say that most of what stays is in many contexts. */
static void
say_contexts(PlhDoubt *doubt, const PlhDoubted *doubted, const PlhFamilyAccount *contexts)
{
	const PlhFields fields = {
		.bytes = plh_words_size(contexts->bytes),
		.count = contexts->contexts,
		.title = plh_account_title(contexts, doubted->process->image)
	};

	if (contexts->family != NULL && contexts->family->kind == PLH_FAMILY_CACHE)
		say_cache(doubt, PLH_SAYS_stays_in_cache, contexts);
	else
		plh_sentences_say(&doubt->words, plh_course_rests(doubted->course) ?
						  PLH_SAYS_stays_in_contexts : PLH_SAYS_stays_in_growing, true,
						  &fields);
}

/* Say what stays in the session, and why that is no leak, if anything does. */
static void
say_staying(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhSiteRecord *site = plh_largest_site_find(doubted->process->image,
													  PLH_SITES_OF_SESSION);
	const PlhFamilyAccount *contexts = many_lasting_contexts(doubted->findings->account);
	const PlhFamilyAccount *cache = cache_of(doubted, site);

	if (contexts != NULL && contexts->bytes >= PLH_SUSPECT_LARGE_BYTES &&
		(site == NULL || contexts->bytes > site->counters.live_bytes))
		say_contexts(doubt, doubted, contexts);
	else if (cache != NULL)
		say_cache(doubt, PLH_SAYS_stays_largest_cache, cache);
	else if (site != NULL && !is_noise(site))
		say_site(doubt, doubted, site);
}

/*
 * Has it grown of late?  The caches that each session fills are no reason to look closer.
 */
static bool
has_grown(const PlhCourse *course)
{
	return !plh_course_rests(course) && course->grown_bytes >= PLH_SUSPECT_LARGE_BYTES / 8;
}

/* Say why growth is no reason to look closer.  Returns false where it may be one. */
static bool
say_harmless(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhCourse *course = doubted->course;
	const PlhSiteRecord *site = plh_largest_site_find(image, PLH_SITES_OF_SESSION);
	const PlhFamilyAccount *cache = cache_of(doubted, site);
	int64		freed = image->header->malloc_free_bytes;

	if (freed > course->grown_bytes / 2)
		PLH_SAY(&doubt->words, image->alive, growth_freed,.bytes = plh_words_size(freed));
	else if (cache != NULL && cache->bytes > course->grown_bytes / 2)
		PLH_SAY(&doubt->words, image->alive, growth_cached);
	else
		return false;
	return true;
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
static void
advise_on_growth(PlhDoubt *doubt, const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;

	PLH_SAY(&doubt->next, true, ask_in,.count = YOUNG_S);
	if (is_mostly_outside(header))
	{
		PLH_SAY(&doubt->next, true, mostly_outside);
		plh_outside_advice_where(&doubt->next, process->image);
		doubt->loaded = plh_outside_advice_loaded(process->image);
	}
	else if (header->sample_interval > FINE_INTERVAL_BYTES)
		PLH_SAY(&doubt->next, true, sample_finer,.pid = process->pid,.interval = FINE_INTERVAL);
}

/* Say of growth that may be a leak, but not for long enough to say so. */
static void
say_growth(PlhDoubt *doubt, const PlhCourse *course, bool alive)
{
	if (course->end_unknown || course->now - course->rests_since < USECS_PER_SEC)
		PLH_SAY(&doubt->words, alive, growth_unknown);
	else
		PLH_SAY(&doubt->words, alive, growth_pauses,
				.age = plh_words_duration(course->rests_since, course->now));
}

/*
 * What stays in the session, and what to do if that keeps growing.  What was never counted is not
 * said to be nothing.
 */
void
plh_staying_doubt_find(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhCourse *course = doubted->course;
	bool		alive = doubted->process->image->alive;

	if (doubted->process->image->header->census_at == 0)
	{
		PLH_SAY(&doubt->words, alive, too_little);
		return;
	}
	if (!has_grown(course) && course->grown_bytes > 0 && !plh_course_rests(course))
		PLH_SAY(&doubt->words, alive, growth_small);
	else if (!has_grown(course))
		PLH_SAY(&doubt->words, alive, nothing_grows);
	else if (!say_harmless(doubt, doubted))
	{
		say_growth(doubt, course, alive);
		doubt->is_undecided = alive;
	}
	say_staying(doubt, doubted);
	if (doubt->is_undecided)
		advise_on_growth(doubt, doubted->process);
}

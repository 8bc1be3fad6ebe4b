/*
 * doubt_growth.c
 *	  Whether a process without findings grows, why that is harmless, or what it may become.
 */
#include "postgres.h"

#include "judge/course.h"
#include "judge/suspect.h"
#include "report/words.h"
#include "telling/advice.h"
#include "telling/doubt_growth.h"
#include "telling/doubt_staying.h"
#include "telling/doubted_site.h"
#include "telling/moment.h"

/* The sampling interval that is proposed where samples are too few, and as a text. */
#define FINE_INTERVAL_BYTES 32768
#define FINE_INTERVAL "32kB"

/* Growth can be judged once a process is this old. */
#define YOUNG_S 10

bool
plh_doubt_growth_is_seen(const PlhCourse *course)
{
	return !plh_course_rests(course) &&
		(course->grown_bytes >= PLH_DOUBT_GROWN_BYTES || plh_course_is_steady(course));
}

/*
 * The contexts that most of its growth went to, where the family tells what they are, or they are
 * many; else NULL.
 */
static const PlhFamilyAccount *
growing_kind(const PlhDoubted *doubted)
{
	const PlhAccount *account = doubted->findings->account;
	const PlhFamilyAccount *most = NULL;
	int64		gained = 0;
	int64		most_gained = 0;

	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];
		int64		gain = family->bytes - family->early_bytes;

		if (!family->lasting || gain <= 0)
			continue;
		gained += gain;
		if (gain > most_gained)
		{
			most = family;
			most_gained = gain;
		}
	}
	return most != NULL && most_gained >= gained / 2 &&
		most_gained >= plh_course_gained_since(doubted->process->image->header, PLH_SERIES_OWN,
											   most->early_at) / 2 &&
		most->bytes >= doubted->course->grown_bytes / 2 &&
		(most->family != NULL || most->contexts >= PLH_SUSPECT_LATE_CONTEXTS) ? most : NULL;
}

/* The same, unless it is a cache of the server's, most of which was sampled elsewhere. */
static const PlhFamilyAccount *
tellable_kind(const PlhDoubted *doubted)
{
	const PlhFamilyAccount *kind = growing_kind(doubted);
	PlhCacheShares shares;

	return kind == NULL || kind->family == NULL || kind->family->kind != PLH_FAMILY_CACHE ||
		plh_doubt_staying_is_of_server(&shares, doubted, kind) ? kind : NULL;
}

/* Say why growth is no reason to look closer.  Returns false where it may be one. */
static bool
say_harmless(PlhDoubt *doubt, const PlhDoubted *doubted, const PlhFamilyAccount *kind)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhCourse *course = doubted->course;
	const PlhSiteRecord *site = plh_doubted_site_largest(image, PLH_DOUBTED_IN_SESSION);
	const PlhFamilyAccount *cache = plh_doubt_staying_cache(doubted, site);
	int64		freed = image->header->malloc_free_bytes;

	if (freed > course->grown_bytes / 2 && !plh_moment_has_lost(doubted->process, freed))
		PLH_SAY(&doubt->words, image->alive, growth_freed,.bytes = plh_words_size(freed));
	else if ((cache != NULL && cache->bytes > course->grown_bytes / 2) ||
			 (kind != NULL && kind->family != NULL && kind->family->kind == PLH_FAMILY_CACHE))
		PLH_SAY(&doubt->words, image->alive, growth_cached);
	else
		return false;
	return true;
}

/* Is most of what it has outside of memory contexts, where no finer samples help? */
static bool
is_mostly_outside(const PlhProfileHeader *header)
{
	return !header->malloc_tracked &&
		header->own_bytes - header->context_bytes - Max(0, header->malloc_free_bytes) >
		header->context_bytes;
}

/* Would samples at a finer interval tell more of what stays? */
static bool
do_samples_help(const PlhProfileImage *image)
{
	const PlhSiteRecord *site = plh_doubted_site_largest(image, PLH_DOUBTED_IN_SESSION);

	return image->header->sample_interval > FINE_INTERVAL_BYTES &&
		(site == NULL || plh_doubted_site_is_uncertain(site));
}

/* What to do about growth, of which "kind" is the largest part where that is known. */
static void
advise_on_growth(PlhDoubt *doubt, const PlhExplainedProcess *process,
				 const PlhFamilyAccount *kind)
{
	const PlhProfileHeader *header = process->image->header;

	PLH_SAY(&doubt->next, true, ask_in,.count = YOUNG_S);
	if (is_mostly_outside(header))
	{
		PLH_SAY(&doubt->next, true, mostly_outside);
		plh_advice_where(&doubt->next, process->image);
		doubt->loaded = plh_advice_loaded(process->image);
	}
	else if (kind == NULL && do_samples_help(process->image))
		PLH_SAY(&doubt->next, true, sample_finer,.pid = process->pid,.interval = FINE_INTERVAL);
}

/* What most of the growth is. */
static void
say_kind(PlhDoubt *doubt, const PlhDoubted *doubted, const PlhFamilyAccount *kind)
{
	const PlhProfileImage *image = doubted->process->image;
	PlhFields	fields = {
		.title = plh_account_title(kind, image),
		.bytes = plh_words_size(kind->bytes),
		.count = kind->contexts
	};

	if (kind->family != NULL)
	{
		fields.what = kind->family->what;
		fields.bound = kind->family->bound;
	}
	plh_sentences_say(&doubt->words, kind->family != NULL ? PLH_SAYS_growth_by_kind :
					  PLH_SAYS_growth_by_contexts, image->alive, &fields);
}

/* Is it of plans or functions, of less than is worth a verdict? */
static bool
is_little_code(const PlhFamilyAccount *kind)
{
	return kind != NULL && kind->family != NULL && kind->bytes < PLH_SUSPECT_CODE_BYTES &&
		(kind->family->kind == PLH_FAMILY_PLANS || kind->family->kind == PLH_FAMILY_FUNCTIONS);
}

/* Say of growth that may be a leak, but not for long enough to say so. */
static void
say_growth(PlhDoubt *doubt, const PlhDoubted *doubted, const PlhFamilyAccount *kind)
{
	const PlhCourse *course = doubted->course;
	bool		alive = doubted->process->image->alive;

	if (is_little_code(kind))
		PLH_SAY(&doubt->words, alive, growth_of_code,.title = kind->family->title,
				.limit = plh_words_size(PLH_SUSPECT_CODE_BYTES));
	else if (course->end_unknown || course->now - course->rests_since < USECS_PER_SEC)
		plh_sentences_say(&doubt->words, kind != NULL ? PLH_SAYS_growth_soon :
						  PLH_SAYS_growth_unknown, alive, PLH_FIELDS(NULL));
	else
		PLH_SAY(&doubt->words, alive, growth_pauses,
				.age = plh_words_duration(course->rests_since, course->now));
	if (kind != NULL)
		say_kind(doubt, doubted, kind);
}

/*
 * Has a process of some size a history of less time than growth takes to be seen?  One that waits
 * for its client for as long does not grow.
 */
static bool
is_counted_shortly(const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;

	return process->image->alive && header->own_bytes >= PLH_SUSPECT_LARGE_BYTES / 4 &&
		header->history_count > 0 &&
		(double) process->now -
		(double) Min(header->history[0].at, plh_moment_idle_since(process)) < PLH_COURSE_REST_US;
}

/* Say that it is not known yet whether it grows. */
static void
say_counted_shortly(PlhDoubt *doubt, const PlhExplainedProcess *process)
{
	PLH_SAY(&doubt->words, true, counted_shortly,
			.age = plh_words_duration(process->image->header->history[0].at, process->now));
	PLH_SAY(&doubt->next, true, ask_in,.count = YOUNG_S);
	doubt->is_undecided = true;
}

void
plh_doubt_growth_say(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhCourse *course = doubted->course;
	bool		alive = doubted->process->image->alive;
	const PlhFamilyAccount *kind = NULL;

	if (doubted->process->image->header->census_at == 0)
	{
		PLH_SAY(&doubt->words, alive, too_little);
		return;
	}
	if (!plh_doubt_growth_is_seen(course) && is_counted_shortly(doubted->process))
		say_counted_shortly(doubt, doubted->process);
	else if (!plh_doubt_growth_is_seen(course) && course->grown_bytes > 0 &&
			 !plh_course_rests(course))
		PLH_SAY(&doubt->words, alive, growth_small);
	else if (!plh_doubt_growth_is_seen(course))
		PLH_SAY(&doubt->words, alive, nothing_grows);
	else
	{
		kind = tellable_kind(doubted);
		if (say_harmless(doubt, doubted, kind))
			kind = NULL;
		else
		{
			say_growth(doubt, doubted, kind);
			if (alive)
				advise_on_growth(doubt, doubted->process, kind);
			doubt->is_undecided = alive;
		}
	}
	if (kind == NULL)
		plh_doubt_staying_say(doubt, doubted);
}

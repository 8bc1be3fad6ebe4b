/*
 * doubt_staying.c
 *	  What stays in the session, and why that is no leak.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "judge/site_suspects.h"
#include "judge/suspect.h"
#include "report/words.h"
#include "telling/doubt_staying.h"
#include "telling/doubted_site.h"
#include "telling/size_sentences.h"

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
	plh_doubted_site_fill(&fields, image, site, doubted->findings->account, doubted->stacks,
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

const PlhFamilyAccount *
plh_doubt_staying_cache(const PlhDoubted *doubted, const PlhSiteRecord *site)
{
	const PlhFamily *family = site == NULL ? NULL :
		plh_site_suspects_family(doubted->process->image, site);

	if (family == NULL || family->kind != PLH_FAMILY_CACHE ||
		family == plh_family_of("CacheMemoryContext"))
		return NULL;
	return plh_doubted_site_account(doubted->findings->account, family, true);
}

bool
plh_doubt_staying_is_of_server(PlhCacheShares *shares, const PlhDoubted *doubted,
							   const PlhFamilyAccount *cache)
{
	plh_cache_shares_find(shares, cache->family, doubted->process->image, doubted->stacks);
	return shares->bytes > 0 && shares->server_bytes >= shares->bytes / 2;
}

/* What a cache is, what bounds it, and which part of it can be made smaller. */
static void
say_cache(PlhDoubt *doubt, const PlhDoubted *doubted, PlhSentence sentence,
		  const PlhFamilyAccount *cache)
{
	bool		alive = doubted->process->image->alive;
	PlhCacheShares shares;
	const PlhFields fields = {
		.bytes = plh_words_size(cache->bytes),
		.title = cache->family->title,
		.what = cache->family->what,
		.bound = cache->family->bound
	};

	plh_sentences_say(&doubt->words, sentence, alive, &fields);
	plh_cache_shares_find(&shares, cache->family, doubted->process->image, doubted->stacks);
	if (cache->bytes < PLH_SUSPECT_LARGE_BYTES || !plh_cache_shares_are_statistics(&shares))
		return;
	PLH_SAY(&doubt->words, alive, cache_statistics);
	if (alive)
		PLH_SAY(&doubt->next, true, lower_statistics);
}

static void
say_contexts(PlhDoubt *doubt, const PlhDoubted *doubted, const PlhFamilyAccount *contexts)
{
	bool		alive = doubted->process->image->alive;
	const PlhFields fields = {
		.bytes = plh_words_size(contexts->bytes),
		.count = contexts->contexts,
		.title = plh_account_title(contexts, doubted->process->image)
	};

	if (contexts->family != NULL && contexts->family->kind == PLH_FAMILY_CACHE)
		say_cache(doubt, doubted, PLH_SAYS_stays_in_cache, contexts);
	else
		plh_sentences_say(&doubt->words, plh_course_rests(doubted->course) ?
						  PLH_SAYS_stays_in_contexts : PLH_SAYS_stays_in_growing, alive,
						  &fields);
}

/* Of what lasts, the contexts that hold most; NULL: none was counted. */
static const PlhFamilyAccount *
largest_lasting(const PlhAccount *account)
{
	for (int i = 0; i < account->family_count; i++)
		if (account->families[i].lasting)
			return &account->families[i];
	return NULL;
}

/*
 * Do counts tell more of what stays than the largest site?  One that was sampled in other contexts
 * than the largest is not the largest part, and of the server's caches no site tells why.
 */
static bool
do_counts_tell_more(const PlhDoubted *doubted, const PlhSiteRecord *site,
					const PlhFamilyAccount *largest)
{
	const PlhProfileImage *image = doubted->process->image;
	PlhCacheShares shares;

	if (plh_site_suspects_is_in(image, site, largest))
		return largest->family == plh_family_of("CacheMemoryContext") &&
			plh_doubt_staying_is_of_server(&shares, doubted, largest);
	return largest->bytes > plh_doubted_site_bytes(image, site, doubted->findings->account);
}

/* Say what the contexts are that hold more than any site that was sampled. */
static void
say_largest_kind(PlhDoubt *doubt, const PlhDoubted *doubted, const PlhFamilyAccount *contexts)
{
	const PlhProfileImage *image = doubted->process->image;

	if (contexts->family != NULL && contexts->family->kind == PLH_FAMILY_CACHE &&
		contexts->bytes >= PLH_DOUBT_GROWN_BYTES)
		say_cache(doubt, doubted, PLH_SAYS_stays_largest_cache, contexts);
	else
		PLH_SAY(&doubt->words, image->alive, stays_largest_kind,
				.list = plh_size_sentences_kind(contexts, image));
}

void
plh_doubt_staying_say(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhSiteRecord *site = plh_doubted_site_largest(doubted->process->image,
														 PLH_DOUBTED_IN_SESSION);
	const PlhFamilyAccount *contexts = many_lasting_contexts(doubted->findings->account);
	const PlhFamilyAccount *cache = plh_doubt_staying_cache(doubted, site);
	const PlhFamilyAccount *largest = largest_lasting(doubted->findings->account);

	if (contexts != NULL && contexts->bytes >= PLH_SUSPECT_LARGE_BYTES &&
		(site == NULL || contexts->bytes > site->counters.live_bytes))
		say_contexts(doubt, doubted, contexts);
	else if (largest != NULL && site != NULL && !plh_doubted_site_is_noise(site) &&
			 do_counts_tell_more(doubted, site, largest))
		say_largest_kind(doubt, doubted, largest);
	else if (cache != NULL)
		say_cache(doubt, doubted, PLH_SAYS_stays_largest_cache, cache);
	else if (site != NULL && !plh_doubted_site_is_noise(site))
		say_site(doubt, doubted, site);
}

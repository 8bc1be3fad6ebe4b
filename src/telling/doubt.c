/*
 * doubt.c
 *	  Why there is no finding on a process: all is well, it is too early, or a part of its
 *	  memory can't be seen.
 *
 * What can't be seen comes first: it may be what the reader is looking for.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "base/settings.h"
#include "judge/process_suspect.h"
#include "judge/site_suspects.h"
#include "judge/suspect.h"
#include "process/profile_directory.h"
#include "report/blamed_code.h"
#include "report/listed_site.h"
#include "report/malloc_callers.h"
#include "report/words.h"
#include "sampler/publication.h"
#include "telling/advice.h"
#include "telling/cache_shares.h"
#include "telling/doubt.h"
#include "telling/finding_evidence.h"
#include "telling/holder_sentences.h"
#include "telling/limit_sentences.h"
#include "telling/moment.h"
#include "telling/size_sentences.h"

/*
 * Of what memory contexts use, samples stand for less than this part: then most of it was allocated
 * unseen.  Contexts round up to twice the size at most.
 */
#define SEEN_PART 0.25

/* The sampling interval that is proposed where samples are too few, and as a text. */
#define FINE_INTERVAL_BYTES 32768
#define FINE_INTERVAL "32kB"

/* The caches that each session fills are smaller than this: more is worth a word. */
#define GROWN_BYTES (PLH_SUSPECT_LARGE_BYTES / 8)

/* Growth can be judged once a process is this old. */
#define YOUNG_S 10

static bool
is_running(const PlhExplainedProcess *process)
{
	return process->backend_type != NULL && process->state != NULL &&
		strcmp(process->backend_type, "client backend") == 0 &&
		strcmp(process->state, "active") == 0;
}

/*
 * What has come without having been counted or sampled is not the contexts'.  The statement may be
 * known, but not what the process had when it began.
 */
static void
say_outside_uncounted(PlhDoubt *doubt, const PlhDoubted *doubted, PlhSentence reason)
{
	int			pid = doubted->process->pid;
	PlhMallocCallers callers = plh_malloc_callers_find(pid, doubted->symbols);

	plh_sentences_say(&doubt->words, reason, true, PLH_FIELDS(NULL));
	plh_advice_say_libraries(&doubt->words, &callers);
	doubt->is_undecided = true;
	if (is_running(doubted->process))
	{
		plh_advice_of_running(&doubt->next, pid);
		doubt->loaded = plh_advice_loaded_by(pid, "session");
	}
	else
		PLH_SAY(&doubt->next, true, see_activity);
	if (plh_track_malloc)
		PLH_SAY(&doubt->next, true, preload_malloc);
}

/* Why nothing is known of a process without a profile. */
static void
doubt_without_profile(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhExplainedProcess *process = doubted->process;
	const char *hint;
	const char *failure = process->loaded == PLH_LOADED ?
		plh_profile_directory_failure(process->pid, &hint) : NULL;

	if (process->is_exiting)
		PLH_SAY(&doubt->words, true, exiting);
	else if (process->loaded == PLH_NOT_LOADED)
	{
		PLH_SAY(&doubt->words, true, not_loaded);
		PLH_SAY(&doubt->next, true, load_it,.pid = process->pid);
	}
	else if (failure != NULL)
	{
		PLH_SAY(&doubt->words, true, not_published,.reason = failure);
		PLH_SAY(&doubt->next, true, help,.help = hint);
	}
	else if (process->loaded == PLH_LOADED && process->rss_anon_bytes >= PLH_SUSPECT_LARGE_BYTES)
		say_outside_uncounted(doubt, doubted, PLH_SAYS_outside_never_counted);
	else if (process->loaded == PLH_LOADED)
		PLH_SAY(&doubt->words, true, too_small,.bytes = plh_words_size(PLH_PUBLICATION_BYTES),
				.count = PLH_PUBLICATION_SAMPLES);
	else
		PLH_SAY(&doubt->words, true, maybe_loaded);
}

/* Could its profile not be shown to others, or only in part? */
static bool
find_unpublished(PlhDoubt *doubt, const PlhProfileImage *image)
{
	const char *failure;
	const char *hint;

	if (plh_profile_image_is_whole(image->header))
		return false;
	failure = image->alive ? plh_profile_directory_failure(image->header->pid, &hint) : NULL;
	if (failure != NULL)
	{
		PLH_SAY(&doubt->words, true, sites_unseen,.reason = failure);
		PLH_SAY(&doubt->next, true, help,.help = hint);
		return true;
	}
	if (plh_load_settings.profile_directory[0] == '\0')
	{
		PLH_SAY(&doubt->words, true, full_memory);
		PLH_SAY(&doubt->next, true, make_room);
	}
	else
	{
		PLH_SAY(&doubt->words, true, full_directory);
		PLH_SAY(&doubt->next, true, make_directory_larger);
	}
	return true;
}

/* Are call sites unknown, as none are sampled or shown? */
static bool
find_blindness(PlhDoubt *doubt, const PlhExplainedProcess *process)
{
	const PlhProfileImage *image = process->image;
	const PlhProfileHeader *header = image->header;

	if (find_unpublished(doubt, image))
		return true;
	if (image->alive && header->sample_interval == 0)
	{
		if (header->counters.last_at == 0)
			PLH_SAY(&doubt->words, true, never_sampled);
		else
			PLH_SAY(&doubt->words, true, not_sampled,
					.age = plh_words_duration(header->counters.last_at, process->now));
		PLH_SAY(&doubt->next, true, start_it,.pid = process->pid);
		return true;
	}
	if (image->alive && header->scope == PLH_SCOPE_LONG_LIVED)
	{
		PLH_SAY(&doubt->words, true, not_all_sampled);
		PLH_SAY(&doubt->next, true, start_all,.pid = process->pid);
		return true;
	}
	return false;
}

/* Has it freed what a finding is about, since that was counted? */
static bool
find_lost(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhExplainedProcess *process = doubted->process;
	const PlhFindings *findings = doubted->findings;

	for (int i = 0; i < findings->count; i++)
	{
		if (!plh_moment_has_lost(process, findings->list[i].bytes))
			continue;
		PLH_SAY(&doubt->words, true, lost_since_count,
				.age = plh_words_duration(process->image->header->census_at, process->now));
		PLH_SAY(&doubt->next, true, ask_later);
		doubt->is_undecided = true;
		return true;
	}
	return false;
}

/* Has it gained much that was not counted yet, and of which samples know nothing? */
static bool
find_uncounted(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhExplainedProcess *process = doubted->process;
	const PlhProfileHeader *header = process->image->header;

	if (plh_account_gained_outside(header, process->rss_anon_bytes) < PLH_SUSPECT_LARGE_BYTES)
		return false;
	say_outside_uncounted(doubt, doubted, header->census_at == 0 ?
						  PLH_SAYS_outside_never_counted : PLH_SAYS_outside_since_count);
	return true;
}

/* What the memory is that no sample stands for. */
static void
say_why_unseen(PlhDoubt *doubt, const PlhProfileImage *image, int64 used)
{
	const PlhProfileHeader *header = image->header;

	if (header->unsampled_bytes >= used / 4)
		PLH_SAY(&doubt->words, true, unseen_before,
				.bytes = plh_words_size(header->unsampled_bytes));
	else if (header->context_free_bytes < 0)
		PLH_SAY(&doubt->words, image->alive, unseen_free,.count = header->context_count);
	else
		PLH_SAY(&doubt->words, true, unseen_pause);
}

/* Do samples of malloc stand for more than it has given out? */
static bool
find_missed_frees(PlhDoubt *doubt, const PlhProfileHeader *header)
{
	if (!plh_process_suspect_misses_frees(header))
		return false;
	PLH_SAY(&doubt->words, true, missed_frees,
			.bytes = plh_words_estimate(header->malloc_sampled_bytes, header->malloc_sampled_error),
			.other = plh_words_size(Max(0, header->malloc_bytes - header->context_bytes)));
	return true;
}

/* The interval at which most of what contexts have was sampled. */
static uint32
interval_of(const PlhProfileHeader *header)
{
	return header->passing_bytes > header->context_bytes / 2 ?
		plh_sampling_coarse_interval(header->sample_interval, 0) : header->sample_interval;
}

/* What samples of memory contexts stand for, which are all but those of malloc. */
static double
sampled_in_contexts(const PlhProfileHeader *header, double *error)
{
	const PlhCounters *all = &header->counters;
	const PlhCounters *of_malloc = &header->malloc_counters;
	double		bytes = Max(0.0, (double) all->live_bytes - (double) of_malloc->live_bytes);
	double		samples = (double) all->live_samples - (double) of_malloc->live_samples;

	*error = samples > 0 ?
		plh_sampling_error_bytes(Max(0.0, all->live_variance - of_malloc->live_variance),
								 bytes, (int64) samples) :
		plh_sampling_missed_bytes(interval_of(header));
	return bytes;
}

/*
 * Was most of what the contexts use allocated unseen?  Samples are of now, and only a count of now
 * is compared with them.
 */
static bool
find_unseen(PlhDoubt *doubt, const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;
	double		error;
	double		sampled = sampled_in_contexts(header, &error);
	int64		used = header->context_bytes - Max(0, header->context_free_bytes);
	PlhFields	fields = {NULL};

	if (header->census_at == 0 || used < PLH_SUSPECT_LARGE_BYTES ||
		(process->image->alive && !plh_moment_is_now(process)) ||
		sampled + error >= SEEN_PART * used)
		return false;
	fields.bytes = plh_words_estimate((int64) sampled, (int64) error);
	fields.total = plh_words_size(used);
	plh_sentences_say(&doubt->words, header->context_free_bytes < 0 ? PLH_SAYS_unseen_of_all :
					  PLH_SAYS_unseen_of_used, process->image->alive, &fields);
	say_why_unseen(doubt, process->image, used);
	if (process->image->alive)
		PLH_SAY(&doubt->next, true, take_baseline,.pid = process->pid);
	return true;
}

/* Sites that hold something in contexts of the session, in others, or by malloc. */
typedef enum SiteKind
{
	OF_SESSION,
	OF_STATEMENT,
	OF_MALLOC
} SiteKind;

/* Is the site of that kind?  What malloc has given out stays in the session, too. */
static bool
is_of_kind(const PlhSiteRecord *site, SiteKind kind)
{
	if (kind == OF_MALLOC)
		return site->key.lifetime == PLH_LIFETIME_PROCESS;
	return plh_lifetime_is_lasting(site->key.lifetime) == (kind == OF_SESSION);
}

/* The site that holds most of those of that kind; NULL: none of them holds anything. */
static const PlhSiteRecord *
largest_site(const PlhProfileImage *image, SiteKind kind)
{
	const PlhSiteRecord *largest = NULL;
	const PlhSiteRecord *site;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		if (site->counters.live_samples > 0 &&
			plh_profile_image_stack(image, site->key.stack) != NULL &&
			is_of_kind(site, kind) &&
			(largest == NULL ||
			 site->counters.live_bytes > largest->counters.live_bytes))
			largest = site;
	}
	return largest;
}

/* What was counted of a family, in contexts of the session or in others; or NULL. */
static const PlhFamilyAccount *
account_of(const PlhAccount *account, const PlhFamily *family, bool lasting)
{
	for (int i = 0; i < account->family_count; i++)
		if (family != NULL && account->families[i].family == family &&
			account->families[i].lasting == lasting)
			return &account->families[i];
	return NULL;
}

/*
 * What a site holds, which is no more than was counted after its last sample: of its family or
 * lifetime, or of malloc.
 */
static int64
bytes_of(const PlhProfileImage *image, const PlhSiteRecord *site,
		 const PlhAccount *account)
{
	const PlhProfileHeader *header = image->header;
	int64		bytes = site->counters.live_bytes;
	bool		lasting = plh_lifetime_is_lasting(site->key.lifetime);
	const PlhFamilyAccount *family;

	if (site->counters.last_at > header->census_at)
		return bytes;
	if (site->key.lifetime == PLH_LIFETIME_PROCESS)
		return header->malloc_bytes < 0 ? bytes :
			Min(bytes, Max(0, header->malloc_bytes - header->context_bytes));
	family = account_of(account, plh_site_suspects_family(image, site), lasting);
	if (family != NULL)
		return Min(bytes, family->bytes);
	return Min(bytes, lasting ? Max(0, header->context_bytes - header->passing_bytes) :
			   header->passing_bytes);
}

/*
 * Fill in what a site holds, and where it is.  "nameless" is set where it is NULL and the name of
 * the site is missing.
 */
static void
fill_site(PlhFields *fields, const PlhProfileImage *image,
		  const PlhSiteRecord *site, const PlhAccount *account,
		  PlhStackTexts *stacks, const char **nameless)
{
	PlhSiteFacts facts;
	PlhListedSite listed;
	int64		bytes = bytes_of(image, site, account);

	plh_site_facts_resolve(&facts, image, site, NULL);
	plh_listed_site_start(&listed, image, &facts);
	plh_listed_site_describe_stack(&listed, stacks);
	if (*nameless == NULL)
		*nameless = plh_blamed_code_nameless(&listed.stack);
	fields->bytes = plh_words_estimate(bytes, Min(facts.error_bytes, bytes));
	fields->site = plh_blamed_code_site(&listed.stack);
	fields->context = listed.context_name;
}

/* What a statement holds in nodes of one kind, what limits these, and what else it holds. */
static void
say_nodes(PlhDoubt *doubt, const PlhProfileImage *image, const PlhFamilyAccount *nodes,
		  const PlhAccount *account, bool runs)
{
	double		allowed = (double) plh_limit_sentences_node_bytes(image, nodes->family) *
		(double) Max(nodes->contexts, 1);

	plh_sentences_say(&doubt->words, nodes->bytes <= allowed ? PLH_SAYS_nodes_within :
					  PLH_SAYS_nodes_about, runs,
					  PLH_FIELDS(.title = nodes->family->title,
								 .bytes = plh_words_size(nodes->bytes)));
	plh_limit_sentences_say(&doubt->words, image, nodes->family, PLH_LIMIT_NODE);
	plh_limit_sentences_say_plan(&doubt->words, image);
	plh_finding_evidence_say_rest(&doubt->words,
								  plh_statement_suspect_is_counted(account, image->header) ?
								  account : NULL, nodes->family, runs);
}

/* Do cursors that are open hold much, but no more than they may? */
static bool
find_cursors(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	PlhHolder	holder;

	if (!plh_holder_sentences_find(&holder, doubted->process))
		return false;
	plh_holder_sentences_say(&doubt->words, &holder, doubted->findings->account, image);
	PLH_SAY(&doubt->words, true, holder_is_no_leak);
	plh_holder_sentences_say_end(&doubt->words, &holder, image->alive);
	if (image->alive)
		plh_holder_sentences_advise(&doubt->next, &holder);
	return true;
}

/* What is held at the site that has most, by a statement or by a transaction that waits. */
static void
say_largest(PlhDoubt *doubt, const PlhDoubted *doubted, const PlhSiteRecord *site)
{
	const PlhProfileImage *image = doubted->process->image;
	PlhHolder	holder = plh_memory_holder_find(image, site->counters.live_bytes);
	PlhFields	fields = {NULL};

	fill_site(&fields, image, site, doubted->findings->account, doubted->stacks,
			  &doubt->nameless);
	fields.noun = plh_finding_evidence_noun(site->key.lifetime);
	fields.since = plh_words_time(holder.waits_since);
	if (holder.kind == PLH_HELD_BY_TRANSACTION)
	{
		plh_sentences_say(&doubt->words, PLH_SAYS_transaction_within, true, &fields);
		PLH_SAY(&doubt->words, true, holder_is_no_leak);
		plh_holder_sentences_say_end(&doubt->words, &holder, true);
		plh_holder_sentences_advise(&doubt->next, &holder);
		return;
	}
	plh_sentences_say(&doubt->words, PLH_SAYS_site_within,
					  image->alive && holder.kind == PLH_HELD_BY_STATEMENT, &fields);
	plh_limit_sentences_say(&doubt->words, image,
							plh_finding_evidence_nodes(doubted->findings->account),
							plh_statement_limit_kind(image, site));
}

/* What samples say that statements and transactions hold now. */
static int64
passing_sampled(const PlhProfileImage *image)
{
	const PlhSiteRecord *site;
	uint32		position = 0;
	int64		bytes = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		if (is_of_kind(site, OF_STATEMENT))
			bytes += Max(0, Min(site->counters.live_bytes, PG_INT64_MAX / 65536));
	return bytes;
}

/*
 * The nodes of a plan that hold much, and the largest part of what was counted: each of them may
 * have a site of its own.  NULL where there are none, or most is freed since.
 */
static const PlhFamilyAccount *
large_nodes(const PlhProfileImage *image, const PlhAccount *account)
{
	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (family->lasting)
			continue;
		return family->family != NULL && family->family->kind == PLH_FAMILY_NODES &&
			family->bytes >= PLH_SUSPECT_LARGE_BYTES &&
			passing_sampled(image) >= family->bytes / 2 ? family : NULL;
	}
	return NULL;
}

/* Does a statement hold much, but no more than it may? */
static bool
find_statement(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhAccount *account = doubted->findings->account;
	const PlhSiteRecord *site = largest_site(image, OF_STATEMENT);
	const PlhFamilyAccount *nodes = large_nodes(image, account);

	if (site == NULL)
		return false;
	if (nodes != NULL && !plh_moment_has_lost(doubted->process, nodes->bytes) &&
		plh_statement_limit_kind(image, site) == PLH_LIMIT_NODE)
		say_nodes(doubt, image, nodes, account, image->alive &&
				  plh_memory_holder_find(image, nodes->bytes).kind == PLH_HELD_BY_STATEMENT);
	else if (site->counters.live_bytes >= PLH_SUSPECT_LARGE_BYTES)
		say_largest(doubt, doubted, site);
	else
		return false;
	return true;
}

static void
say_callers(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhSiteRecord *site = largest_site(image, OF_MALLOC);

	if (site != NULL)
	{
		PlhFields	fields = {NULL};

		fill_site(&fields, image, site, doubted->findings->account,
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

/* Has malloc given out much outside of contexts, which does not go on? */
static bool
find_outside(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhProfileHeader *header = image->header;
	int64		outside = header->malloc_bytes - header->context_bytes;
	PlhCourse	course = {0};
	PlhHolder	holder;
	bool		rests;

	if (header->census_at == 0 || outside < PLH_SUSPECT_LARGE_BYTES ||
		plh_moment_has_lost(doubted->process, outside))
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
 * Has it grown of late?  The caches that each session fills are no reason to look closer, unless it
 * goes on.
 */
static bool
has_grown(const PlhCourse *course)
{
	return !plh_course_rests(course) &&
		(course->grown_bytes >= GROWN_BYTES || plh_course_is_steady(course));
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

	if (!account->knows_malloc || mapped <= 0 || has_grown(doubted->course) ||
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

	if (header->census_at == 0 || header->malloc_free_bytes < PLH_SUSPECT_KEPT_BYTES ||
		header->malloc_free_bytes < header->own_bytes / 2)
		return false;
	PLH_SAY(&doubt->words, image->alive, freed,.bytes = plh_words_size(header->malloc_free_bytes),
			.other = plh_words_size(header->malloc_bytes));
	plh_advice_say_trim(&doubt->next, image);
	return true;
}

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
	fill_site(&fields, image, site, doubted->findings->account, doubted->stacks,
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

/* Is what it holds too uncertain for a verdict? */
static bool
is_uncertain(const PlhSiteRecord *site)
{
	const PlhCounters *counters = &site->counters;

	return plh_sampling_error_bytes(counters->live_variance, counters->live_bytes,
									counters->live_samples) >
		PLH_SUSPECT_ERROR_PART * (double) counters->live_bytes;
}

/*
 * The cache of PostgreSQL's that a site is in, if it is counted.  Extensions allocate in
 * CacheMemoryContext, too: a site in that is told of by itself.
 */
static const PlhFamilyAccount *
cache_of(const PlhDoubted *doubted, const PlhSiteRecord *site)
{
	const PlhFamily *family = site == NULL ? NULL :
		plh_site_suspects_family(doubted->process->image, site);

	if (family == NULL || family->kind != PLH_FAMILY_CACHE ||
		family == plh_family_of("CacheMemoryContext"))
		return NULL;
	return account_of(doubted->findings->account, family, true);
}

/* Is most of what was sampled in a cache the server's own? */
static bool
is_of_server(PlhCacheShares *shares, const PlhDoubted *doubted, const PlhFamilyAccount *cache)
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
	if (cache->bytes < PLH_SUSPECT_LARGE_BYTES || !is_of_server(&shares, doubted, cache) ||
		shares.statistics_bytes < shares.bytes / 2)
		return;
	PLH_SAY(&doubt->words, alive, stays_statistics);
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

/* Is the site in such contexts? */
static bool
is_in(const PlhSiteRecord *site, const PlhFamilyAccount *contexts, const PlhProfileImage *image)
{
	const PlhFamily *family = plh_site_suspects_family(image, site);

	return family != NULL ? family == contexts->family : contexts->family == NULL &&
		site->key.context_name == contexts->largest->context_name;
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

	if (is_in(site, largest, image))
		return largest->family == plh_family_of("CacheMemoryContext") &&
			is_of_server(&shares, doubted, largest);
	return largest->bytes > bytes_of(image, site, doubted->findings->account);
}

/* Say what the contexts are that hold more than any site that was sampled. */
static void
say_largest_kind(PlhDoubt *doubt, const PlhDoubted *doubted, const PlhFamilyAccount *contexts)
{
	const PlhProfileImage *image = doubted->process->image;

	if (contexts->family != NULL && contexts->family->kind == PLH_FAMILY_CACHE &&
		contexts->bytes >= GROWN_BYTES)
		say_cache(doubt, doubted, PLH_SAYS_stays_largest_cache, contexts);
	else
		PLH_SAY(&doubt->words, image->alive, stays_largest_kind,
				.list = plh_size_sentences_kind(contexts, image));
}

/* Say what stays in the session, and why that is no leak, if anything does. */
static void
say_staying(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhSiteRecord *site = largest_site(doubted->process->image,
											 OF_SESSION);
	const PlhFamilyAccount *contexts = many_lasting_contexts(doubted->findings->account);
	const PlhFamilyAccount *cache = cache_of(doubted, site);
	const PlhFamilyAccount *largest = largest_lasting(doubted->findings->account);

	if (contexts != NULL && contexts->bytes >= PLH_SUSPECT_LARGE_BYTES &&
		(site == NULL || contexts->bytes > site->counters.live_bytes))
		say_contexts(doubt, doubted, contexts);
	else if (largest != NULL && site != NULL && !is_noise(site) &&
			 do_counts_tell_more(doubted, site, largest))
		say_largest_kind(doubt, doubted, largest);
	else if (cache != NULL)
		say_cache(doubt, doubted, PLH_SAYS_stays_largest_cache, cache);
	else if (site != NULL && !is_noise(site))
		say_site(doubt, doubted, site);
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
		is_of_server(&shares, doubted, kind) ? kind : NULL;
}

/* Say why growth is no reason to look closer.  Returns false where it may be one. */
static bool
say_harmless(PlhDoubt *doubt, const PlhDoubted *doubted, const PlhFamilyAccount *kind)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhCourse *course = doubted->course;
	const PlhSiteRecord *site = largest_site(image, OF_SESSION);
	const PlhFamilyAccount *cache = cache_of(doubted, site);
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
	const PlhSiteRecord *site = largest_site(image, OF_SESSION);

	return image->header->sample_interval > FINE_INTERVAL_BYTES &&
		(site == NULL || is_uncertain(site));
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
 * What stays in the session, and what to do if that keeps growing.  What was never counted is not
 * said to be nothing.
 */
static void
find_staying(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhCourse *course = doubted->course;
	bool		alive = doubted->process->image->alive;
	const PlhFamilyAccount *kind = NULL;

	if (doubted->process->image->header->census_at == 0)
	{
		PLH_SAY(&doubt->words, alive, too_little);
		return;
	}
	if (!has_grown(course) && course->grown_bytes > 0 && !plh_course_rests(course))
		PLH_SAY(&doubt->words, alive, growth_small);
	else if (!has_grown(course))
		PLH_SAY(&doubt->words, alive, nothing_grows);
	else
	{
		kind = tellable_kind(doubted);
		if (say_harmless(doubt, doubted, kind))
			kind = NULL;
		else
		{
			say_growth(doubt, doubted, kind);
			doubt->is_undecided = alive;
		}
	}
	if (kind == NULL)
		say_staying(doubt, doubted);
	if (doubt->is_undecided)
		advise_on_growth(doubt, doubted->process, kind);
}

void
plh_doubt_find(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	memset(doubt, 0, sizeof(*doubt));
	plh_sentences_begin(&doubt->words);
	plh_sentences_begin(&doubt->next);
	if (doubted->process->image == NULL)
		doubt_without_profile(doubt, doubted);
	else if (!find_blindness(doubt, doubted->process) &&
			 !find_lost(doubt, doubted) &&
			 !find_uncounted(doubt, doubted) &&
			 !find_missed_frees(doubt, doubted->process->image->header) &&
			 !find_cursors(doubt, doubted) &&
			 !find_unseen(doubt, doubted->process) &&
			 !find_statement(doubt, doubted) &&
			 !find_outside(doubt, doubted) &&
			 !find_untold(doubt, doubted) &&
			 !find_malloc_and_mapped(doubt, doubted) &&
			 !find_kept(doubt, doubted))
		find_staying(doubt, doubted);
}

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
#include "judge/statement_limit.h"
#include "judge/statement_suspect.h"
#include "judge/suspect.h"
#include "judge/unwritten.h"
#include "process/profile_directory.h"
#include "report/malloc_callers.h"
#include "report/words.h"
#include "sampler/publication.h"
#include "telling/doubt.h"
#include "telling/outside_advice.h"
#include "telling/site_fields.h"
#include "telling/statement_evidence.h"
#include "telling/staying_doubt.h"

/*
 * Of what memory contexts use, samples stand for less than this part: then most of it was allocated
 * unseen.  Contexts round up to twice the size at most.
 */
#define SEEN_PART 0.25

/* Is it a session that runs a statement? */
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
	plh_outside_advice_say_libraries(&doubt->words, &callers);
	doubt->is_undecided = true;
	if (is_running(doubted->process))
	{
		plh_outside_advice_of_running(&doubt->next, pid);
		doubt->loaded = plh_outside_advice_loaded_by(pid, "session");
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
	const char *failure = process->loaded == PLH_LOADED ?
		plh_profile_directory_failure(process->pid) : NULL;

	if (process->loaded == PLH_NOT_LOADED)
	{
		PLH_SAY(&doubt->words, true, not_loaded);
		PLH_SAY(&doubt->next, true, load_it,.pid = process->pid);
	}
	else if (failure != NULL)
	{
		PLH_SAY(&doubt->words, true, not_published,.reason = failure);
		PLH_SAY(&doubt->next, true, help,.help = plh_profile_directory_hint(process->pid));
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

	if (plh_profile_image_is_whole(image->header))
		return false;
	failure = image->alive ? plh_profile_directory_failure(image->header->pid) : NULL;
	if (failure != NULL)
	{
		PLH_SAY(&doubt->words, true, sites_unseen,.reason = failure);
		PLH_SAY(&doubt->next, true, help,.help = plh_profile_directory_hint(image->header->pid));
		return true;
	}
	if (plh_load_settings.profile_directory[0] == '\0')
		PLH_SAY(&doubt->words, true, full_memory);
	else
		PLH_SAY(&doubt->words, true, full_directory);
	PLH_SAY(&doubt->next, true, make_room);
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

/*
 * Has it gained much that was not counted yet, and of which samples know nothing?  What was counted
 * and only then written to is no gain, and what is sampled rarely may be missed.
 */
static bool
find_uncounted(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhExplainedProcess *process = doubted->process;
	const PlhProfileHeader *header = process->image->header;
	int64		gained = header->census_at == 0 ? process->rss_anon_bytes :
		process->rss_anon_bytes - Max(0, header->own_bytes);

	if (gained < PLH_SUSPECT_LARGE_BYTES || header->malloc_tracked ||
		plh_sampling_coarse_interval(header->sample_interval, 0) > gained / 8 ||
		Max(header->counters.live_bytes, plh_unwritten_bytes(header)) > gained / 8)
		return false;
	say_outside_uncounted(doubt, doubted, header->census_at == 0 ?
						  PLH_SAYS_outside_never_counted : PLH_SAYS_outside_since_count);
	return true;
}

/* What the memory is that no sample stands for. */
static void
say_why_unseen(PlhDoubt *doubt, const PlhProfileHeader *header, int64 used)
{
	if (header->unsampled_bytes >= used / 4)
		PLH_SAY(&doubt->words, true, unseen_before,.bytes = plh_words_size(header->unsampled_bytes));
	else if (header->context_free_bytes < 0)
		PLH_SAY(&doubt->words, true, unseen_free,.count = header->context_count);
	else
		PLH_SAY(&doubt->words, true, unseen_pause);
}

/* Do samples of malloc stand for more than it has given out? */
static bool
find_missed_frees(PlhDoubt *doubt, const PlhProfileHeader *header)
{
	if (!plh_process_suspect_misses_frees(header))
		return false;
	PLH_SAY(&doubt->words, true, missed_frees,.bytes = plh_words_estimate(header->malloc_sampled_bytes,
																		  header->malloc_sampled_error),
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

/* Was most of what the contexts use allocated unseen? */
static bool
find_unseen(PlhDoubt *doubt, const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;
	double		error;
	double		sampled = sampled_in_contexts(header, &error);
	int64		used = header->context_bytes - Max(0, header->context_free_bytes);
	PlhFields	fields = {NULL};

	if (header->census_at == 0 || used < PLH_SUSPECT_LARGE_BYTES ||
		sampled + error >= SEEN_PART * used)
		return false;
	fields.bytes = plh_words_estimate((int64) sampled, (int64) error);
	fields.total = plh_words_size(used);
	plh_sentences_say(&doubt->words, header->context_free_bytes < 0 ? PLH_SAYS_unseen_of_all :
					  PLH_SAYS_unseen_of_used, true, &fields);
	say_why_unseen(doubt, header, used);
	PLH_SAY(&doubt->next, true, take_baseline,.pid = process->pid);
	return true;
}

/* What a statement holds in nodes of one kind, what limits these, and what else it holds. */
static void
say_nodes(PlhDoubt *doubt, const PlhProfileImage *image, const PlhFamilyAccount *nodes,
		  const PlhAccount *account)
{
	PLH_SAY(&doubt->words, image->alive, nodes_within,.title = nodes->family->title,
			.bytes = plh_words_size(nodes->bytes));
	plh_statement_evidence_say_limit(&doubt->words, image, nodes->family,
									 image->header->node_memory_bytes);
	plh_statement_evidence_say_rest(&doubt->words,
									plh_statement_suspect_is_counted(account, image->header) ?
									account : NULL, nodes->family, image->alive);
}

/* Does a statement hold much, but no more than it may? */
static bool
find_statement(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhAccount *account = doubted->findings->account;
	const PlhSiteRecord *site = plh_largest_site_find(image, PLH_SITES_OF_STATEMENT);
	const PlhFamily *family;
	const PlhFamilyAccount *nodes;
	int64		limit;
	PlhFields	fields = {NULL};

	if (site == NULL || site->counters.live_bytes < PLH_SUSPECT_LARGE_BYTES)
		return false;
	family = plh_largest_site_family(image, site);
	nodes = plh_largest_site_account(account, family, false);
	limit = plh_statement_limit(image, site);
	if (nodes != NULL && family->kind == PLH_FAMILY_NODES &&
		limit == image->header->node_memory_bytes)
	{
		say_nodes(doubt, image, nodes, account);
		return true;
	}
	plh_site_fields_fill(&fields, image, site, account, doubted->stacks, &doubt->nameless);
	fields.noun = plh_statement_evidence_noun(site->key.lifetime);
	plh_sentences_say(&doubt->words, PLH_SAYS_site_within, image->alive, &fields);
	plh_statement_evidence_say_limit(&doubt->words, image, family, limit);
	return true;
}

/* Who has it from malloc, or may have. */
static void
say_callers(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	const PlhProfileImage *image = doubted->process->image;
	const PlhSiteRecord *site = plh_largest_site_find(image, PLH_SITES_OF_MALLOC);

	if (site != NULL)
	{
		PlhFields	fields = {NULL};

		plh_site_fields_fill(&fields, image, site, doubted->findings->account,
							 doubted->stacks, &doubt->nameless);
		plh_sentences_say(&doubt->words, PLH_SAYS_outside_largest, true, &fields);
	}
	else if (image->alive)
	{
		PlhMallocCallers callers = plh_malloc_callers_find(image->header->pid, doubted->symbols);

		plh_outside_advice_say_libraries(&doubt->words, &callers);
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
	bool		rests;

	if (header->census_at == 0 || outside < PLH_SUSPECT_LARGE_BYTES)
		return false;
	rests = rests_outside(&course, doubted);
	if (rests)
		PLH_SAY(&doubt->words, image->alive, outside_rests,.bytes = plh_words_size(outside),
				.age = plh_words_duration(course.rests_since, course.now));
	else
		PLH_SAY(&doubt->words, image->alive, outside_lately,.bytes = plh_words_size(outside));
	say_callers(doubt, doubted);
	doubt->is_undecided = image->alive && !rests;
	PLH_SAY(&doubt->next, true, see_history,.pid = doubted->process->pid);
	if (!rests)
		PLH_SAY(&doubt->next, true, ask_later);
	plh_outside_advice_sites(&doubt->next, header);
	return true;
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
			 !find_uncounted(doubt, doubted) &&
			 !find_missed_frees(doubt, doubted->process->image->header) &&
			 !find_unseen(doubt, doubted->process) &&
			 !find_statement(doubt, doubted) &&
			 !find_outside(doubt, doubted))
		plh_staying_doubt_find(doubt, doubted);
}

/*
 * doubt_unknown.c
 *	  What is not known of a process: it has no profile or shows none, is not sampled, or has
 *	  changed since it was counted.
 */
#include "postgres.h"

#include "base/settings.h"
#include "judge/suspect.h"
#include "process/profile_directory.h"
#include "report/malloc_callers.h"
#include "report/words.h"
#include "sampler/publication.h"
#include "telling/advice.h"
#include "telling/doubt_unknown.h"
#include "telling/moment.h"

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

/* What is known of a process without a profile. */
static void
say_unprofiled(PlhDoubt *doubt, const PlhDoubted *doubted)
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

bool
plh_doubt_unknown_find(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	if (doubted->process->image == NULL)
	{
		say_unprofiled(doubt, doubted);
		return true;
	}
	return find_blindness(doubt, doubted->process) || find_lost(doubt, doubted) ||
		find_uncounted(doubt, doubted);
}

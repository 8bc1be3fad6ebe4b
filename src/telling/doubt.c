/*
 * doubt.c
 *	  Why there is no verdict on a process: all is well, it is too early, or a part
 *	  of its memory can't be seen.
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
#include "process/unshown_profile.h"
#include "report/malloc_callers.h"
#include "report/words.h"
#include "sampler/publication.h"
#include "telling/doubt.h"
#include "telling/largest_site_text.h"
#include "telling/outside_advice.h"
#include "telling/statement_evidence.h"
#include "telling/staying_doubt.h"

/*
 * Of what memory contexts use, samples stand for less than this part: then most
 * of it was allocated unseen.  Contexts round up to twice the size at most.
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
 * What has come without having been counted or sampled is not the contexts'.  The
 * statement may be known, but not what the process had when it began.  "what" is that of
 * its memory, and "since" of when it was counted.
 */
static void
find_outside_uncounted(PlhDoubt *doubt, const PlhExplainedProcess *process,
					   const char *what, const char *since, PlhSymbols *symbols)
{
	doubt->reason = psprintf("Almost all of %s is outside of memory contexts: malloc gave it out, or a library mapped it. It has not counted its memory %s, so it is not known which. %s",
							 what, since, plh_malloc_callers_text(process->pid, symbols));
	doubt->is_undecided = true;
	doubt->next = psprintf("%s%s", is_running(process) ?
						   plh_outside_advice_of_running(process->pid) :
						   "See in pg_stat_activity what it runs, and which of these libraries that uses.",
						   !plh_track_malloc ? "" :
						   " To see call sites of malloc and their statements, restart the server with pg_leakhunt_malloc.so in LD_PRELOAD.");
}

/* Why nothing is known of a process without a profile. */
static PlhDoubt
doubt_without_profile(const PlhExplainedProcess *process, PlhSymbols *symbols)
{
	PlhDoubt	doubt = {0};

	if (process->loaded == PLH_NOT_LOADED)
	{
		doubt.reason = "It has not loaded pg_leakhunt, so no more is known of it.";
		doubt.next = psprintf("Add pg_leakhunt to shared_preload_libraries and restart the server, or run pg_leakhunt_attach %d as the server's user.",
							  process->pid);
	}
	else if (process->loaded == PLH_LOADED &&
			 plh_unshown_profile_reason(process->pid) != NULL)
	{
		doubt.reason = plh_unshown_profile_reason(process->pid);
		doubt.next = plh_unshown_profile_hint(process->pid);
	}
	else if (process->loaded == PLH_LOADED &&
			 process->rss_anon_bytes >= PLH_SUSPECT_LARGE_BYTES)
		find_outside_uncounted(&doubt, process, "its private memory", "yet", symbols);
	else if (process->loaded == PLH_LOADED)
		doubt.reason = psprintf("It has allocated too little to tell: less than %s at a time, and fewer than %d samples.",
								plh_words_size(PLH_PUBLICATION_BYTES),
								PLH_PUBLICATION_SAMPLES);
	else
		doubt.reason = "Whether it has loaded pg_leakhunt can't be known.";
	return doubt;
}

/* Are call sites unknown, as none are sampled or shown? */
static bool
find_blindness(PlhDoubt *doubt, const PlhExplainedProcess *process)
{
	const PlhProfileImage *image = process->image;
	const PlhProfileHeader *header = image->header;

	if (!plh_profile_image_is_whole(header) && image->alive &&
		plh_unshown_profile_reason(header->pid) != NULL)
	{
		doubt->reason = psprintf("%s Its call sites cannot be seen.",
								 plh_unshown_profile_reason(header->pid));
		doubt->next = plh_unshown_profile_hint(header->pid);
	}
	else if (!plh_profile_image_is_whole(header))
	{
		doubt->reason = psprintf("%s was too full for its profile, so its call sites cannot be seen.",
								 plh_load_settings.profile_directory[0] == '\0' ?
								 "/dev/shm" :
								 "The file system of pg_leakhunt.profile_directory");
		doubt->next = "Make /dev/shm larger, or set pg_leakhunt.profile_directory.";
	}
	else if (image->alive && header->sample_interval == 0)
	{
		doubt->reason = psprintf("It is not sampled: pg_leakhunt.enabled is off, or somebody has stopped it. The call sites of what it has allocated since its last sample, %s ago, are not known.",
								 plh_words_duration(header->counters.last_at,
													process->now));
		doubt->next = psprintf("SELECT pg_leakhunt_start(%d), and ask again.",
							   process->pid);
	}
	else if (image->alive && header->scope == PLH_SCOPE_LONG_LIVED)
	{
		doubt->reason = "Only memory contexts that live as long as the session are sampled; what a statement holds is not.";
		doubt->next = psprintf("SELECT pg_leakhunt_start(%d, scope => 'all'), and ask again.",
							   process->pid);
	}
	return doubt->reason != NULL;
}

/*
 * Has it gained much that was not counted yet, and of which samples know nothing?  What was
 * counted and only then written to is no gain, and what is sampled rarely may be missed.
 */
static bool
find_uncounted(PlhDoubt *doubt, const PlhExplainedProcess *process, PlhSymbols *symbols)
{
	const PlhProfileHeader *header = process->image->header;
	int64		gained = header->census_at == 0 ? process->rss_anon_bytes :
		process->rss_anon_bytes - Max(0, header->own_bytes);

	if (gained < PLH_SUSPECT_LARGE_BYTES || header->malloc_tracked ||
		plh_sampling_coarse_interval(header->sample_interval, 0) > gained / 8 ||
		Max(header->counters.live_bytes, plh_unwritten_bytes(header)) > gained / 8)
		return false;
	if (header->census_at == 0)
		find_outside_uncounted(doubt, process, "its private memory", "yet", symbols);
	else
		find_outside_uncounted(doubt, process, "what it has gained since the last count",
							   "since", symbols);
	return true;
}

/* What the memory is that no sample stands for. */
static const char *
why_unseen(const PlhProfileHeader *header, int64 used)
{
	if (header->unsampled_bytes >= used / 4)
		return psprintf("It had allocated %s before sampling began.",
						plh_words_size(header->unsampled_bytes));
	if (header->context_free_bytes < 0)
		return psprintf("How much of its %u contexts is free was not counted: many small contexts are mostly free space.",
						header->context_count);
	return "The rest was allocated while it was not sampled.";
}

/* Do samples of malloc stand for more than it has given out? */
static bool
find_missed_frees(PlhDoubt *doubt, const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;

	if (!plh_process_suspect_misses_frees(header))
		return false;
	doubt->reason = psprintf("Samples of malloc stand for %s, but it had given out %s outside of memory contexts at that time: some of it was freed unseen, and no call site of malloc is judged.",
							 plh_words_estimate(header->malloc_sampled_bytes,
												header->malloc_sampled_error),
							 plh_words_size(Max(0, header->malloc_bytes -
												header->context_bytes)));
	return true;
}

/* The interval at which most of what contexts have was sampled. */
static uint32
interval_of(const PlhProfileHeader *header)
{
	return header->passing_bytes > header->context_bytes / 2 ?
		plh_sampling_coarse_interval(header->sample_interval, 0) :
		header->sample_interval;
}

/* What samples of memory contexts stand for, which are all but those of malloc. */
static double
sampled_in_contexts(const PlhProfileHeader *header, double *error)
{
	const PlhCounters *all = &header->counters;
	const PlhCounters *of_malloc = &header->malloc_counters;
	double		bytes = Max(0.0, (double) all->live_bytes -
							(double) of_malloc->live_bytes);
	double		samples = (double) all->live_samples -
		(double) of_malloc->live_samples;

	*error = samples > 0 ?
		plh_sampling_error_bytes(Max(0.0, all->live_variance -
									 of_malloc->live_variance),
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
	int64		used;

	if (header->census_at == 0)
		return false;
	used = header->context_bytes - Max(0, header->context_free_bytes);
	if (used < PLH_SUSPECT_LARGE_BYTES ||
		sampled + error >= SEEN_PART * used)
		return false;
	doubt->reason = psprintf("Samples stand for only %s of the %s that its memory contexts %s. %s",
							 plh_words_estimate((int64) sampled, (int64) error),
							 plh_words_size(used),
							 header->context_free_bytes < 0 ? "have" : "use",
							 why_unseen(header, used));
	doubt->next = psprintf("SELECT pg_leakhunt_baseline(%d), and ask again when it has grown.",
						   process->pid);
	return true;
}

/* What a statement holds in nodes of one kind, what limits these, and what else it holds. */
static const char *
nodes_text(const PlhProfileImage *image, const PlhFamilyAccount *nodes,
		   const PlhAccount *account)
{
	const PlhAccount *counted =
		plh_statement_suspect_is_counted(account, image->header) ? account : NULL;

	return psprintf("%s %s %s %s, no more than %s settings allow. %s%s",
					image->alive ? "The running statement's" : "The last statement's",
					nodes->family->title, image->alive ? "hold" : "held",
					plh_words_size(nodes->bytes), image->alive ? "its" : "the",
					plh_statement_evidence_limit(image, nodes->family,
												 image->header->node_memory_bytes),
					plh_statement_evidence_rest(counted, nodes->family, image->alive));
}

/* Does a statement hold much, but no more than it may? */
static bool
find_statement(PlhDoubt *doubt, const PlhExplainedProcess *process,
			   const PlhSuspectList *list, PlhStackTexts *stacks)
{
	const PlhProfileImage *image = process->image;
	const PlhSiteRecord *site = plh_largest_site_find(image, PLH_SITES_OF_STATEMENT);
	const PlhFamily *family;
	const PlhFamilyAccount *nodes;
	int64		limit;

	if (site == NULL || site->counters.live_bytes < PLH_SUSPECT_LARGE_BYTES)
		return false;
	family = plh_largest_site_family(image, site);
	nodes = plh_largest_site_account(list->account, family, false);
	limit = plh_statement_limit(image, site);
	if (nodes != NULL && family->kind == PLH_FAMILY_NODES &&
		limit == image->header->node_memory_bytes)
	{
		doubt->reason = nodes_text(image, nodes, list->account);
		return true;
	}
	doubt->reason = psprintf("The most that the %s %s %s at one site %s %s. %s",
							 image->alive ? "running" : "last",
							 plh_statement_evidence_span(site->key.lifetime),
							 image->alive ? "holds" : "held",
							 image->alive ? "is" : "was",
							 plh_largest_site_text(image, site, list->account, stacks,
												   &doubt->nameless),
							 plh_statement_evidence_limit(image, family, limit));
	return true;
}

/* Who has it from malloc, or may have; a sentence. */
static const char *
callers_text(PlhDoubt *doubt, const PlhExplainedProcess *process,
			 const PlhSuspectList *list, PlhSymbols *symbols,
			 PlhStackTexts *stacks)
{
	const PlhSiteRecord *site = plh_largest_site_find(process->image, PLH_SITES_OF_MALLOC);

	if (site != NULL)
		return psprintf(" The largest part of it that was sampled is %s.",
						plh_largest_site_text(process->image, site, list->account, stacks,
											  &doubt->nameless));
	return process->image->alive ?
		psprintf(" %s", plh_malloc_callers_text(process->pid, symbols)) : "";
}

/* What to do about it. */
static const char *
next_outside(const PlhExplainedProcess *process, bool rests)
{
	const char *hint = plh_outside_advice_sites(process->image->header);

	return psprintf("SELECT * FROM pg_leakhunt_history(%d) shows when it grew.%s%s%s",
					process->pid, rests ? "" : " Ask again later.",
					hint == NULL ? "" : " ", hint == NULL ? "" : hint);
}

/*
 * Has what malloc gave out outside of contexts stopped growing, and the process, too?  For
 * how long is in "course".
 */
static bool
rests_outside(PlhCourse *course, const PlhExplainedProcess *process, const PlhCourse *own)
{
	const PlhProfileHeader *header = process->image->header;
	double		contexts = header->context_bytes * (1.0 + PLH_COURSE_BLOCK_PART);

	return plh_course_follow(course, header, PLH_SERIES_OUTSIDE,
							 Max(0, header->malloc_bytes - (int64) contexts),
							 process->image->alive ? process->now : header->census_at) &&
		plh_course_rests(course) && plh_course_rests(own);
}

/* That it has not grown for long enough, or grows no more. */
static const char *
no_growth_text(const PlhExplainedProcess *process, const PlhCourse *course, bool rests)
{
	const char *has = process->image->alive ? "has" : "had";

	return rests ? psprintf("and that %s hardly changed for %s", has,
							plh_words_duration(course->rests_since, course->now)) :
		psprintf("but that %s not grown for long enough to tell a leak", has);
}

/* Has malloc given out much outside of contexts, which does not go on? */
static bool
find_outside(PlhDoubt *doubt, const PlhExplainedProcess *process,
			 const PlhCourse *own, const PlhSuspectList *list, PlhSymbols *symbols,
			 PlhStackTexts *stacks)
{
	const PlhProfileHeader *header = process->image->header;
	int64		outside = header->malloc_bytes - header->context_bytes;
	PlhCourse	course = {0};
	bool		rests;

	if (header->census_at == 0 || outside < PLH_SUSPECT_LARGE_BYTES)
		return false;
	rests = rests_outside(&course, process, own);
	doubt->reason = psprintf("malloc %s given out %s outside of memory contexts, %s.%s",
							 process->image->alive ? "has" : "had",
							 plh_words_size(outside),
							 no_growth_text(process, &course, rests),
							 callers_text(doubt, process, list, symbols, stacks));
	doubt->is_undecided = process->image->alive && !rests;
	doubt->next = next_outside(process, rests);
	return true;
}

/*
 * Find the first reason that applies.
 */
PlhDoubt
plh_doubt_find(const PlhExplainedProcess *process,
			   const PlhCourse *course, const PlhSuspectList *list,
			   PlhSymbols *symbols, PlhStackTexts *stacks)
{
	PlhDoubt	doubt = {0};

	if (process->image == NULL)
		return doubt_without_profile(process, symbols);
	if (!find_blindness(&doubt, process) &&
		!find_uncounted(&doubt, process, symbols) &&
		!find_missed_frees(&doubt, process) && !find_unseen(&doubt, process) &&
		!find_statement(&doubt, process, list, stacks) &&
		!find_outside(&doubt, process, course, list, symbols, stacks))
		plh_staying_doubt_find(&doubt, process, list, course, stacks);
	return doubt;
}

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
#include "reader/database_text.h"
#include "report/context_list.h"
#include "report/interval_text.h"
#include "report/listed_site.h"
#include "report/malloc_callers.h"
#include "report/size_text.h"
#include "report/wrapped_text.h"
#include "verdict/doubt.h"
#include "verdict/process_suspect.h"
#include "verdict/statement_limit.h"
#include "verdict/suspect.h"
#include "verdict/suspect_evidence.h"

/*
 * Of what memory contexts use, samples stand for less than this part: then most
 * of it was allocated unseen.  Contexts round up to twice the size at most.
 */
#define SEEN_PART 0.25

/* The sampling interval that is proposed where samples are too few. */
#define FINE_INTERVAL "32kB"

/* Why nothing is known of a process without a profile. */
static PlhDoubt
doubt_without_profile(const PlhExplainedProcess *process)
{
	PlhDoubt	doubt = {0};

	if (process->loaded == PLH_NOT_LOADED)
	{
		doubt.reason = "It has not loaded pg_leakhunt, so that no more is known of it.";
		doubt.next = psprintf("add pg_leakhunt to shared_preload_libraries and restart the server, or run pg_leakhunt_attach %d as the server's user.",
							  process->pid);
	}
	else if (process->loaded == PLH_LOADED)
		doubt.reason = "It has allocated too little for a profile.";
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

	if (!plh_profile_image_is_whole(header))
	{
		doubt->reason = "Its profile found no room beside what others need, so that its call sites can't be seen.";
		doubt->next = "make /dev/shm larger, or set pg_leakhunt.profile_directory.";
	}
	else if (image->alive && header->sample_interval == 0)
	{
		doubt->reason = psprintf("It is not sampled: pg_leakhunt.enabled is off, or somebody has stopped it. What it has allocated since its last sample, %s ago, is not known by call site.",
								 plh_wrapped_text_duration(header->counters.last_at,
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

/* Do samples of malloc stand for more than it has given out? */
static bool
find_missed_frees(PlhDoubt *doubt, const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;

	if (!plh_process_suspect_misses_frees(header))
		return false;
	doubt->reason = psprintf("Samples of malloc stand for %s (+/- %s), but it had given out %s outside of memory contexts at that time: some of it was freed unseen, and no call site of malloc is judged.",
							 plh_size_text(header->malloc_sampled_bytes),
							 plh_size_text(header->malloc_sampled_error),
							 plh_size_text(Max(0, header->malloc_bytes -
											   header->context_bytes)));
	return true;
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

	*error = plh_sampling_error_bytes(Max(0.0, all->live_variance -
										  of_malloc->live_variance),
									  bytes, (int64) Max(0.0, samples));
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
	doubt->reason = psprintf("Of %s that its memory contexts use, samples stand for %s (+/- %s) only: the rest was allocated before it was sampled, or while it was not.",
							 plh_size_text(used),
							 plh_size_text((int64) sampled),
							 plh_size_text((int64) error));
	doubt->next = psprintf("SELECT pg_leakhunt_baseline(%d), and ask again when it has grown.",
						   process->pid);
	return true;
}

/* Those that hold something in contexts of the session, in others, or by malloc. */
typedef enum SiteKind
{
	OF_SESSION,
	OF_STATEMENT,
	OF_MALLOC
}			SiteKind;

/* Is the site of that kind?  What malloc has given out stays in the session, too. */
static bool
is_of_kind(const PlhSiteRecord *site, SiteKind kind)
{
	if (kind == OF_MALLOC)
		return site->key.lifetime == PLH_LIFETIME_PROCESS;
	return plh_lifetime_is_lasting(site->key.lifetime) == (kind == OF_SESSION);
}

/* The site that holds most of those of that kind. */
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

/* "64 MB (+/- 12 MB) at leaking_top (leaker.c:55) in TopMemoryContext" */
static const char *
holding_text(const PlhExplainedProcess *process, const PlhSiteRecord *site,
			 PlhStackTexts *stacks)
{
	PlhSiteFacts facts;
	PlhListedSite listed;

	plh_site_facts_resolve(&facts, process->image, site, NULL);
	plh_listed_site_start(&listed, process->image, &facts);
	plh_listed_site_describe_stack(&listed, stacks);
	return psprintf("%s (+/- %s) at %s in %s", plh_size_text(listed.bytes),
					plh_size_text(facts.error_bytes), listed.stack.site,
					listed.context_name);
}

/* Does a statement hold much, but no more than it may, or than it did before? */
static bool
find_statement(PlhDoubt *doubt, const PlhExplainedProcess *process,
			   PlhStackTexts *stacks)
{
	const PlhSiteRecord *site = largest_site(process->image, OF_STATEMENT);
	int64		limit;

	if (site == NULL || site->counters.live_bytes < PLH_SUSPECT_LARGE_BYTES)
		return false;
	limit = plh_statement_limit(process->image, site);
	doubt->reason = psprintf("Most that the statement or transaction that runs holds is %s; its settings, such as work_mem, allow %s to each node of its plan%s.",
							 holding_text(process, site, stacks),
							 plh_size_text(limit),
							 site->counters.live_bytes <= PLH_SUSPECT_QUERY_LIMITS * limit ? "" :
							 "; it holds more, but did not go on in the later half of its time, or has too few samples to tell");
	return true;
}

/* Why the site that holds most is no leak, by its figures. */
static const char *
judgement_text(const PlhProfileHeader *header, const PlhSiteRecord *site)
{
	PlhSuspectFacts facts;
	PlhJudgement judgement;

	plh_suspect_collect(&facts, header, site);
	judgement = plh_suspect_judge(&facts);
	if (facts.live_samples < PLH_SUSPECT_SAMPLES)
		return psprintf("from " INT64_FORMAT " of the %d samples that a verdict takes (%s)",
						facts.live_samples, PLH_SUSPECT_SAMPLES,
						plh_interval_text(header->sample_interval));
	if (facts.epochs < PLH_SUSPECT_EPOCHS)
		return psprintf("allocated in " INT64_FORMAT " transactions (or seconds of long ones), of the %d that a verdict takes",
						facts.epochs, PLH_SUSPECT_EPOCHS);
	if (judgement.has_steadiness &&
		judgement.steadiness < PLH_SUSPECT_STEADINESS)
		return psprintf("and it grew at %.0f%% of the rate before, as a cache does that fills up",
						100.0 * judgement.steadiness);
	return "which no longer grows beyond the error of that figure";
}

/* The contexts of one name that hold most for the session, if there are many. */
static const PlhListedContext *
largest_contexts(const PlhContextList *list)
{
	for (int i = 0; i < list->count; i++)
	{
		const PlhListedContext *context = &list->contexts[i];

		if (context->lifetime == PLH_LIFETIME_SESSION &&
			context->instances >= PLH_SUSPECT_LATE_CONTEXTS)
			return context;
	}
	return NULL;
}

/* What stays in the session, and why that is no leak; NULL if nothing does. */
static const char *
staying_text(const PlhExplainedProcess *process, PlhStackTexts *stacks)
{
	const PlhProfileImage *image = process->image;
	const PlhSiteRecord *site = largest_site(image, OF_SESSION);
	const PlhListedContext *contexts =
		largest_contexts(plh_context_list_make(image, NULL));
	const PlhStringRecord *name = contexts == NULL ? NULL :
		plh_profile_image_string(image, contexts->name);

	if (name != NULL &&
		contexts->context_bytes >= PLH_SUSPECT_LARGE_BYTES &&
		(site == NULL || contexts->context_bytes > site->counters.live_bytes))
		return psprintf("Most that stays are " INT64_FORMAT " contexts %s, %s, which did not become more for long enough to tell whether they go on",
						contexts->instances,
						plh_database_text_fit_foreign(name->text,
													  name->text_bytes,
													  image->header->encoding),
						plh_size_text(contexts->context_bytes));
	return site == NULL ? NULL :
		psprintf("Most that stays of one statement is %s, %s",
				 holding_text(process, site, stacks),
				 judgement_text(image->header, site));
}

/* What stays in the session, and what to do if it goes on. */
static void
find_session(PlhDoubt *doubt, const PlhExplainedProcess *process,
			 bool grows, PlhStackTexts *stacks)
{
	const char *staying = staying_text(process, stacks);

	doubt->reason = grows ?
		"It has grown, but nothing by as much, or for as long, as a verdict takes." :
		"Nothing goes on growing, and no statement holds more than its settings allow.";
	if (process->image->header->census_at == 0)
		doubt->reason = "It has allocated too little to tell.";
	else if (staying != NULL)
		doubt->reason = psprintf("%s %s.", doubt->reason, staying);
	if (grows && process->image->alive)
		doubt->next = psprintf("SELECT pg_leakhunt_start(%d, '%s', duration => '10 minutes'), and ask again.",
							   process->pid, FINE_INTERVAL);
}

/* Who has it from malloc, or may have; a sentence. */
static const char *
callers_text(const PlhExplainedProcess *process, PlhSymbols *symbols,
			 PlhStackTexts *stacks)
{
	const PlhSiteRecord *site = largest_site(process->image, OF_MALLOC);

	if (site != NULL)
		return psprintf(" Most of it that was sampled of one statement is %s.",
						holding_text(process, site, stacks));
	return process->image->alive ?
		psprintf(" %s", plh_malloc_callers_text(process->pid, symbols)) : "";
}

/* What to do about it. */
static const char *
next_outside(const PlhExplainedProcess *process)
{
	const char *hint =
		plh_suspect_evidence_malloc_hint(process->image->header);

	return psprintf("see pg_leakhunt_history(%d) for when that was, and ask again later%s%s.",
					process->pid, hint == NULL ? "" : "; ",
					hint == NULL ? "" : hint);
}

/* Has malloc given out much outside of contexts, which does not go on? */
static bool
find_outside(PlhDoubt *doubt, const PlhExplainedProcess *process,
			 PlhSymbols *symbols, PlhStackTexts *stacks)
{
	const PlhProfileHeader *header = process->image->header;
	int64		outside = header->malloc_bytes - header->context_bytes;

	if (header->census_at == 0 || outside < PLH_SUSPECT_LARGE_BYTES)
		return false;
	doubt->reason = psprintf("malloc has given out %s outside of memory contexts, but that did not grow for long enough to tell whether it goes on.%s",
							 plh_size_text(outside),
							 callers_text(process, symbols, stacks));
	doubt->next = next_outside(process);
	return true;
}

/*
 * Has it grown by as much as would be a verdict?  The caches that each session
 * fills are no reason to look closer.
 */
static bool
has_grown(const PlhExplainedProcess *process, const PlhMemoryCourse *course)
{
	return !plh_memory_course_rests(course) &&
		course->grown_bytes >= (int64) PLH_SUSPECT_SAMPLES *
		Max(process->image->header->sample_interval, PLH_COURSE_NOISE_BYTES);
}

/*
 * Find the first reason that applies.
 */
PlhDoubt
plh_doubt_find(const PlhExplainedProcess *process,
			   const PlhMemoryCourse *course, PlhSymbols *symbols,
			   PlhStackTexts *stacks)
{
	PlhDoubt	doubt = {0};

	if (process->image == NULL)
		return doubt_without_profile(process);
	if (!find_blindness(&doubt, process) &&
		!find_missed_frees(&doubt, process) && !find_unseen(&doubt, process) &&
		!find_statement(&doubt, process, stacks) &&
		!find_outside(&doubt, process, symbols, stacks))
		find_session(&doubt, process, has_grown(process, course), stacks);
	return doubt;
}

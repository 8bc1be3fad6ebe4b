/*
 * doubt.c
 *	  Why there is no verdict on a process: all is well, it is too early, or a part
 *	  of its memory can't be seen.
 *
 * What can't be seen comes first: it may be what the reader is looking for.
 */
#include "postgres.h"

#include "base/plural.h"
#include "base/sampling.h"
#include "base/settings.h"
#include "process/unshown_profile.h"
#include "report/blamed_code.h"
#include "report/listed_site.h"
#include "report/malloc_callers.h"
#include "report/words.h"
#include "sampler/publication.h"
#include "verdict/doubt.h"
#include "verdict/process_suspect.h"
#include "verdict/statement_evidence.h"
#include "verdict/statement_limit.h"
#include "verdict/suspect.h"
#include "verdict/suspect_advice.h"

/*
 * Of what memory contexts use, samples stand for less than this part: then most
 * of it was allocated unseen.  Contexts round up to twice the size at most.
 */
#define SEEN_PART 0.25

/* The sampling interval that is proposed where samples are too few, and as a text. */
#define FINE_INTERVAL_BYTES 32768
#define FINE_INTERVAL "32kB"

/* Growth can be judged once a process is this old. */
#define YOUNG_S 10

/*
 * What is large, though next to nothing was allocated in contexts, is not theirs.  The
 * statement may be known, but not what the process had when it began.
 */
static void
find_never_counted(PlhDoubt *doubt, const PlhExplainedProcess *process,
				   PlhSymbols *symbols)
{
	doubt->reason = psprintf("Almost all of its private memory is outside of memory contexts: malloc gave it out, or a library mapped it. It has not counted its memory yet, so it is not known which. %s",
							 plh_malloc_callers_text(process->pid, symbols));
	doubt->is_undecided = true;
	doubt->next = plh_track_malloc ?
		"See in pg_stat_activity what it runs, and which of these libraries that uses. To see call sites of malloc and their statements, restart the server with pg_leakhunt_malloc.so in LD_PRELOAD." :
		"See in pg_stat_activity what it runs, and which of these libraries that uses.";
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
		find_never_counted(&doubt, process, symbols);
	else if (process->loaded == PLH_LOADED)
		doubt.reason = psprintf("It has allocated too little for a profile: that takes %d samples, or %s held at a time.",
								PLH_PUBLICATION_SAMPLES,
								plh_words_size(PLH_PUBLICATION_BYTES));
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

/* Those that hold something in contexts of the session, in others, or by malloc. */
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

/* The family of the contexts of a site, if it is known. */
static const PlhFamily *
family_of(const PlhProfileImage *image, const PlhSiteRecord *site)
{
	const PlhStringRecord *name =
		plh_profile_image_string(image, site->key.context_name);

	return name == NULL ? NULL : plh_family_of(name->text);
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
 * What a site holds, which is no more than was counted after its last sample: of its
 * family or lifetime, or of malloc.
 */
static int64
bounded(const PlhProfileImage *image, const PlhSiteRecord *site,
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
	family = account_of(account, family_of(image, site), lasting);
	if (family != NULL)
		return Min(bytes, family->bytes);
	return Min(bytes, lasting ?
			   Max(0, header->context_bytes - header->passing_bytes) :
			   header->passing_bytes);
}

/*
 * "64 MB (+/- 12 MB) at leaking_top (leaker.c:55) in TopMemoryContext".  Notes where the
 * name is missing.
 */
static const char *
holding_text(PlhDoubt *doubt, const PlhExplainedProcess *process,
			 const PlhSiteRecord *site, const PlhSuspectList *list,
			 PlhStackTexts *stacks)
{
	PlhSiteFacts facts;
	PlhListedSite listed;
	int64		bytes = bounded(process->image, site, list->account);

	plh_site_facts_resolve(&facts, process->image, site, NULL);
	plh_listed_site_start(&listed, process->image, &facts);
	plh_listed_site_describe_stack(&listed, stacks);
	if (doubt->nameless == NULL)
		doubt->nameless = plh_blamed_code_nameless(&listed.stack);
	return psprintf("%s at %s in %s",
					plh_words_estimate(bytes, Min(facts.error_bytes, bytes)),
					plh_blamed_code_site(&listed.stack),
					listed.context_name);
}

/* What a statement holds in nodes of one kind, and what limits these; a sentence. */
static const char *
nodes_text(const PlhProfileImage *image, const PlhFamilyAccount *nodes)
{
	return psprintf("%s %s %s %s, no more than %s settings allow. %s",
					image->alive ? "The running statement's" : "The last statement's",
					nodes->family->title, image->alive ? "hold" : "held",
					plh_words_size(nodes->bytes), image->alive ? "its" : "the",
					plh_statement_evidence_limit(image, nodes->family,
												 image->header->node_memory_bytes));
}

/* Does a statement hold much, but no more than it may? */
static bool
find_statement(PlhDoubt *doubt, const PlhExplainedProcess *process,
			   const PlhSuspectList *list, PlhStackTexts *stacks)
{
	const PlhProfileImage *image = process->image;
	const PlhSiteRecord *site = largest_site(image, OF_STATEMENT);
	const PlhFamily *family;
	const PlhFamilyAccount *nodes;
	int64		limit;

	if (site == NULL || site->counters.live_bytes < PLH_SUSPECT_LARGE_BYTES)
		return false;
	family = family_of(image, site);
	nodes = account_of(list->account, family, false);
	limit = plh_statement_limit(image, site);
	if (nodes != NULL && family->kind == PLH_FAMILY_NODES &&
		limit == image->header->node_memory_bytes)
	{
		doubt->reason = nodes_text(image, nodes);
		return true;
	}
	doubt->reason = psprintf("The most that the %s %s %s at one site %s %s. %s",
							 image->alive ? "running" : "last",
							 plh_statement_evidence_span(site->key.lifetime),
							 image->alive ? "holds" : "held",
							 image->alive ? "is" : "was",
							 holding_text(doubt, process, site, list, stacks),
							 plh_statement_evidence_limit(image, family, limit));
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
	const PlhFamily *family = site == NULL ? NULL : family_of(image, site);

	if (family == NULL || family->kind != PLH_FAMILY_CACHE ||
		family == plh_family_of("CacheMemoryContext"))
		return NULL;
	return account_of(list->account, family, true);
}

/* What stays in the session, and why that is no leak; NULL if nothing does. */
static const char *
staying_text(PlhDoubt *doubt, const PlhExplainedProcess *process,
			 const PlhSuspectList *list, PlhStackTexts *stacks)
{
	const PlhProfileImage *image = process->image;
	const PlhSiteRecord *site = largest_site(image, OF_SESSION);
	const PlhFamilyAccount *contexts = many_lasting_contexts(list->account);
	const PlhFamilyAccount *cache = cache_of(image, site, list);

	if (contexts != NULL && contexts->bytes >= PLH_SUSPECT_LARGE_BYTES &&
		(site == NULL || contexts->bytes > site->counters.live_bytes))
		return contexts->family != NULL && contexts->family->kind == PLH_FAMILY_CACHE ?
			psprintf("Most of what stays, %s, is %s. %s %s",
					 plh_words_size(contexts->bytes), contexts->family->title,
					 contexts->family->what, contexts->family->bound) :
			psprintf("Most of what stays is %s in " INT64_FORMAT " contexts: %s. Their number has not grown for long enough to tell a leak.",
					 plh_words_size(contexts->bytes), contexts->contexts,
					 plh_account_title(contexts, image));
	if (cache != NULL)
		return psprintf("The largest part of what stays, %s, is %s. %s %s",
						plh_words_size(cache->bytes), cache->family->title,
						cache->family->what, cache->family->bound);
	return site == NULL || is_noise(site) ? NULL :
		psprintf("The largest part of what stays is %s, %s.",
				 holding_text(doubt, process, site, list, stacks),
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
	const PlhFamilyAccount *cache = cache_of(image, largest_site(image, OF_SESSION), list);

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
						YOUNG_S, plh_suspect_advice_outside(process->image));
	if (header->sample_interval <= FINE_INTERVAL_BYTES)
		return psprintf("Ask again in %d s.", YOUNG_S);
	return psprintf("Ask again in %d s. Finer samples help to tell the call site: SELECT pg_leakhunt_start(%d, '%s', duration => '10 minutes').",
					YOUNG_S, process->pid, FINE_INTERVAL);
}

/* What stays in the session, and what to do if that keeps growing. */
static void
find_session(PlhDoubt *doubt, const PlhExplainedProcess *process,
			 const PlhSuspectList *list, const PlhCourse *course, PlhStackTexts *stacks)
{
	const char *harmless = harmless_growth(process, list, course);
	bool		grows = has_grown(course) && harmless == NULL;
	const char *staying = staying_text(doubt, process, list, stacks);

	doubt->is_undecided = grows && process->image->alive;
	doubt->reason = grows ?
		"It has grown, but not for long enough to tell why." :
		"Nothing keeps growing, and no statement that runs now holds more than its settings allow.";
	if (!process->image->alive)
		doubt->reason = grows ?
			"It had grown, but not for long enough to tell why." :
			"Nothing kept growing, and no statement that ran then held more than its settings allowed.";
	if (process->image->header->census_at == 0)
		doubt->reason = process->image->alive ?
			"It has allocated too little to tell." : "It had allocated too little to tell.";
	else if (has_grown(course) && harmless != NULL)
		doubt->reason = harmless;
	else if (!grows && course->grown_bytes > 0 && !plh_course_rests(course))
		doubt->reason = process->image->alive ?
			"Its growth is too small to matter, and no statement that runs now holds more than its settings allow." :
			"Its growth was too small to matter, and no statement that ran then held more than its settings allowed.";
	if (process->image->header->census_at != 0 && staying != NULL)
		doubt->reason = psprintf("%s %s", doubt->reason, staying);
	if (grows && process->image->alive)
		doubt->next = next_of_growth(process);
}

/* Who has it from malloc, or may have; a sentence. */
static const char *
callers_text(PlhDoubt *doubt, const PlhExplainedProcess *process,
			 const PlhSuspectList *list, PlhSymbols *symbols,
			 PlhStackTexts *stacks)
{
	const PlhSiteRecord *site = largest_site(process->image, OF_MALLOC);

	if (site != NULL)
		return psprintf(" The largest part of it that was sampled is %s.",
						holding_text(doubt, process, site, list, stacks));
	return process->image->alive ?
		psprintf(" %s", plh_malloc_callers_text(process->pid, symbols)) : "";
}

/* What to do about it. */
static const char *
next_outside(const PlhExplainedProcess *process)
{
	const char *hint =
		plh_suspect_advice_malloc_hint(process->image->header);

	return psprintf("SELECT * FROM pg_leakhunt_history(%d) shows when it grew. Ask again later.%s%s",
					process->pid, hint == NULL ? "" : " ",
					hint == NULL ? "" : hint);
}

/* Has malloc given out much outside of contexts, which does not go on? */
static bool
find_outside(PlhDoubt *doubt, const PlhExplainedProcess *process,
			 const PlhSuspectList *list, PlhSymbols *symbols,
			 PlhStackTexts *stacks)
{
	const PlhProfileHeader *header = process->image->header;
	int64		outside = header->malloc_bytes - header->context_bytes;

	if (header->census_at == 0 || outside < PLH_SUSPECT_LARGE_BYTES)
		return false;
	doubt->reason = psprintf("malloc %s given out %s outside of memory contexts, but that %s not grown for long enough to tell a leak.%s",
							 process->image->alive ? "has" : "had",
							 plh_words_size(outside),
							 process->image->alive ? "has" : "had",
							 callers_text(doubt, process, list, symbols, stacks));
	doubt->is_undecided = process->image->alive;
	doubt->next = next_outside(process);
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
		!find_missed_frees(&doubt, process) && !find_unseen(&doubt, process) &&
		!find_statement(&doubt, process, list, stacks) &&
		!find_outside(&doubt, process, list, symbols, stacks))
		find_session(&doubt, process, list, course, stacks);
	return doubt;
}

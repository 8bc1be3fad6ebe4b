/*
 * advice.c
 *	  What to do next, in a few sentences: about a finding, and about memory outside of contexts,
 *	  which libraries have from malloc or have mapped.
 *
 * A statement that runs can be cancelled.  A session that waits within its transaction runs none:
 * only its end ends the transaction.
 *
 * What has come outside of contexts while one statement runs may go with it: then a pool that
 * recycles its connections is of no use, and cancelling the statement tells more than all else.
 */
#include "postgres.h"

#include "base/allocator.h"
#include "base/compat.h"
#include "base/settings.h"
#include "judge/kept_memory.h"
#include "judge/process_kind.h"
#include "judge/suspect.h"
#include "reader/server_activity.h"
#include "report/blamed_code.h"
#include "report/words.h"
#include "telling/advice.h"
#include "telling/contexts_advice.h"
#include "telling/holder_sentences.h"
#include "telling/proven_evidence.h"
#include "telling/site_family.h"
#include "telling/statement_advice.h"

/* What a session does, as far as that decides how to free its memory. */
typedef enum Doing
{
	RUNNING,
	IDLE,						/* in a transaction or not */
	UNKNOWN						/* track_activities is off */
} Doing;

static Doing
doing_of(const PlhProfileImage *image)
{
	PlhServerActivity activity;

	if (!plh_server_activity_find(image->header->pid, &activity) || activity.state == NULL)
		return UNKNOWN;
	return strncmp(activity.state, "idle", 4) == 0 ? IDLE : RUNNING;
}

/* Is it a session that somebody could end? */
static bool
is_live_session(const PlhProfileImage *image)
{
	return image->alive && plh_process_kind(image->header) == PLH_PROCESS_SESSION;
}

/* Say one of the sentences that depend on the kind of process. */
static void
say_by_kind(PlhSaid *said, const PlhProfileImage *image, PlhSentence session,
			PlhSentence worker, PlhSentence passing, PlhSentence server)
{
	const PlhFields fields = {.noun = plh_process_kind_noun(image),.pid = image->header->pid};
	const PlhSentence sentences[] = {
		[PLH_PROCESS_SESSION] = session,
		[PLH_PROCESS_BACKGROUND_WORKER] = worker,
		[PLH_PROCESS_WALSENDER] = worker,
		[PLH_PROCESS_PARALLEL_WORKER] = passing,
		[PLH_PROCESS_AUTOVACUUM_WORKER] = passing,
		[PLH_PROCESS_OTHER] = server
	};

	plh_sentences_say(said, sentences[plh_process_kind(image->header)], image->alive, &fields);
}

static void
say_end(PlhSaid *said, const PlhProfileImage *image)
{
	if (image->crashed)
		PLH_SAY(said, false, end_is_over,.noun = plh_process_kind_noun(image));
	else						/* a process with a dump may run still */
		say_by_kind(said, image, PLH_SAYS_end_session, PLH_SAYS_end_worker,
					PLH_SAYS_end_passing, PLH_SAYS_end_server);
}

static void
say_recycling(PlhSaid *said, const PlhProfileImage *image)
{
	say_by_kind(said, image, PLH_SAYS_recycle_session, PLH_SAYS_recycle_worker,
				PLH_SAYS_recycle_passing, PLH_SAYS_recycle_server);
}

static void
say_end_now(PlhSaid *said, const PlhProfileImage *image)
{
	if (is_live_session(image))
		PLH_SAY(said, true, end_now,.pid = image->header->pid);
}

static void
say_cancelling(PlhSaid *said, const PlhProfileImage *image)
{
	static const PlhSentence sentences[] = {
		[RUNNING] = PLH_SAYS_cancel_now,
		[IDLE] = PLH_SAYS_end_now,
		[UNKNOWN] = PLH_SAYS_cancel_or_end_now
	};

	if (is_live_session(image))
		plh_sentences_say(said, sentences[doing_of(image)], true,
						  PLH_FIELDS(.pid = image->header->pid));
}

/*
 * Where a client has set savepoints, a statement that is cancelled goes back to the last of them
 * only.
 */
static void
say_cancelling_subtransactions(PlhSaid *said, const PlhProfileImage *image)
{
	if (is_live_session(image))
		plh_sentences_say(said, doing_of(image) == IDLE ? PLH_SAYS_end_now :
						  PLH_SAYS_cancel_savepoints, true,
						  PLH_FIELDS(.pid = image->header->pid));
}

void
plh_advice_sites(PlhSaid *said, const PlhProfileHeader *header)
{
	if (header->malloc_tracked)
		return;
	if (plh_track_malloc)
		PLH_SAY(said, true, preload_malloc);
	else
		PLH_SAY(said, true, track_malloc);
}

static void
say_loaded_language(PlhSaid *said, const char *noun, const char *language)
{
	PLH_SAY(said, true, loaded_language,.noun = noun,.language = language,
			.store = plh_advised_store(language));
}

/* Where to look where nothing is known but libraries. */
static void
say_libraries(PlhSaid *said, const char *noun, bool has_others, bool of_running)
{
	const PlhFields fields = {.noun = noun};

	if (has_others)
	{
		plh_sentences_say(said, PLH_SAYS_loaded_others, true, &fields);
		if (PLH_SETTINGS_BY_MALLOC)
			PLH_SAY(said, true, others_or_settings);
	}
	else if (of_running)
	{
		PLH_SAY(said, true, linked_to_statement);
		if (PLH_SETTINGS_BY_MALLOC)
			PLH_SAY(said, true, statement_or_settings);
	}
	else
		plh_sentences_say(said, PLH_SETTINGS_BY_MALLOC ? PLH_SAYS_linked_or_settings :
						  PLH_SAYS_linked, true, &fields);
}

/* What reads results of other servers, and keeps them. */
static void
say_clients(PlhSaid *said, const char *noun, const PlhLoadedCode *loaded)
{
	if (loaded->has_dblink)
		PLH_SAY(said, true, loaded_dblink,.noun = noun);
	if (loaded->has_postgres_fdw)
		PLH_SAY(said, true, loaded_postgres_fdw,.noun = noun);
}

/* Where to look first, by what a process has loaded. */
static void
say_where(PlhSaid *said, const PlhLoadedCode *loaded, const char *noun, bool of_running)
{
	if (loaded->language != NULL)
		say_loaded_language(said, noun, loaded->language);
	else if (loaded->has_jit)
		PLH_SAY(said, true, loaded_jit,.noun = noun);
	else if (loaded->has_dblink || loaded->has_postgres_fdw)
		say_clients(said, noun, loaded);
	else
		say_libraries(said, noun, loaded->has_others, of_running);
}

/* What is loaded by the process of an image, if it is there. */
static PlhLoadedCode
loaded_by(const PlhProfileImage *image)
{
	PlhLoadedCode none = {NULL};

	return image->alive ? plh_malloc_callers_loaded(image->header->pid) : none;
}

const char *
plh_advice_loaded_by(int pid, const char *noun)
{
	PlhLoadedCode loaded = plh_malloc_callers_loaded(pid);
	PlhSaid		said;

	if (loaded.language == NULL && !loaded.has_jit && !loaded.has_dblink &&
		!loaded.has_postgres_fdw)
		return NULL;
	plh_sentences_begin(&said);
	say_where(&said, &loaded, noun, false);
	return said.text.data;
}

const char *
plh_advice_loaded(const PlhProfileImage *image)
{
	return !image->alive ? NULL :
		plh_advice_loaded_by(image->header->pid, plh_process_kind_noun(image));
}

void
plh_advice_where(PlhSaid *said, const PlhProfileImage *image)
{
	PlhLoadedCode loaded = loaded_by(image);

	say_where(said, &loaded, plh_process_kind_noun(image), false);
}

/* How to end a statement; of one in dblink, its connection keeps what it has got so far. */
static void
say_try_cancel(PlhSaid *said, int pid, const PlhLoadedCode *loaded)
{
	PLH_SAY(said, true, cancel_to_see,.pid = pid);
	if (loaded->has_dblink)
		PLH_SAY(said, true, cancel_dblink);
}

void
plh_advice_of_running(PlhSaid *said, int pid)
{
	PlhLoadedCode loaded = plh_malloc_callers_loaded(pid);

	say_where(said, &loaded, "session", true);
	say_try_cancel(said, pid, &loaded);
}

/* How to live with what stays and grows, and to learn what is to blame. */
static void
say_recycle(PlhSaid *said, const PlhProfileImage *image)
{
	say_recycling(said, image);
	if (!image->header->malloc_tracked && plh_process_kind(image->header) == PLH_PROCESS_SESSION)
		PLH_SAY(said, true, check_malloc);
}

/* Can the statement be cancelled that may have it? */
static bool
can_cancel(const PlhProfileImage *image, bool of_running)
{
	return of_running && image->alive && plh_process_kind(image->header) == PLH_PROCESS_SESSION;
}

static void
advise_on_malloc(PlhSaid *said, const PlhProfileImage *image, bool of_running)
{
	PlhLoadedCode loaded = loaded_by(image);
	bool		can = can_cancel(image, of_running);

	say_where(said, &loaded, plh_process_kind_noun(image), can);
	if (can)
		say_try_cancel(said, image->header->pid, &loaded);
	else
		say_recycle(said, image);
	plh_advice_sites(said, image->header);
}

static void
advise_on_mapped(PlhSaid *said, const PlhProfileImage *image, bool of_running)
{
	PlhLoadedCode loaded = loaded_by(image);
	const char *noun = plh_process_kind_noun(image);

	if (loaded.language != NULL)
	{
		say_loaded_language(said, noun, loaded.language);
		if (can_cancel(image, of_running))
			PLH_SAY(said, true, cancel_to_see,.pid = image->header->pid);
		else
			say_recycling(said, image);
	}
	else if (loaded.has_jit)
		PLH_SAY(said, true, loaded_jit,.noun = noun);
	else
		PLH_SAY(said, true, mapped_by_unknown);
}

void
plh_advice_say_libraries(PlhSaid *said, const PlhMallocCallers *callers)
{
	const char *none = PLH_PHRASE(true, libraries_none);

	if (!callers->are_known)
	{
		PLH_SAY(said, true, libraries_unknown);
		return;
	}
	PLH_SAY(said, true, libraries,.loaded = callers->loaded != NULL ? callers->loaded : none,
			.linked = callers->linked != NULL ? callers->linked : none);
	if (callers->has_jit)
		PLH_SAY(said, true, libraries_jit);
	if (PLH_SETTINGS_BY_MALLOC && callers->loaded == NULL)
		PLH_SAY(said, true, libraries_server);
}

/* Is most of it memory that was never written to, in a process that is there? */
static bool
is_unwritten(const PlhAdvised *advised)
{
	const PlhProfileImage *image = advised->image;

	return image->alive &&
		plh_account_unwritten_of(advised->finding->bytes, image->header) == PLH_UNWRITTEN_MOST;
}

/* Can a process give back what it has freed?  It does so after transactions. */
static bool
can_trim(const PlhProfileImage *image)
{
	PlhProcessKind kind = plh_process_kind(image->header);

	return image->alive &&
		(kind == PLH_PROCESS_SESSION || kind == PLH_PROCESS_BACKGROUND_WORKER);
}

void
plh_advice_say_trim(PlhSaid *said, const PlhProfileImage *image)
{
	if (can_trim(image))
		PLH_SAY(said, true, trim,.pid = image->header->pid);
}

void
plh_advice_say_trim_to_see(PlhSaid *said, const PlhProfileImage *image)
{
	if (can_trim(image) && image->header->allocator != PLH_ALLOCATOR_UNKNOWN)
		PLH_SAY(said, true, trim_to_see,.pid = image->header->pid);
}

void
plh_advice_say_former(PlhSaid *said, const PlhProfileImage *image)
{
	PlhLoadedCode loaded = loaded_by(image);
	const char *noun = plh_process_kind_noun(image);

	if (loaded.language != NULL || !plh_kept_memory_find(image->header).is_from_outside)
		return;
	if (loaded.has_jit)
		PLH_SAY(said, true, loaded_jit,.noun = noun);
	else
		say_clients(said, noun, &loaded);
}

/* How to have glibc keep less. */
static void
say_glibc(PlhSaid *said, const PlhProfileHeader *header)
{
	if (header->malloc_arena_bytes >= header->malloc_free_bytes / 2)
		PLH_SAY(said, true, trim_arenas,.bytes = plh_words_size(header->malloc_arena_bytes));
	else
		PLH_SAY(said, true, trim_threshold);
}

static void
advise_on_freed(const PlhAdvised *advised)
{
	const PlhProfileHeader *header = advised->image->header;

	if (can_trim(advised->image))
		plh_advice_say_trim(advised->said, advised->image);
	else
		say_end(advised->said, advised->image);
	if (header->allocator == PLH_ALLOCATOR_GLIBC)
		say_glibc(advised->said, header);
	else if (header->allocator == PLH_ALLOCATOR_JEMALLOC)
		PLH_SAY(advised->said, true, trim_jemalloc);
	else if (header->allocator == PLH_ALLOCATOR_TCMALLOC)
		PLH_SAY(advised->said, true, trim_tcmalloc);
	plh_advice_say_former(advised->said, advised->image);
}

/* Whose fault a leak is in code of the server, or where to look. */
static PlhSentence
author_of(const PlhProfileImage *image)
{
	static const PlhSentence sentences[] = {
		[PLH_PROCESS_SESSION] = PLH_SAYS_author_of_statement,
		[PLH_PROCESS_PARALLEL_WORKER] = PLH_SAYS_author_of_statement,
		[PLH_PROCESS_BACKGROUND_WORKER] = PLH_SAYS_author_of_worker,
		[PLH_PROCESS_AUTOVACUUM_WORKER] = PLH_SAYS_author_of_vacuum,
		[PLH_PROCESS_WALSENDER] = PLH_SAYS_author_is_core,
		[PLH_PROCESS_OTHER] = PLH_SAYS_author_is_core
	};

	return sentences[plh_process_kind(image->header)];
}

/* Where to look for what a function of a language keeps, or calls. */
static void
say_language(const PlhAdvised *advised)
{
	const PlhSiteRecord *site = advised->finding->site;
	const char *language = advised->code.language;

	PLH_SAY(advised->said, true, language_ran,.language = language);
	if (site != NULL && site->key.lifetime == PLH_LIFETIME_PROCESS)
		PLH_SAY(advised->said, true, language_keeps,.store = plh_advised_store(language));
	else
		PLH_SAY(advised->said, true, language_calls);
}

static void
advise_on_leak(const PlhAdvised *advised)
{
	if (advised->family != NULL)
		plh_advised_say_help(advised, advised->family);
	else if (advised->code.library != NULL)
		PLH_SAY(advised->said, true, report_to_authors,.library = advised->code.library);
	else if (advised->code.language != NULL)
		say_language(advised);
	else
		plh_sentences_say(advised->said, author_of(advised->image), true, PLH_FIELDS(NULL));
	if (is_unwritten(advised))
		PLH_SAY(advised->said, true, no_hurry);
	else
		say_recycling(advised->said, advised->image);
}

static void
advise_on_held(const PlhAdvised *advised)
{
	if (advised->family != NULL && !advised->image->crashed)
		plh_advised_say_help(advised, advised->family);
	if (advised->family == NULL && is_unwritten(advised))
		PLH_SAY(advised->said, true, no_need);
	else
		say_end(advised->said, advised->image);
}

static void
advise_on_growth(const PlhAdvised *advised)
{
	const char *holder = plh_proven_evidence_holder(advised->finding);

	if (holder != NULL)
		PLH_SAY(advised->said, true, look_at_holder,.who = holder);
	if (advised->image->alive)
		PLH_SAY(advised->said, true, look_later);
	else
		say_end(advised->said, advised->image);
}

static void
say_freeing(const PlhAdvised *advised)
{
	const PlhFamilyAccount *family = advised->finding->contexts.family;

	if (plh_contexts_advice_is_of_plugin(advised->finding, advised->origin))
		say_recycling(advised->said, advised->image);
	else if (family->family == plh_family_of("CurTransactionContext"))
		say_cancelling_subtransactions(advised->said, advised->image);
	else if (!family->lasting)
		say_cancelling(advised->said, advised->image);
	else if (advised->finding->kind != PLH_KIND_CACHE_GROWS)
		say_end_now(advised->said, advised->image);
}

void
plh_advice_on_finding(PlhSaid *said, const PlhFinding *finding,
					  const PlhProfileImage *image, const PlhListedSite *named,
					  const PlhFindingOrigin *origin, const PlhMallocStatement *statement)
{
	PlhAdvised	advised = {said, finding, image, named, origin};
	PlhHolder	holder = plh_holder_sentences_of(finding, image);

	if (plh_holder_sentences_explain(&holder, finding))
	{
		plh_holder_sentences_advise(said, &holder);
		say_cancelling(said, image);
		return;
	}
	if (named != NULL)
	{
		advised.code = plh_blamed_code_find(&named->stack);
		advised.family = plh_site_family(&named->stack);
	}
	switch (finding->kind)
	{
		case PLH_KIND_SITE_LEAKS:
		case PLH_KIND_MALLOC_SITE_LEAKS:
		case PLH_KIND_SITE_LOST:
		case PLH_KIND_MALLOC_SITE_LOST:
			advise_on_leak(&advised);
			break;
		case PLH_KIND_SITE_HOLDS:
			advise_on_held(&advised);
			break;
		case PLH_KIND_CONTEXTS_GROW:
		case PLH_KIND_CONTEXTS_HOLD:
		case PLH_KIND_CACHE_GROWS:
		case PLH_KIND_DECODING:
			plh_contexts_advice_say(&advised);
			say_freeing(&advised);
			break;
		case PLH_KIND_STATEMENT:
			plh_statement_advice_say(&advised);
			say_cancelling(said, image);
			break;
		case PLH_KIND_MALLOC_GROWS:
			advise_on_malloc(said, image, statement->may_run);
			break;
		case PLH_KIND_MAPPED_GROWS:
			advise_on_mapped(said, image, statement->may_run);
			break;
		case PLH_KIND_OUTSIDE_GROWS:
			advise_on_malloc(said, image, statement->may_run);
			plh_advice_say_trim_to_see(said, image);
			break;
		case PLH_KIND_MALLOC_KEEPS:
			advise_on_freed(&advised);
			break;
		case PLH_KIND_SITE_REACHED:
		case PLH_KIND_MALLOC_REACHED:
		case PLH_KIND_SITE_GROWS:
		case PLH_KIND_PROCESS_GROWS:
			advise_on_growth(&advised);
			break;
		case PLH_KINDS:
			break;
	}
}

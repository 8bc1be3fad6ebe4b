/*
 * outside_advice.c
 *	  What to do about memory outside of contexts, which libraries have from malloc or have
 *	  mapped, in a few sentences.
 *
 * What has come while one statement runs may go with it: then a pool that recycles its connections
 * is of no use, and cancelling the statement tells more than anything else.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/settings.h"
#include "judge/process_kind.h"
#include "telling/ending_advice.h"
#include "telling/outside_advice.h"

void
plh_outside_advice_sites(PlhSaid *said, const PlhProfileHeader *header)
{
	if (header->malloc_tracked)
		return;
	if (plh_track_malloc)
		PLH_SAY(said, true, preload_malloc);
	else
		PLH_SAY(said, true, track_malloc);
}

const char *
plh_outside_advice_store(const char *language)
{
	if (strcmp(language, "PL/Perl") == 0)
		return "%_SHARED and global variables";
	return strcmp(language, "PL/Python") == 0 ? "GD, SD and global variables" :
		"GD and global variables";
}

/* What to do about a language. */
static void
say_language(PlhSaid *said, const char *noun, const char *language)
{
	PLH_SAY(said, true, loaded_language,.noun = noun,.language = language,
			.store = plh_outside_advice_store(language));
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

/* Where to look first, by what a process has loaded. */
static void
say_where(PlhSaid *said, const PlhLoadedCode *loaded, const char *noun, bool of_running)
{
	if (loaded->language != NULL)
		say_language(said, noun, loaded->language);
	else if (loaded->has_jit)
		PLH_SAY(said, true, loaded_jit,.noun = noun);
	else if (loaded->has_libpq)
		PLH_SAY(said, true, loaded_libpq,.noun = noun);
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
plh_outside_advice_loaded_by(int pid, const char *noun)
{
	PlhLoadedCode loaded = plh_malloc_callers_loaded(pid);
	PlhSaid		said;

	if (loaded.language == NULL && !loaded.has_jit && !loaded.has_libpq)
		return NULL;
	plh_sentences_begin(&said);
	say_where(&said, &loaded, noun, false);
	return said.text.data;
}

const char *
plh_outside_advice_loaded(const PlhProfileImage *image)
{
	return !image->alive ? NULL :
		plh_outside_advice_loaded_by(image->header->pid, plh_process_kind_noun(image));
}

void
plh_outside_advice_where(PlhSaid *said, const PlhProfileImage *image)
{
	PlhLoadedCode loaded = loaded_by(image);

	say_where(said, &loaded, plh_process_kind_noun(image), false);
}

/* How to end a statement; of one in libpq, its connection keeps what it has got so far. */
static void
say_try_cancel(PlhSaid *said, int pid, const PlhLoadedCode *loaded)
{
	plh_ending_advice_try_cancel(said, pid);
	if (loaded->has_libpq)
		PLH_SAY(said, true, cancel_libpq);
}

void
plh_outside_advice_of_running(PlhSaid *said, int pid)
{
	PlhLoadedCode loaded = plh_malloc_callers_loaded(pid);

	say_where(said, &loaded, "session", true);
	say_try_cancel(said, pid, &loaded);
}

/* How to live with what stays and grows, and to learn what is to blame. */
static void
say_recycle(PlhSaid *said, const PlhProfileImage *image)
{
	plh_ending_advice_recycle(said, image);
	if (!image->header->malloc_tracked && plh_process_kind(image->header) == PLH_PROCESS_SESSION)
		PLH_SAY(said, true, check_malloc);
}

/* Can the statement be cancelled that may have it? */
static bool
can_cancel(const PlhProfileImage *image, bool of_running)
{
	return of_running && image->alive && plh_process_kind(image->header) == PLH_PROCESS_SESSION;
}

void
plh_outside_advice_of_malloc(PlhSaid *said, const PlhProfileImage *image, bool of_running)
{
	PlhLoadedCode loaded = loaded_by(image);
	bool		can = can_cancel(image, of_running);

	say_where(said, &loaded, plh_process_kind_noun(image), can);
	if (can)
		say_try_cancel(said, image->header->pid, &loaded);
	else
		say_recycle(said, image);
	plh_outside_advice_sites(said, image->header);
}

void
plh_outside_advice_of_mapped(PlhSaid *said, const PlhProfileImage *image, bool of_running)
{
	PlhLoadedCode loaded = loaded_by(image);
	const char *noun = plh_process_kind_noun(image);

	if (loaded.language != NULL)
	{
		say_language(said, noun, loaded.language);
		if (can_cancel(image, of_running))
			plh_ending_advice_try_cancel(said, image->header->pid);
		else
			plh_ending_advice_recycle(said, image);
	}
	else if (loaded.has_jit)
		PLH_SAY(said, true, loaded_jit,.noun = noun);
	else
		PLH_SAY(said, true, mapped_by_unknown);
}

void
plh_outside_advice_say_libraries(PlhSaid *said, const PlhMallocCallers *callers)
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
}

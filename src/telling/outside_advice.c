/*
 * outside_advice.c
 *	  What to do about memory outside of contexts, which libraries have from malloc or
 *	  have mapped, in a few sentences.
 *
 * What has come while one statement runs may go with it: then a pool that recycles its
 * connections is of no use, and cancelling the statement tells more than anything else.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/settings.h"
#include "judge/process_kind.h"
#include "report/malloc_callers.h"
#include "telling/ending_advice.h"
#include "telling/outside_advice.h"

/* What to do about a compiler of queries, whose code and notes about it add up. */
static const char *
jit_text(const char *noun)
{
	return psprintf("This %s has compiled queries (JIT). Turn JIT off with ALTER ROLE ... SET jit = off, or with ALTER SYSTEM SET jit = off and SELECT pg_reload_conf(). See whether new sessions still grow.",
					noun);
}

/* What to do about the client library, as two sentences. */
static const char *
libpq_text(const char *noun)
{
	return psprintf("This %s has loaded libpq, the client library of dblink and postgres_fdw, which keeps each result in memory until it was read."
					" Fetch fewer rows at a time: dblink() instead of dblink_get_result(), dblink_fetch() of a cursor, or a lower fetch_size of postgres_fdw.",
					noun);
}

/*
 * How to see the call sites of malloc, as a sentence.
 */
const char *
plh_outside_advice_sites(const PlhProfileHeader *header)
{
	if (header->malloc_tracked)
		return NULL;
	return plh_track_malloc ?
		"To see call sites of malloc and their statements, restart the server with pg_leakhunt_malloc.so in LD_PRELOAD." :
		"To see call sites of malloc and their statements, turn pg_leakhunt.track_malloc on.";
}

const char *
plh_outside_advice_store(const char *language)
{
	if (strcmp(language, "PL/Perl") == 0)
		return "%_SHARED and global variables";
	return strcmp(language, "PL/Python") == 0 ? "GD, SD and global variables" :
		"GD and global variables";
}

/* What to do about a language, as a sentence. */
static const char *
language_text(const char *noun, const char *language)
{
	return psprintf("This %s has loaded %s: see what its functions keep in %s.",
					noun, language, plh_outside_advice_store(language));
}

/* Where to look where nothing is known but libraries, as a sentence or two. */
static const char *
libraries_text(const char *noun, bool has_others, bool of_running)
{
	if (has_others)
		return psprintf("See what the %s does with the libraries that it has loaded by itself.%s",
						noun, PLH_SETTINGS_BY_MALLOC ?
						" It may also set large values with SET or set_config, which PostgreSQL keeps by malloc." : "");
	if (of_running)
		return psprintf("See which functions of the statement use one of these libraries, as those for xml use libxml2.%s",
						PLH_SETTINGS_BY_MALLOC ?
						" PostgreSQL keeps large values of set_config by malloc, too." : "");
	if (PLH_SETTINGS_BY_MALLOC)
		return psprintf("See first whether the %s sets large values with SET or set_config, which PostgreSQL keeps by malloc. Then see which of these libraries it uses.",
						noun);
	return psprintf("See which of these libraries the %s uses.", noun);
}

/* Where to look first, by what a process has loaded. */
static const char *
where_text(const PlhLoadedCode *loaded, const char *noun, bool of_running)
{
	if (loaded->language != NULL)
		return language_text(noun, loaded->language);
	if (loaded->has_jit)
		return jit_text(noun);
	if (loaded->has_libpq)
		return libpq_text(noun);
	return libraries_text(noun, loaded->has_others, of_running);
}

/* What is loaded by a process that is there. */
static PlhLoadedCode
loaded_by(const PlhProfileImage *image)
{
	PlhLoadedCode none = {NULL};

	return image->alive ? plh_malloc_callers_loaded(image->header->pid) : none;
}

const char *
plh_outside_advice_where(const PlhProfileImage *image)
{
	PlhLoadedCode loaded = loaded_by(image);

	return where_text(&loaded, plh_process_kind_noun(image), false);
}

/* How to end a statement; of one in libpq, its connection keeps what it has got so far. */
static const char *
try_cancel_text(int pid, const PlhLoadedCode *loaded)
{
	return psprintf("%s%s", plh_ending_advice_try_cancel(pid),
					!loaded->has_libpq ? "" :
					" What dblink has got of an unfinished result may stay until dblink_disconnect(), or until the session ends.");
}

const char *
plh_outside_advice_of_running(int pid)
{
	PlhLoadedCode loaded = plh_malloc_callers_loaded(pid);

	return psprintf("%s %s", where_text(&loaded, "session", true),
					try_cancel_text(pid, &loaded));
}

/* How to live with what stays and grows, and to learn what is to blame. */
static const char *
recycle_text(const PlhProfileImage *image)
{
	const char *recycle = plh_ending_advice_recycle(image);

	if (image->header->malloc_tracked || plh_process_kind(image->header) != PLH_KIND_SESSION)
		return recycle;
	return psprintf("%s pg_leakhunt_check, in another session, runs one statement again and again and tells by how much malloc grows each time.",
					recycle);
}

/* Can the statement be cancelled that may have it? */
static bool
can_cancel(const PlhProfileImage *image, bool of_running)
{
	return of_running && image->alive &&
		plh_process_kind(image->header) == PLH_KIND_SESSION;
}

/*
 * What to do about malloc's growth that no site explains.
 */
const char *
plh_outside_advice_of_malloc(const PlhProfileImage *image, bool of_running)
{
	const char *hint = plh_outside_advice_sites(image->header);
	PlhLoadedCode loaded = loaded_by(image);
	bool		can = can_cancel(image, of_running);

	return psprintf("%s %s%s%s",
					where_text(&loaded, plh_process_kind_noun(image), can),
					can ? try_cancel_text(image->header->pid, &loaded) :
					recycle_text(image),
					hint == NULL ? "" : " ", hint == NULL ? "" : hint);
}

/*
 * What to do about memory that others have mapped.
 */
const char *
plh_outside_advice_of_mapped(const PlhProfileImage *image, bool of_running)
{
	PlhLoadedCode loaded = loaded_by(image);

	if (loaded.language != NULL)
		return psprintf("%s %s", language_text(plh_process_kind_noun(image), loaded.language),
						can_cancel(image, of_running) ?
						plh_ending_advice_try_cancel(image->header->pid) :
						plh_ending_advice_recycle(image));
	if (loaded.has_jit)
		return jit_text(plh_process_kind_noun(image));
	return "Look for code that maps memory by itself, such as Python's objects and JIT compilers.";
}

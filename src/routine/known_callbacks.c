/*
 * known_callbacks.c
 *	  Which error context callbacks are of a language, as was proven.
 *
 * This code runs inside palloc.
 *
 * A callback always gets the same kind of argument.  So once one was proven to be what a language's
 * callback gets, others are read without a question, until a library is unloaded: another may lie
 * there then.
 */
#include "postgres.h"

#include "base/fork.h"
#include "routine/known_callbacks.h"

#define PLACES 4				/* where one may be, from its own place on */

/* Arguments in vain, after which a callback is of no language. */
#define TRIES 64

PLH_SAME_IN_CHILD PlhKnownCallback plh_known_callbacks[PLH_KNOWN_CALLBACKS];
PLH_SAME_IN_CHILD unsigned long long plh_known_callbacks_unloaded;

static const PlhRoutineReader *const readers[] = {
#if PLH_HAVE_PLPGSQL
	&plh_plpgsql_routine,
#endif
	&plh_sql_routine, &plh_perl_routine, &plh_python_routine
};

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* The reader of the language whose library has that code; NULL: there is none. */
static const PlhRoutineReader *
reader_of(uintptr_t address)
{
	const PlhModule *module = plh_modules_find(address);

	if (module == NULL)
		return NULL;
	for (int i = 0; i < lengthof(readers); i++)
		if (readers[i]->library == NULL ? module == plh_modules_executable() :
			strcmp(base_name(module->path), readers[i]->library) == 0)
			return readers[i];
	return NULL;
}

/* Find a callback, or make room for it; the last of its places gives way. */
static PlhKnownCallback *
find(uintptr_t address)
{
	PlhKnownCallback *known = NULL;
	Size		first = plh_known_callbacks_place(address) - plh_known_callbacks;

	for (int i = 0; i < PLACES; i++)
	{
		known = &plh_known_callbacks[(first + i) % PLH_KNOWN_CALLBACKS];
		if (known->address == address)
			return known;
		if (known->address == 0)
			break;
	}
	*known = (PlhKnownCallback)
	{
		.address = address,.reader = reader_of(address)
	};
	known->is_settled = known->reader == NULL;
	return known;
}

static bool
prove(PlhKnownCallback *known, const void *argument)
{
	PlhTrust	trust = known->reader->prove(argument);

	if (trust == PLH_TRUST_NONE && ++known->tries == TRIES)
		known->reader = NULL;
	known->is_settled = trust == PLH_TRUST_CALLBACK || known->reader == NULL;
	return trust != PLH_TRUST_NONE;
}

pg_noinline void
plh_known_callbacks_forget(void)
{
	plh_known_callbacks_unloaded = plh_modules_unloaded;
	memset(plh_known_callbacks, 0, sizeof(plh_known_callbacks));
}

/* For a callback that is not where it would be first, or about which nothing is proven so far. */
pg_noinline const PlhRoutineReader *
plh_known_callbacks_learn(uintptr_t callback, const void *argument)
{
	PlhKnownCallback *known = find(callback);

	if (!known->is_settled && !prove(known, argument))
		return NULL;
	return known->reader;
}

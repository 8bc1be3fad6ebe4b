/*
 * known_callbacks.c
 *	  Which error context callbacks are of a language, as was proven.
 *
 * This code runs inside palloc.
 *
 * A callback always gets the same kind of argument.  So once one was proven to be what a
 * language's callback gets, others are read without a question, until a library is
 * unloaded: another may lie there then.
 */
#include "postgres.h"

#include "base/fork.h"
#include "routine/known_callbacks.h"
#include "stack/modules.h"

#define CALLBACKS 64			/* a power of two */
#define PLACES 4				/* where one may be, from its own place on */

/* Arguments in vain, after which a callback is of no language. */
#define TRIES 64

typedef struct Callback
{
	uintptr_t	address;		/* 0: none */
	const PlhRoutineReader *reader; /* NULL: of no language */
	bool		is_proven;
	int			tries;
} Callback;

static PLH_SAME_IN_CHILD Callback callbacks[CALLBACKS];
static PLH_SAME_IN_CHILD unsigned long long unloaded;

static const PlhRoutineReader *const readers[] = {
	&plh_plpgsql_routine, &plh_sql_routine, &plh_perl_routine, &plh_python_routine
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
	{
		if (readers[i]->library == NULL ? module == plh_modules_executable() :
			strcmp(base_name(module->path), readers[i]->library) == 0)
			return readers[i];
	}
	return NULL;
}

/* Find a callback, or make room for it; the last of its places gives way. */
static inline Callback *
find(uintptr_t address)
{
	Callback   *callback = NULL;

	for (int i = 0; i < PLACES; i++)
	{
		callback = &callbacks[((address >> 4) + i) % CALLBACKS];
		if (callback->address == address)
			return callback;
		if (callback->address == 0)
			break;
	}
	*callback = (Callback)
	{
		.address = address,.reader = reader_of(address)
	};
	return callback;
}

/* Is the argument what such a callback gets? */
static pg_noinline bool
prove(Callback *callback, const void *argument)
{
	PlhProof	proof = callback->reader->prove(argument);

	if (proof == PLH_PROOF_OF_CALLBACK)
		callback->is_proven = true;
	else if (proof == PLH_PROOF_NONE && ++callback->tries == TRIES)
		callback->reader = NULL;
	return proof != PLH_PROOF_NONE;
}

const PlhRoutineReader *
plh_known_callbacks_reader(uintptr_t address, const void *argument)
{
	Callback   *callback;

	if (unlikely(unloaded != plh_modules_unloaded))
	{
		unloaded = plh_modules_unloaded;
		memset(callbacks, 0, sizeof(callbacks));
	}
	callback = find(address);
	if (callback->reader == NULL ||
		(!callback->is_proven && !prove(callback, argument)))
		return NULL;
	return callback->reader;
}

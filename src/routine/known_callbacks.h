/*
 * known_callbacks.h
 *	  Which error context callbacks are of a language, as was proven.
 *
 * These functions may be called inside palloc, and are not reentrant.
 */
#pragma once

#include "routine/routine_reader.h"
#include "stack/modules.h"

#define PLH_KNOWN_CALLBACKS 64	/* a power of two */

typedef struct PlhKnownCallback
{
	uintptr_t	address;		/* 0: none */
	const PlhRoutineReader *reader; /* NULL: of no language */
	bool		is_settled;		/* proven, or of no language */
	int			tries;
} PlhKnownCallback;

extern PlhKnownCallback plh_known_callbacks[PLH_KNOWN_CALLBACKS];

/* So many modules were unloaded when the first of these was learned. */
extern unsigned long long plh_known_callbacks_unloaded;

extern void plh_known_callbacks_forget(void);
extern const PlhRoutineReader *plh_known_callbacks_learn(uintptr_t callback, const void *argument);

/* To be called before readers are asked for: others may be where a library was unloaded. */
static inline void
plh_known_callbacks_refresh(void)
{
	if (unlikely(plh_known_callbacks_unloaded != plh_modules_unloaded))
		plh_known_callbacks_forget();
}

/* The place of a callback, or the first of those where it may be. */
static inline PlhKnownCallback *
plh_known_callbacks_place(uintptr_t callback)
{
	return &plh_known_callbacks[((callback >> 4) ^ (callback >> 10)) % PLH_KNOWN_CALLBACKS];
}

/* How to read an argument of that callback; NULL if it is of no language, or unproven. */
static inline const PlhRoutineReader *
plh_known_callbacks_reader(uintptr_t callback, const void *argument)
{
	const PlhKnownCallback *known = plh_known_callbacks_place(callback);

	if (likely(known->address == callback && known->is_settled))
		return known->reader;
	return plh_known_callbacks_learn(callback, argument);
}

/*
 * known_callbacks.h
 *	  Which error context callbacks are of a language, as was proven.
 *
 * These functions may be called inside palloc, and are not reentrant.
 */
#ifndef PLH_KNOWN_CALLBACKS_H
#define PLH_KNOWN_CALLBACKS_H

#include "routine/routine_reader.h"

/*
 * Returns how to read an argument of that callback; NULL if it is of no language, or
 * nothing is proven.
 */
extern const PlhRoutineReader *plh_known_callbacks_reader(uintptr_t callback,
														  const void *argument);

#endif							/* PLH_KNOWN_CALLBACKS_H */

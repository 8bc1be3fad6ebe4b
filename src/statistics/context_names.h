/*
 * context_names.h
 *	  What names of memory contexts tell: how long such contexts live, what they were called in
 *	  older releases.
 *
 * Pure functions: they allocate nothing and call nothing of the server.
 */
#pragma once

#include "profile/profile_layout.h"
#include "statistics/text_span.h"

/* The name that contexts called so have in releases from 11 on. */
extern const char *plh_context_names_current(const char *name);

/* Is it the name of a context's parent in releases up to 10 only? */
extern bool plh_context_names_is_old(const char *name);

/* Does it look like the name of an index, as its context was called until 10? */
extern bool plh_context_names_is_index(const char *name);

/* Of a context with a parent of that lifetime.  Some are hung elsewhere once they are complete. */
extern PlhLifetime plh_context_names_below(const char *name, PlhLifetime parent);

/* Of a child of TopMemoryContext. */
extern PlhLifetime plh_context_names_top_child(const char *name);

/* Of a context of which only the names of itself and of its parent are known; that may be empty. */
extern PlhLifetime plh_context_names_guess(const char *name, const char *parent);

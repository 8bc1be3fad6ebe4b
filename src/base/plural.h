/*
 * plural.h
 *	  The noun behind a number: "1 object", "2 objects".
 *
 * For texts that are not translated; messages of the log have errmsg_plural.  May be called from
 * anywhere, inside palloc too.
 */
#pragma once

/* Returns the form of a word that goes with this number of what it names. */
static inline const char *
plh_plural(int64 count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

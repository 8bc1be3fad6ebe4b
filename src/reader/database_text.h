/*
 * database_text.h
 *	  Makes text from outside fit for this database.
 *
 * Names of functions and files, and texts that processes of other databases have written, may be in
 * any encoding or none.  A character that does not fit becomes '?'; it is never an ERROR.  What is
 * returned is a copy, palloc'd in the current memory context.  Never called inside palloc.
 */
#pragma once

#include "common/hashfn.h"
#include "lib/stringinfo.h"

extern char *plh_database_text_fit(const char *text);
extern char *plh_database_text_fit_foreign(const char *text, Size bytes, int encoding);
extern char *plh_database_text_to_utf8(const char *text);
extern void plh_database_text_append_markup(StringInfo output, const char *text);

/* Are two texts the same, or both NULL? */
static inline bool
plh_texts_are_same(const char *left, const char *right)
{
	return left == right || (left != NULL && right != NULL && strcmp(left, right) == 0);
}

/* The hash of a text, or NULL, behind that of others. */
static inline uint64
plh_text_hash(const char *text, uint64 seed)
{
	return text == NULL ? seed :
		hash_bytes_extended((const unsigned char *) text, strlen(text), seed);
}

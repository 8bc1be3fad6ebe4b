/*
 * found_doubt.h
 *	  Why there is no verdict on a process, in words.
 *
 * doubt.h says how that is found.
 */
#ifndef PLH_FOUND_DOUBT_H
#define PLH_FOUND_DOUBT_H

typedef struct PlhDoubt
{
	const char *reason;			/* sentences */
	const char *next;			/* a sentence; NULL if there is nothing to do */
	const char *nameless;		/* path of the binary of a site that is told
								 * without a name; else NULL */
	bool		is_undecided;	/* there may be a verdict later */
} PlhDoubt;

#endif							/* PLH_FOUND_DOUBT_H */

/*
 * context_list.h
 *	  The memory contexts of a process by name and lifetime: their sizes, and what they are of.
 *
 * Never called inside palloc.
 */
#pragma once

#include "profile/baseline.h"
#include "profile/profile_image.h"

typedef struct PlhListedContext
{
	uint32		name;			/* offset of the string; 0 for samples whose
								 * site found no room */
	uint32		lifetime;		/* PlhLifetime */
	const PlhContextRecord *record; /* of the last census; NULL if it counted
									 * none */
	int64		instances;		/* in the last census; 0 if there were none */
	int64		context_bytes;	/* from malloc, in the last census; exact */
	int64		live_bytes;		/* of the sites; an estimate */
	int64		live_count;
	int64		baseline_bytes; /* of the sites, at the baseline if there is
								 * one */
	int64		sites;			/* that had samples */
} PlhListedContext;

typedef struct PlhContextList
{
	int			count;
	int			room;			/* for so many */
	PlhListedContext *contexts; /* the largest by either figure first */
} PlhContextList;

/* In the current memory context.  "baseline" is NULL where there is none. */
extern PlhContextList *plh_context_list_make(const PlhProfileImage *image,
											 const PlhBaseline *baseline);

/* The name of contexts by its offset, fit for this database; NULL if there is none. */
extern const char *plh_context_list_name(const PlhProfileImage *image, uint32 name);

/*
 * What contexts of a name are of: fills in palloc'd texts of what has most, in one line and fit for
 * this database, and returns how many there are: 0 where it is not known, or no longer true.  The
 * record may be NULL.  A text of a statement or an object is cut to so many characters.
 */
extern int	plh_context_list_examples(const PlhContextRecord *record, const PlhProfileImage *image,
									  int columns, char *texts[PLH_EXAMPLES]);

/* Do any of them tell how many contexts are like them? */
extern bool plh_context_list_has_counts(const PlhContextRecord *record,
										const PlhProfileImage *image);

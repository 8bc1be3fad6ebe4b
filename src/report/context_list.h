/*
 * context_list.h
 *	  The memory contexts of a process by name and lifetime: what the last census counted of
 *	  them, and what the call sites in them hold.
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
	PlhListedContext *contexts; /* the largest by either figure first */
} PlhContextList;

extern PlhContextList *plh_context_list_make(const PlhProfileImage *image,
											 const PlhBaseline *baseline);

/* The name of contexts by its offset, fit for this database; NULL if there is none. */
extern const char *plh_context_list_name(const PlhProfileImage *image, uint32 name);

/*
 * top_site.h
 *	  Finds the call site by which a process holds most, and names it.
 *
 * Sites that differ in their statement only are one here: with compute_query_id off, each literal
 * makes a statement of its own.
 *
 * Callable at exit: nothing is palloc'd or thrown.
 */
#pragma once

#include "profile/profile_image.h"

/* What of a site counts: what it holds, or what it held at the process' peak. */
typedef enum PlhTopMoment
{
	PLH_TOP_NOW,
	PLH_TOP_PEAK
} PlhTopMoment;

/* A stack in contexts of one name, over all statements. */
typedef struct PlhTopSite
{
	const PlhStackRecord *stack;	/* NULL where there is none */
	const PlhStringRecord *context; /* its name, or NULL */
	int64		bytes;
	double		surely_bytes;	/* lower end of that; 0 at the peak */
	const PlhStatementRecord *statement;	/* that of the largest; or NULL */
	uint32		statements;		/* number of those that hold something */
} PlhTopSite;

/* The function that most of what was found was allocated in or below. */
typedef struct PlhTopFunction
{
	const char *name;			/* that its binary exports */
	int64		bytes;
	double		part;			/* of all, from 0 to 1 */
} PlhTopFunction;

/* Room for the name of a site. */
#define PLH_SITE_NAME_BYTES 512

/* Returns false if nothing is held that was sampled. */
extern bool plh_top_site_find(PlhTopSite *top, const PlhProfileImage *image, PlhTopMoment moment);

/* Returns false where there is none, or the site has as much by itself. */
extern bool plh_top_site_find_function(PlhTopFunction *function, const PlhTopSite *top,
									   const PlhProfileImage *image, PlhTopMoment moment);
extern bool plh_top_site_is_same(const PlhTopSite *a, const PlhTopSite *b);

extern const char *plh_top_site_routine(const PlhTopSite *top,
										const PlhProfileImage *image, int *line);

/* The image must be that of this process. */
extern const char *plh_top_site_name(const PlhTopSite *top, const PlhProfileImage *image,
									 char *name, Size room);

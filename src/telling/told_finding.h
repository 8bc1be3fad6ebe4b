/*
 * told_finding.h
 *	  What there is to tell of a finding, in words.
 *
 * Never called inside palloc.
 */
#ifndef PLH_TOLD_FINDING_H
#define PLH_TOLD_FINDING_H

#include "judge/suspect_list.h"
#include "report/listed_site.h"
#include "symbols/symbols.h"

/* A finding as it is told; a NULL text is not known, or does not apply. */
typedef struct PlhToldFinding
{
	const char *verdict;
	const PlhListedSite *named; /* the site that it is named after, as it was
								 * passed; NULL: after none */
	const char *cause;			/* "at leaking_top (leaker.c:55) in
								 * TopMemoryContext" */
	const char *site;
	const char *routine;		/* that allocates; NULL if there is none */
	const char *context_name;
	const char *query;
	const char *evidence;
	const char *next;
	int64		bytes;
	int64		error_bytes;
	bool		has_rate;
	int64		bytes_per_hour;
	int64		rate_us;		/* the time in which it was seen to grow so */
} PlhToldFinding;

/* Where a finding is, and what its code is named with. */
typedef struct PlhFoundIn
{
	const PlhProfileImage *image;
	const PlhSuspectList *list;
	PlhStackTexts *stacks;
	PlhSymbols *symbols;
} PlhFoundIn;

/* "listed" is the suspect's site, described; NULL where it has none. */
extern PlhToldFinding *plh_told_finding_make(const PlhSuspect *suspect,
											 const PlhListedSite *listed,
											 const PlhFoundIn *in);

#endif							/* PLH_TOLD_FINDING_H */

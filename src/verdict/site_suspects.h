/*
 * site_suspects.h
 *	  Judges the sites of a process: those that last, one by one or together; those of a
 *	  statement are added up.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SITE_SUSPECTS_H
#define PLH_SITE_SUSPECTS_H

#include "profile/baseline.h"
#include "verdict/family.h"
#include "verdict/found_suspects.h"
#include "verdict/statement_suspect.h"

/* A site, and which others it is judged with. */
typedef struct PlhGroupedSite
{
	uint64		group;			/* its stack in C and its context name */
	uint32		lifetime;
	const PlhSiteRecord *site;
} PlhGroupedSite;

/* The facts that all sites of an image are judged by, and the suspects so far. */
typedef struct PlhJudge
{
	const PlhProfileImage *image;
	const PlhBaseline *baseline;	/* NULL if there is none */
	TimestampTz counted_to;
	bool		judges_malloc;	/* its samples agree with what it says */
	int64		fall_bytes;		/* by which what it keeps has fallen */
	PlhSuspectList *list;		/* of those found so far */
	int			room;			/* of the list */
	PlhStatementSamples statement;	/* what samples tell of it */
	PlhShare	shares[PLH_SHARES]; /* its largest sites */
} PlhJudge;

extern PlhGroupedSite *plh_site_suspects_group(const PlhJudge *judge, int *count);
extern void plh_site_suspects_judge(PlhJudge *judge, const PlhGroupedSite *sites, int count);
extern void plh_site_suspects_add(PlhJudge *judge, const PlhSuspect *suspect);
extern const PlhFamily *plh_site_suspects_family(const PlhJudge *judge,
												 const PlhSiteRecord *site);

#endif							/* PLH_SITE_SUSPECTS_H */

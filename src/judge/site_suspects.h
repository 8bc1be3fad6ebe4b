/*
 * site_suspects.h
 *	  Judges the sites of a process: those that last, one by one or together; those of a
 *	  statement are added up.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/proven_suspect.h"
#include "judge/statement_suspect.h"
#include "profile/baseline.h"

/* A site, and which others it is judged with. */
typedef struct PlhGroupedSite
{
	uint64		group;			/* its stack in C and its context name */
	uint32		lifetime;
	uint32		statement;
	const PlhSiteRecord *site;
} PlhGroupedSite;

/* What sites of one stack and context hold of a statement. */
typedef struct PlhStatementSite
{
	PlhShare	share;
	double		variance;
	int64		samples;
} PlhStatementSite;

/* The facts that all sites of an image are judged by, and the suspects so far. */
typedef struct PlhJudge
{
	const PlhProfileImage *image;
	const PlhBaseline *baseline;	/* NULL if there is none */
	TimestampTz counted_to;
	bool		judges_malloc;	/* its samples agree with what it says */
	int64		fall_bytes;		/* by which what it keeps has fallen */
	int			counts;			/* of the process, over time */
	PlhFindings *findings;		/* so far */
	int			room;			/* of the list */
	PlhStatementSamples statement;	/* what samples tell of it */
	PlhShare	shares[PLH_SHARES]; /* its largest sites */
	PlhStatementSite *statement_sites;	/* all of them, if functions are known */
	int			statement_site_count;
	int			statement_site_room;
	const PlhSiteRecord *statement_site;	/* that the statement is named
											 * after; NULL: there is none */
	const PlhCauses *causes;	/* who knows functions; NULL: nobody does */
} PlhJudge;

/*
 * The order in which sites are judged: by group, then by statement, then as they lie in the
 * profile.
 */
static inline int
plh_site_suspects_compare(const PlhGroupedSite *left, const PlhGroupedSite *right)
{
	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	if (left->lifetime != right->lifetime)
		return left->lifetime < right->lifetime ? -1 : 1;
	if (left->statement != right->statement)
		return left->statement < right->statement ? -1 : 1;
	return left->site < right->site ? -1 : left->site > right->site;
}

extern bool plh_site_suspects_next(PlhGroupedSite *next, const PlhJudge *judge, uint32 *position);
extern void plh_site_suspects_sort(PlhGroupedSite *sites, int count);

/* The sites that are judged, those of one group next to each other. */
extern PlhGroupedSite *plh_site_suspects_group(const PlhJudge *judge, int *count);

/* The end of the group that begins at sites[begin]. */
extern int	plh_site_suspects_group_end(const PlhGroupedSite *sites, int begin, int count);

/* The facts of a site, and what is found of one, or of several under the name of one. */
extern void plh_site_suspects_collect(PlhSuspectFacts *facts, const PlhJudge *judge,
									  const PlhSiteRecord *site);
extern PlhFinding plh_site_suspects_finding(const PlhSiteRecord *site,
											const PlhSuspectFacts *facts,
											const PlhJudgement *judgement);
extern void plh_site_suspects_judge(PlhJudge *judge);
extern void plh_site_suspects_add(PlhJudge *judge, const PlhFinding *finding);
extern const PlhFamily *plh_site_suspects_family(const PlhProfileImage *image,
												 const PlhSiteRecord *site);

/* Is a site in contexts of that family? */
extern bool plh_site_suspects_is_in(const PlhProfileImage *image, const PlhSiteRecord *site,
									const PlhFamilyAccount *contexts);

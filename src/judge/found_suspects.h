/*
 * found_suspects.h
 *	  A finding on a process, and the list of them.
 *
 * suspect_list.h says how the list is made.
 */
#ifndef PLH_FOUND_SUSPECTS_H
#define PLH_FOUND_SUSPECTS_H

#include "judge/account.h"
#include "judge/suspect.h"
#include "profile/profile_image.h"

/* The most sites of a finding that are told apart; some may be of one function. */
#define PLH_SHARES 12

/*
 * A finding on a statement or on contexts is named after a call site that has this part
 * of it: one that has less explains nothing.
 */
#define PLH_NAMED_PART 0.15

/* The most functions of a finding that are told. */
#define PLH_TOLD_SHARES 3

/* What a site, over all statements, holds of what a finding is about. */
typedef struct PlhShare
{
	const PlhSiteRecord *site;
	int64		bytes;
} PlhShare;

typedef struct PlhSuspect
{
	const PlhSiteRecord *site;	/* of several, that which holds most; of
								 * contexts, one in them; or NULL */
	const PlhContextRecord *context;	/* of contexts, and of what a
										 * statement holds, those of the name
										 * that has most; else NULL */
	const PlhFamilyAccount *family; /* of contexts; else NULL */
	const PlhFamilyAccount *part;	/* of a statement: contexts that hold much
									 * of it, of a kind that no work_mem
									 * limits; else NULL */
	bool		is_scattered;	/* of contexts: no site has much of what was
								 * sampled in them */
	int			share_count;	/* of a statement: its largest sites */
	PlhShare	shares[PLH_SHARES];
	PlhSuspectFacts facts;		/* of all sites together, or of the process */
	PlhJudgement judgement;		/* never PLH_VERDICT_NONE */
} PlhSuspect;

typedef struct PlhSuspectList
{
	int			count;
	PlhSuspect *suspects;
	PlhAccount *account;		/* of its memory contexts and the rest */
} PlhSuspectList;

#endif							/* PLH_FOUND_SUSPECTS_H */

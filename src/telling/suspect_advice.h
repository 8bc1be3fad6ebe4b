/*
 * suspect_advice.h
 *	  What to do next about a suspect, in a sentence or two.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SUSPECT_ADVICE_H
#define PLH_SUSPECT_ADVICE_H

#include "judge/found_suspects.h"
#include "report/listed_site.h"
#include "telling/malloc_statement.h"

/*
 * "listed" is the site that the suspect is named after, described; NULL where it is named
 * after none.  "statement" is what plh_malloc_statement_find says of it.
 */
extern const char *plh_suspect_advice(const PlhSuspect *suspect,
									  const PlhProfileImage *image,
									  const PlhListedSite *listed,
									  const PlhMallocStatement *statement);

#endif							/* PLH_SUSPECT_ADVICE_H */

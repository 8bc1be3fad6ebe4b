/*
 * suspect_advice.h
 *	  What to do next about a suspect, in a sentence or two.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SUSPECT_ADVICE_H
#define PLH_SUSPECT_ADVICE_H

#include "report/listed_site.h"
#include "verdict/found_suspects.h"

/* What a process is called that has clients, or has none. */
extern const char *plh_suspect_advice_noun(const PlhProfileImage *image);

/* "listed" is the suspect's site, described; NULL where it has none. */
extern const char *plh_suspect_advice(const PlhSuspect *suspect,
									  const PlhProfileImage *image,
									  const PlhListedSite *listed);

/* Where to look first for memory outside of contexts, as a sentence or two. */
extern const char *plh_suspect_advice_outside(const PlhProfileImage *image);
extern const char *plh_suspect_advice_malloc_hint(const PlhProfileHeader *header);

#endif							/* PLH_SUSPECT_ADVICE_H */

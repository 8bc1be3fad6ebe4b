/*
 * statement_evidence.h
 *	  What a statement or transaction holds, where, and what limits it, in a few
 *	  sentences.
 *
 * Never called inside palloc.
 */
#ifndef PLH_STATEMENT_EVIDENCE_H
#define PLH_STATEMENT_EVIDENCE_H

#include "judge/found_suspects.h"
#include "report/stack_text.h"

/*
 * "account" is NULL where nothing was counted.  "texts" names the sites; NULL: these are
 * not told.
 */
extern char *plh_statement_evidence(const PlhSuspect *suspect, const PlhAccount *account,
									const PlhProfileImage *image, PlhStackTexts *texts);
extern const char *plh_statement_evidence_limit(const PlhProfileImage *image,
												const PlhFamily *family,
												int64 limit_bytes);

/* "account" is NULL where what was counted is of an earlier statement. */
extern const char *plh_statement_evidence_rest(const PlhAccount *account,
											   const PlhFamily *told, bool alive);
extern const char *plh_statement_evidence_span(uint32 lifetime);

#endif							/* PLH_STATEMENT_EVIDENCE_H */

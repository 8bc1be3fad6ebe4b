/*
 * share_text.h
 *	  Which functions have most of what a statement holds, as a sentence.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SHARE_TEXT_H
#define PLH_SHARE_TEXT_H

#include "report/stack_text.h"
#include "verdict/suspect_list.h"

/* A share or part below this percentage is not told. */
#define PLH_LEAST_PERCENT 5

/* " By call site: 60% at f in ExecutorState."; "" where "texts" is NULL, or nobody has much. */
extern const char *plh_share_text(const PlhSuspect *suspect,
								  const PlhProfileImage *image,
								  PlhStackTexts *texts);
extern const char *plh_share_text_nameless(const PlhSuspect *suspect,
											 const PlhProfileImage *image,
											 PlhStackTexts *texts);

#endif							/* PLH_SHARE_TEXT_H */

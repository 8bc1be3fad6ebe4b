/*
 * share_text.h
 *	  Which functions have most of what a statement holds, as a sentence.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SHARE_TEXT_H
#define PLH_SHARE_TEXT_H

#include "judge/suspect_list.h"
#include "report/stack_text.h"

/* A share or part below this percentage is not told. */
#define PLH_LEAST_PERCENT 5

/*
 * Is the finding named after its site?  Where many sites have little each, the largest of
 * them explains nothing.
 */
extern bool plh_share_text_names_site(const PlhSuspect *suspect,
									  const PlhProfileImage *image,
									  PlhStackTexts *texts);

/*
 * " By call site: 60% at f in ExecutorState.", or that none has much; "" where "texts" is
 * NULL, or samples tell nothing.
 */
extern const char *plh_share_text(const PlhSuspect *suspect,
								  const PlhProfileImage *image,
								  PlhStackTexts *texts);
extern const char *plh_share_text_nameless(const PlhSuspect *suspect,
										   const PlhProfileImage *image,
										   PlhStackTexts *texts);

#endif							/* PLH_SHARE_TEXT_H */

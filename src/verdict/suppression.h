/*
 * suppression.h
 *	  Patterns that name call sites which are known, and not to be reported.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SUPPRESSION_H
#define PLH_SUPPRESSION_H

#include "utils/array.h"

#include "report/stack_text.h"

typedef struct PlhSuppressions PlhSuppressions;

extern PlhSuppressions *plh_suppression_list(ArrayType *patterns);
extern ArrayType *plh_suppression_find(const PlhSuppressions *suppressions,
									   const char *context_name,
									   const PlhStackText *stack);

#endif							/* PLH_SUPPRESSION_H */

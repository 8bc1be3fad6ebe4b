/*
 * suppression.h
 *	  Patterns that name call sites which are known, and not to be reported.
 *
 * Never called inside palloc.
 */
#pragma once

#include "report/stack_text.h"

typedef struct PlhSuppression
{
	const char *given;			/* as the user has written it */
	const char *reason;			/* NULL where none was given */
	const char *pattern;		/* "given" without its prefix */
	bool		of_context;		/* the pattern is for names of contexts */
} PlhSuppression;

typedef struct PlhSuppressions
{
	int			count;
	PlhSuppression *entries;
} PlhSuppressions;

extern void plh_suppression_parse(PlhSuppression *suppression,
								  const char *given, const char *reason);
extern bool plh_suppression_matches(const PlhSuppression *suppression, const char *context_name,
									const PlhStackText *stack);
extern bool plh_suppression_any(const PlhSuppressions *suppressions, const char *context_name,
								const PlhStackText *stack);

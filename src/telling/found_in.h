/*
 * found_in.h
 *	  Where findings are, and what their code is named with.
 */
#ifndef PLH_FOUND_IN_H
#define PLH_FOUND_IN_H

#include "lib/stringinfo.h"

#include "judge/finding.h"
#include "report/stack_text.h"
#include "symbols/symbols.h"

typedef struct PlhFoundIn
{
	const PlhProfileImage *image;
	const PlhFindings *findings;
	PlhStackTexts *stacks;		/* NULL: functions are not named */
	PlhSymbols *symbols;
} PlhFoundIn;

#endif							/* PLH_FOUND_IN_H */

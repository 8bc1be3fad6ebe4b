/*
 * found_in.h
 *	  Where findings are that are told.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/findings.h"
#include "report/stack_text.h"
#include "symbols/symbols.h"

/* Where findings are, and what their code is named with. */
typedef struct PlhFoundIn
{
	const PlhProfileImage *image;
	const PlhFindings *findings;
	PlhStackTexts *stacks;		/* NULL: functions are not named */
	PlhSymbols *symbols;
} PlhFoundIn;

/*
 * found_in.h
 *	  Where findings are, and what their code is named with.
 */
#pragma once

#include "judge/finding.h"
#include "report/stack_text.h"
#include "symbols/symbols.h"
#include "telling/sentences.h"

typedef struct PlhFoundIn
{
	const PlhProfileImage *image;
	const PlhFindings *findings;
	PlhStackTexts *stacks;		/* NULL: functions are not named */
	PlhSymbols *symbols;
} PlhFoundIn;

/*
 * verdict_words.h
 *	  What the verdicts mean, what to do about them, and how findings are called.
 *
 * verdict_table.h has the words.
 */
#pragma once

#include "judge/verdict.h"
#include "telling/sentences.h"

typedef struct PlhVerdictWords
{
	const char *tone;			/* "bad" or "soft" */
	const char *meaning;		/* in Markdown */
	const char *todo;			/* in Markdown */
} PlhVerdictWords;

typedef struct PlhKindWords
{
	PlhSentence cause;			/* what it is called, behind its verdict */
	PlhSentence headline;		/* of the log */
	const char *answer;			/* to "leak or cache?" */
} PlhKindWords;

/* NULL of none. */
extern const PlhVerdictWords *plh_verdict_words_of(PlhVerdict verdict);
extern const PlhKindWords *plh_verdict_words_of_kind(PlhKind kind);

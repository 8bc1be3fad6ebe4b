/*
 * doubted.h
 *	  A process without findings, and what is said of it.
 *
 * Texts belong to the current memory context.  Never called inside palloc.
 */
#pragma once

#include "judge/course.h"
#include "judge/findings.h"
#include "report/stack_text.h"
#include "telling/explained_process.h"
#include "telling/sentences.h"

typedef struct PlhDoubt
{
	PlhSaid		words;			/* why; the first sentence is the reason */
	PlhSaid		next;			/* what to do; empty if there is nothing */
	const char *loaded;			/* what the process has loaded that may have
								 * it; NULL: not known, or of no interest */
	const char *nameless;		/* path of the binary of a site that is told
								 * without a name; else NULL */
	bool		is_undecided;	/* there may be a finding later */
	bool		is_unknown;		/* too little is known of it to judge it */
} PlhDoubt;

/* What a process without findings is known by. */
typedef struct PlhDoubted
{
	const PlhExplainedProcess *process;
	const PlhCourse *course;	/* of its own memory; zeros without a history */
	const PlhFindings *findings;	/* NULL without a profile, as the next two */
	PlhStackTexts *stacks;
	PlhSymbols *symbols;
} PlhDoubted;

/*
 * share_sentences.h
 *	  Which functions have most of a finding, or the one that most of it went through.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"
#include "report/shared_function.h"
#include "telling/found_in.h"
#include "telling/sentences.h"

/* The function that most of it was allocated in, or in functions that it calls. */
extern void plh_share_sentences_say_shared(PlhSaid *said, const PlhSharedFunction *shared);

/* Is the last sentence one on such a function? */
extern bool plh_share_sentences_end_shared(const PlhSaid *said);

/*
 * Which functions have most of it.  Where the call sites that would be told have little, the one
 * function is told that most of it has in common.  If that is a call site itself, which is called
 * in many ways, its largest stacks would only look as if there were others.
 */
extern void plh_share_sentences_say(PlhSaid *said, const PlhFinding *finding,
									const PlhSharedFunction *shared, const PlhFoundIn *in);

/* Which of several call sites of one cause have most of it. */
extern void plh_share_sentences_say_parts(PlhSaid *said, const PlhFinding *finding,
										  const PlhSharedFunction *shared, const PlhFoundIn *in);

/* What rounding adds to the largest sites of a statement, where that is much. */
extern void plh_share_sentences_say_rounding(PlhSaid *said, const PlhStatementFound *statement,
											 bool alive);

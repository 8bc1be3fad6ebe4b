/*
 * holder_sentences.h
 *	  What is said of cursors that are open, and of transactions whose sessions wait.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/findings.h"
#include "telling/explained_process.h"
#include "telling/memory_holder.h"
#include "telling/sentences.h"

/*
 * Who holds what a finding is about, if that ends with a statement or transaction, or came by
 * malloc; else nobody is asked.
 */
extern PlhHolder plh_holder_sentences_of(const PlhFinding *finding, const PlhProfileImage *image);

/*
 * Do open cursors hold much?  What they held at the last count, and the process has not any more,
 * is not told.
 */
extern bool plh_holder_sentences_find(PlhHolder *holder, const PlhExplainedProcess *process);

/* Is a finding on a statement, or on its contexts, one on open cursors? */
extern bool plh_holder_sentences_explain(const PlhHolder *holder, const PlhFinding *finding);

/* What a finding is about that such a holder explains, or a transaction in which nothing runs. */
extern const char *plh_holder_sentences_cause(const PlhHolder *holder);

/* Cursors: how many, how large, what for.  "account" is NULL where nothing was counted. */
extern void plh_holder_sentences_say(PlhSaid *said, const PlhHolder *holder,
									 const PlhAccount *account, const PlhProfileImage *image);

/* Why what they hold, or the transaction holds, is no leak. */
extern void plh_holder_sentences_say_end(PlhSaid *said, const PlhHolder *holder, bool alive);

/* How the statement is introduced that an open portal is of. */
extern PlhSentence plh_holder_sentences_on_query(const PlhHolder *holder);

/* How the application frees it, and what keeps it from waiting. */
extern void plh_holder_sentences_advise(PlhSaid *said, const PlhHolder *holder);

/* A cursor that has been open while memory outside of contexts came, which may be its own. */
extern void plh_holder_sentences_say_beside(PlhSaid *said, const PlhHolder *holder);

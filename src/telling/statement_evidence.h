/*
 * statement_evidence.h
 *	  Why a statement is a finding: how much it holds, where, what limits it, and what ends it.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/finding_origin.h"
#include "telling/found_in.h"
#include "telling/holder_sentences.h"
#include "telling/sentences.h"

/* Of the nodes of a plan, the family that holds most; NULL where none was counted. */
extern const PlhFamily *plh_statement_evidence_nodes(const PlhAccount *account);

/*
 * What else than contexts of that family a statement holds, where that is much of what was counted.
 * Without a family, what it holds most in.
 */
extern void plh_statement_evidence_say_rest(PlhSaid *said, const PlhAccount *account,
											const PlhFamily *told, bool alive);

/* What ends memory of that lifetime by itself. */
extern const char *plh_statement_evidence_noun(uint32 lifetime);

/* A statement, or a transaction that waits, which holds much. */
extern void plh_statement_evidence_say(PlhSaid *said, const PlhFinding *finding,
									   const PlhFoundIn *in, const PlhFindingOrigin *origin);

/*
 * statement_evidence.h
 *	  What a statement or transaction holds, where, and what limits it, in a few sentences.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/found_in.h"

extern void plh_statement_evidence_say(PlhSaid *said, const PlhFinding *finding,
									   const PlhFoundIn *in);

/*
 * What limits what is in contexts of a family.  What is not in nodes of a plan has the limit of
 * one, as nothing else is known of it.
 */
extern void plh_statement_evidence_say_limit(PlhSaid *said, const PlhProfileImage *image,
											 const PlhFamily *family, int64 limit_bytes);

/*
 * What else than contexts of that family a statement holds, where that is much of what was counted.
 * Without a family, what it holds most in.
 */
extern void plh_statement_evidence_say_rest(PlhSaid *said, const PlhAccount *account,
											const PlhFamily *told, bool alive);

/* What ends memory of that lifetime by itself. */
extern const char *plh_statement_evidence_noun(uint32 lifetime);

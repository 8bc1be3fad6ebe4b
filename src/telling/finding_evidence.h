/*
 * finding_evidence.h
 *	  Why something is a finding, in a few sentences.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"
#include "report/stack_text.h"
#include "symbols/symbols.h"
#include "telling/finding_origin.h"
#include "telling/sentences.h"

/* Where findings are, and what their code is named with. */
typedef struct PlhFoundIn
{
	const PlhProfileImage *image;
	const PlhFindings *findings;
	PlhStackTexts *stacks;		/* NULL: functions are not named */
	PlhSymbols *symbols;
} PlhFoundIn;

/* "origin" is where it came from. */
extern void plh_finding_evidence_say(PlhSaid *said, const PlhFinding *finding,
									 const PlhFoundIn *in, const PlhFindingOrigin *origin);

/*
 * What memory contexts of a name are of; the record may be NULL.  Returns false where there is
 * nothing to say.
 */
extern bool plh_finding_evidence_say_examples(PlhSaid *said, const PlhContextRecord *record,
											  const PlhProfileImage *image);

/* Of the nodes of a plan, the family that holds most; NULL where none was counted. */
extern const PlhFamily *plh_finding_evidence_nodes(const PlhAccount *account);

/*
 * What else than contexts of that family a statement holds, where that is much of what was counted.
 * Without a family, what it holds most in.
 */
extern void plh_finding_evidence_say_rest(PlhSaid *said, const PlhAccount *account,
										  const PlhFamily *told, bool alive);

/* What ends memory of that lifetime by itself. */
extern const char *plh_finding_evidence_noun(uint32 lifetime);

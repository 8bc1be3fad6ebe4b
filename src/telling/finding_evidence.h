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
#include "telling/sentences.h"

/* Where findings are, and what their code is named with. */
typedef struct PlhFoundIn
{
	const PlhProfileImage *image;
	const PlhFindings *findings;
	PlhStackTexts *stacks;		/* NULL: functions are not named */
	PlhSymbols *symbols;
} PlhFoundIn;

extern void plh_finding_evidence_say(PlhSaid *said, const PlhFinding *finding,
									 const PlhFoundIn *in);

/*
 * What memory contexts of a name are of; the record may be NULL.  Returns false where there is
 * nothing to say.
 */
extern bool plh_finding_evidence_say_examples(PlhSaid *said, const PlhContextRecord *record,
											  const PlhProfileImage *image);

/*
 * What limits what is in contexts of a family.  What is not in nodes of a plan has the limit of
 * one, as nothing else is known of it.
 */
extern void plh_finding_evidence_say_limit(PlhSaid *said, const PlhProfileImage *image,
										   const PlhFamily *family, int64 limit_bytes);

/*
 * What else than contexts of that family a statement holds, where that is much of what was counted.
 * Without a family, what it holds most in.
 */
extern void plh_finding_evidence_say_rest(PlhSaid *said, const PlhAccount *account,
										  const PlhFamily *told, bool alive);

/* What ends memory of that lifetime by itself. */
extern const char *plh_finding_evidence_noun(uint32 lifetime);

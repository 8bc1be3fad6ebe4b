/*
 * proof_texts.h
 *	  The texts of a proof that is made, each of which stands there once.
 */
#pragma once

typedef struct PlhProofTexts
{
	char	   *texts;
	uint32		bytes;			/* used; the first text is empty */
	uint32	   *buckets;		/* offsets; 0: none */
} PlhProofTexts;

extern bool plh_proof_texts_start(PlhProofTexts *texts);

/* The offset of a text; 0: there is no room, or it is empty. */
extern uint32 plh_proof_texts_add(PlhProofTexts *texts, const char *text);
extern uint32 plh_proof_texts_format(PlhProofTexts *texts, const char *format,...)
			pg_attribute_printf(2, 3);

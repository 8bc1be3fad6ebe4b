/*
 * proof_words.h
 *	  What chunks and holders are called in a proof.
 */
#pragma once

#include "heap/heap_kinds.h"
#include "heap/heap_roots.h"
#include "proof/proof_texts.h"

/* How a root leads to a chunk. */
typedef struct PlhProofWay
{
	const PlhHeapContexts *contexts;
	const PlhHeapTags *tags;
	const PlhHeapRoot *root;
	uintptr_t	first;			/* that the root points to */
	uintptr_t	from;			/* that points to the chunk; 0: the root does */
} PlhProofWay;

/* The name of a context, or that of malloc's blocks. */
extern void plh_proof_words_context(const PlhHeapContexts *contexts, uint32 number,
									char *text, Size room);

/* Each returns the offset of a text. */
extern uint32 plh_proof_words_kind(PlhProofTexts *texts, Size size, const PlhHeapLook *look);
extern uint32 plh_proof_words_content(PlhProofTexts *texts, const PlhHeapLook *look);
extern uint32 plh_proof_words_holder(PlhProofTexts *texts, const PlhProofWay *way);
extern uint32 plh_proof_words_path(PlhProofTexts *texts, const PlhProofWay *way);

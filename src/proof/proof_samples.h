/*
 * proof_samples.h
 *	  The live samples of the process, of chunks and of malloc's blocks, as one set.
 */
#pragma once

#include "base/sampling.h"

typedef struct PlhProofSample
{
	uintptr_t	address;
	Size		size;			/* as requested */
	PlhDraw		draw;
	uint32		site;
} PlhProofSample;

/* The next sample, from position 0 on. */
extern bool plh_proof_samples_next(uint32 *position, PlhProofSample *sample);

/* For all of them to be noted, and found again; false: there is no room. */
extern bool plh_proof_samples_start(void);
extern void plh_proof_samples_note(const PlhProofSample *sample);
extern bool plh_proof_samples_find(uintptr_t address, PlhProofSample *sample);

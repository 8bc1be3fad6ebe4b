/*
 * sql_prove.h
 *	  Has a process proven, and waits for the proof.
 */
#pragma once

#include "utils/timestamp.h"

#include "profile/proof_image.h"

/* A proof that was begun already, or is to be. */
typedef struct PlhBegunProof
{
	int64		child;			/* which makes it; not above 0: none */
	TimestampTz since;			/* it is of a moment after this */
} PlhBegunProof;

/*
 * A process that has kept too few samples for a profile gets one, if the caller may see it, and
 * begins a proof.  False, and a WARNING, if it does not answer.
 */
extern bool plh_sql_prove_introduce(int pid, PlhBegunProof *begun);

/* A proof of a moment after the call of that; NULL, and a WARNING says why. */
extern const PlhProof *plh_sql_prove(const PlhProfileImage *image, const PlhBegunProof *begun);

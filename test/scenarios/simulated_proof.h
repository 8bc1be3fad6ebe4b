/*
 * simulated_proof.h
 *	  Proofs of a simulated process: which of its chunks nothing points to, and who holds the rest.
 *
 * There are no pointers: whoever uses these says what becomes of the chunks of a site.  A chunk
 * keeps its fate.
 */
#ifndef SIMULATED_PROOF_H
#define SIMULATED_PROOF_H

#include "profile/proof_layout.h"

/* What becomes of chunks; zeros: they can be reached, and it is not known from where. */
typedef struct Fate
{
	double		lost_part;		/* of them, to which nothing points */
	double		resettable_part;	/* of these, whose context can be reset */
	const char *holder;			/* of the others, or NULL */
	const char *path;			/* from the holder to a chunk, or NULL */
}			Fate;

/* From now on that is the fate of what a site allocates, or has allocated. */
extern void simulated_fate(int who, const Fate * fate);

/* The fate of what a library has from malloc, which is not sampled. */
extern void simulated_fate_of_malloc(const Fate * fate);

/* Prove what is there now.  The proof lives until the next one, or until the process ends. */
extern void simulated_prove(void);
extern const PlhProof *simulated_proof(void);	/* NULL: there is none */

/* And the fates of sites. */
extern void simulated_forget_proof(void);

#endif							/* SIMULATED_PROOF_H */

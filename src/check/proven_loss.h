/*
 * proven_loss.h
 *	  What is lost of the chunks of each call site, by a proof: nothing points to them.
 */
#pragma once

#include "check/held_series.h"
#include "profile/proof_layout.h"

/*
 * What sites have lost and nobody can reset, in an array that "memory" has.  Without a proof (NULL)
 * it is nothing.
 */
extern PlhHeldSeries plh_proven_loss_of(const PlhProof *proof, MemoryContext memory);

/* Beside what a site has lost it holds so much more: does it so only by chance? */
extern bool plh_proven_loss_holds_by_chance(PlhHeld held, PlhHeld lost);

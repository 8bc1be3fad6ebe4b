/*
 * scenario_proof.h
 *	  What becomes of the chunks of a scenario's process, and proofs of it.
 */
#ifndef SCENARIO_PROOF_H
#define SCENARIO_PROOF_H

#include "scenario_words.h"

/* Returns false if the word is no command about proofs. */
extern bool scenario_proof_do(const char *command, Words *words);

#endif							/* SCENARIO_PROOF_H */

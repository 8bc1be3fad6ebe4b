/*
 * process_evidence.h
 *	  Why a process as a whole is a finding, or what it has outside of memory contexts.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"
#include "telling/found_in.h"
#include "telling/memory_holder.h"
#include "telling/sentences.h"

/* What is outside of contexts; one count is no growth. */
extern void plh_process_evidence_say_outside(PlhSaid *said, const PlhFinding *finding,
											 const PlhProfileImage *image);

/* The growth of a process as a whole, and what it is of. */
extern void plh_process_evidence_say_growth(PlhSaid *said, const PlhFinding *finding,
											const PlhFoundIn *in);

/* What malloc gave out outside of contexts, and what was sampled of it. */
extern void plh_process_evidence_say_malloc(PlhSaid *said, const PlhFinding *finding,
											const PlhProfileImage *image, const PlhHolder *holder);

/* What is free, and malloc keeps. */
extern void plh_process_evidence_say_freed(PlhSaid *said, const PlhFinding *finding,
										   const PlhProfileImage *image);

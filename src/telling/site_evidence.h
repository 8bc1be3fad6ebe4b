/*
 * site_evidence.h
 *	  Why a call site is a finding: what it has left, holds, or gained.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"
#include "profile/profile_image.h"
#include "telling/sentences.h"

/* What of it takes no memory, where that is much. */
extern void plh_site_evidence_say_unwritten(PlhSaid *said, const PlhFinding *finding,
											const PlhProfileImage *image);

/* What was never freed, and how fast it grew. */
extern void plh_site_evidence_say_leak(PlhSaid *said, const PlhFinding *finding,
									   const PlhProfileImage *image);

/* What is lost of it, and what else it holds. */
extern void plh_site_evidence_say_lost(PlhSaid *said, const PlhFinding *finding,
									   const PlhProfileImage *image);

/* How it grows, who holds it, and why it is not called a leak. */
extern void plh_site_evidence_say_reached(PlhSaid *said, const PlhFinding *finding,
										  const PlhProfileImage *image);

/* Growth since the baseline, and why it is not called a leak. */
extern void plh_site_evidence_say_growth(PlhSaid *said, const PlhFinding *finding, bool alive);

/* What is held, and by how many statements. */
extern void plh_site_evidence_say_held(PlhSaid *said, const PlhFinding *finding,
									   const PlhProfileImage *image);

/*
 * finding_key.h
 *	  By what it is known that a finding was seen before.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"

/*
 * The same for what a process is suspect of at one call site, in contexts of one kind, in
 * statements that are alike, or as a whole.
 */
extern uint64 plh_finding_key(const PlhFinding *finding, const PlhProfileImage *image);

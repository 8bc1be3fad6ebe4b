/*
 * finding_sites.h
 *	  The call sites of what a finding is about.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"

/*
 * All sites that hold something of what a finding on contexts or on a statement is about, over all
 * statements, the largest first; of call sites of one cause the largest; of any other finding, its
 * site, if it has one.  In the current memory context, referring to the image.
 */
extern PlhShare *plh_finding_sites(const PlhFinding *finding, const PlhProfileImage *image,
								   int *count);

/*
 * findings.h
 *	  The findings on one process, one for each cause, the largest first: sites that keep more
 *	  and more, contexts, the statement that runs, and what only the process as a whole shows.
 *
 * Nothing is described or symbolized here: that is worth while for the few sites of findings, once
 * suppressed ones are left out.  A finding is suppressed with the site that it is named after.
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"

/* Sites of one cause are one finding, as far as "causes", which may be NULL, knows them. */
extern PlhFindings *plh_findings_make(const PlhProfileImage *image, const PlhBaseline *baseline,
									  TimestampTz counted_to, const PlhCauses *causes);

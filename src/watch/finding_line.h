/*
 * finding_line.h
 *	  The line in the server's log that tells of a finding.
 *
 * Never called inside palloc.
 */
#pragma once

#include "process/log_turns.h"
#include "telling/told_finding.h"

/* "listed" is the site of the finding, described; NULL where it has none. */
extern void plh_finding_line_log(const PlhFinding *finding, const PlhListedSite *listed,
								 const PlhFoundIn *in, const PlhLogTurn *turn);

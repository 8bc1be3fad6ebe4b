/*
 * finding_advice.h
 *	  What to do next about a finding, in a few sentences.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"
#include "report/listed_site.h"
#include "telling/malloc_statement.h"
#include "telling/sentences.h"

/*
 * "named" is the site that the finding is named after, described; NULL where it is named after
 * none.  "statement" is what plh_malloc_statement_find says of it.
 */
extern void plh_finding_advice_say(PlhSaid *said, const PlhFinding *finding,
								   const PlhProfileImage *image, const PlhListedSite *named,
								   const PlhMallocStatement *statement);

/*
 * family_suspect.h
 *	  What the memory contexts of a family are suspect of: that they become more, or are many.
 *
 * Pure functions, as those of suspect.h, which has the thresholds.
 */
#pragma once

#include "judge/finding.h"
#include "judge/suspect.h"

extern bool plh_family_suspect_judge(PlhFinding *finding, const PlhFamilyAccount *family,
									 const PlhAccount *account,
									 const PlhProfileHeader *header,
									 TimestampTz now);

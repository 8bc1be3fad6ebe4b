/*
 * process_suspect.h
 *	  What a process is suspect of by the figures that it has counted over time: its memory
 *	  contexts become more, or are many, and as a whole it has memory that no call site shows.
 *
 * Pure functions, as those of suspect.h, which has the thresholds.
 */
#pragma once

#include "judge/course.h"
#include "judge/finding.h"
#include "judge/suspect.h"

extern bool plh_process_suspect_judge(PlhFinding *finding, const PlhProfileHeader *header,
									  PlhKind kind, TimestampTz now);
extern int64 plh_process_suspect_malloc_bytes(const PlhFinding *finding);
extern PlhSeries plh_process_suspect_series(PlhKind kind);
extern bool plh_process_suspect_fits_proof(PlhFinding *finding, const PlhProfileImage *image);
extern bool plh_process_suspect_misses_frees(const PlhProfileHeader *header);

extern bool plh_process_suspect_family_rests(const PlhFamilyAccount *family,
											 const PlhProfileHeader *header, TimestampTz now);

/* Its memory contexts, in which nobody may have allocated anything that was sampled. */
extern bool plh_process_suspect_judge_family(PlhFinding *finding, const PlhFamilyAccount *family,
											 const PlhAccount *account,
											 const PlhProfileHeader *header,
											 TimestampTz now);

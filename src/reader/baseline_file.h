/*
 * baseline_file.h
 *	  Takes baselines of processes, reads them, and builds those of dumps.
 *
 * Never called inside palloc.  A baseline that is returned is palloc'd in the current memory
 * context and belongs to the caller.
 */
#pragma once

#include "profile/baseline.h"
#include "profile/profile_image.h"

/* Both replace an older baseline of the process; false, with errno set, if that fails. */
extern bool plh_baseline_file_take(const char *directory, const PlhProfileImage *image);
extern bool plh_baseline_file_take_empty(const char *directory, int pid);

extern PlhBaseline *plh_baseline_file_read(const char *directory, const PlhProfileImage *image);

/* By ascending offset.  Each addition may move the baseline, and updates the pointer to it. */
extern PlhBaseline *plh_baseline_file_create(int pid);
extern void plh_baseline_file_add(PlhBaseline **baseline, uint32 site, int64 bytes, int64 count);

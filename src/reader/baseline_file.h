/*
 * baseline_file.h
 *	  Baselines: taken of processes, read from files, and put together.
 *
 * Never called inside palloc.
 */
#ifndef PLH_BASELINE_FILE_H
#define PLH_BASELINE_FILE_H

#include "profile/baseline.h"
#include "profile/profile_image.h"

extern bool plh_baseline_file_take(const char *directory,
								   const PlhProfileImage *image);
extern bool plh_baseline_file_take_empty(const char *directory, int pid);
extern PlhBaseline *plh_baseline_file_read(const char *directory,
										   const PlhProfileHeader *header);
extern PlhBaseline *plh_baseline_file_create(int pid);
extern void plh_baseline_file_add(PlhBaseline **baseline, uint32 site,
								  int64 bytes, int64 count);

#endif							/* PLH_BASELINE_FILE_H */

/*
 * baseline.h
 *	  What processes held when somebody asked to count growth from there.
 *
 * A baseline is a file beside the profile, written and read by the sessions
 * that look; its process knows nothing of it, but removes it when it exits.
 * Never called inside palloc; plh_baseline_unlink never throws.
 */
#ifndef PLH_BASELINE_H
#define PLH_BASELINE_H

#include "reader/profile_reader.h"

typedef struct PlhBaseline PlhBaseline;

extern bool plh_baseline_take(const char *directory,
							  const PlhProfileImage *image);
extern bool plh_baseline_take_empty(const char *directory, int pid);
extern PlhBaseline *plh_baseline_read(const char *directory,
									  const PlhProfileHeader *header);
extern PlhBaseline *plh_baseline_create(int pid);
extern void plh_baseline_add(PlhBaseline **baseline, uint32 site, int64 bytes,
							 int64 count);
extern int64 plh_baseline_process_bytes(const PlhBaseline *baseline);
extern void plh_baseline_site(const PlhBaseline *baseline, uint32 site,
							  int64 *bytes, int64 *count);
extern void plh_baseline_unlink(const char *directory, int pid);

#endif							/* PLH_BASELINE_H */

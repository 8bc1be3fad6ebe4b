/*
 * memory_course.h
 *	  What the private memory of a process has done over time, by its history.
 *
 * Pure functions: they allocate nothing, never throw, and call nothing of the
 * server.  The figures may be damaged ones.
 */
#ifndef PLH_MEMORY_COURSE_H
#define PLH_MEMORY_COURSE_H

#include "profile/profile_layout.h"

/*
 * Memory that has changed by less than the larger of these has not changed: a
 * process takes and gives back as much from one statement to the next.
 */
#define PLH_COURSE_NOISE_BYTES INT64CONST(1048576)
#define PLH_COURSE_NOISE_PART 0.02

/* Memory that has not changed for as long as this rests. */
#define PLH_COURSE_REST_US INT64CONST(10000000)

typedef struct PlhMemoryCourse
{
	int64		bytes;			/* now */
	TimestampTz now;

	/* Since when it has been like that; "now" if it changes. */
	TimestampTz rests_since;

	/*
	 * By how much it had grown until then, without a fall in between, and
	 * since when; 0 if it had not.
	 */
	int64		grown_bytes;
	TimestampTz grown_since;

	/* By how much it is less than it was once, and when; 0 if it is not. */
	int64		fallen_bytes;
	TimestampTz fallen_since;
} PlhMemoryCourse;

extern bool plh_memory_course_follow(PlhMemoryCourse *course,
									 const PlhProfileHeader *header,
									 int64 bytes, TimestampTz now);
extern bool plh_memory_course_rests(const PlhMemoryCourse *course);

#endif							/* PLH_MEMORY_COURSE_H */

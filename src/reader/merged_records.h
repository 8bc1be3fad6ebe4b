/*
 * merged_records.h
 *	  Finds records of a profile that say the same, so that there is one of them.
 *
 * Never called inside palloc.
 */
#ifndef PLH_MERGED_RECORDS_H
#define PLH_MERGED_RECORDS_H

#include "reader/profile_builder.h"

/* A record that others may say the same as. */
typedef struct PlhMergedRecord
{
	uint32		offset;			/* key: where it is in the profile */
	uint32		site;			/* the caller's, of a site; 0 at first */
	uint32		hash;			/* of what it says, for simplehash.h */
	char		status;			/* for simplehash.h */
} PlhMergedRecord;

/* simplehash.h defines the table. */
typedef struct merged_records_hash PlhMergedRecords;

/* They belong to the current memory context. */
extern PlhMergedRecords *plh_merged_records_create(PlhProfileBuilder *profile);

/*
 * "added" is the offset of the record that was added to the profile last.  The
 * result is valid until the next call.
 */
extern PlhMergedRecord *plh_merged_records_keep(PlhMergedRecords *records,
												uint32 added, bool *is_new);

#endif							/* PLH_MERGED_RECORDS_H */

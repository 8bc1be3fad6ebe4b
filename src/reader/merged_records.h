/*
 * merged_records.h
 *	  Finds records of a profile that say the same, so that there is one of them.
 *
 * Never called inside palloc.
 */
#ifndef PLH_MERGED_RECORDS_H
#define PLH_MERGED_RECORDS_H

#include "reader/profile_builder.h"

/* simplehash.h defines the table. */
typedef struct merged_records_hash PlhMergedRecords;

/* They belong to the current memory context. */
extern PlhMergedRecords *plh_merged_records_create(PlhProfileBuilder *profile);

/*
 * "added" is the offset of the record that was added to the profile last; so is the
 * result, of the record that stays.
 */
extern uint32 plh_merged_records_keep(PlhMergedRecords *records, uint32 added);

#endif							/* PLH_MERGED_RECORDS_H */

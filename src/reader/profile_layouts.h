/*
 * profile_layouts.h
 *	  Reads profiles of other layouts than ours: of the one before, and of ours
 *	  with headers and records of other sizes.
 *
 * Trusts nothing: a profile may have been made by anybody.  Never called inside
 * palloc.
 */
#ifndef PLH_PROFILE_LAYOUTS_H
#define PLH_PROFILE_LAYOUTS_H

#include "profile/baseline.h"
#include "profile/profile_layout.h"

/* The oldest layout that is read. */
#define PLH_OLDEST_LAYOUT 7

/* Where the records of a profile that was converted have gone. */
typedef struct PlhMovedRecords
{
	uint32		count;			/* of the offsets, in steps of 8 bytes */
	uint32	   *offsets;		/* new ones, by old offset / 8; 0: no record */
} PlhMovedRecords;

/* Is that a profile, of a layout that can be read?  Only the start is looked at. */
extern bool plh_profile_layouts_are_known(const PlhProfileHeader *header);

/*
 * Give a header that was read as ours, with what stood behind it, the layout of
 * ours.  What it did not have is 0.
 */
extern void plh_profile_layouts_convert_header(PlhProfileHeader *header);

/* Let no text of a header go beyond its room. */
extern void plh_profile_layouts_end_texts(PlhProfileHeader *header);

/*
 * Convert "bytes" bytes of a profile.  Returns them, or a palloc'd copy.
 * "moved" becomes NULL where nothing has moved.
 */
extern PlhProfileHeader *plh_profile_layouts_convert(PlhProfileHeader *header,
													 Size *bytes,
													 PlhMovedRecords **moved);

/* Let a baseline refer to the records of a profile that was converted. */
extern void plh_profile_layouts_convert_baseline(PlhBaseline *baseline,
												 const PlhMovedRecords *moved);

#endif							/* PLH_PROFILE_LAYOUTS_H */

/*
 * account.h
 *	  What a process' own memory is made of, to the byte where it is counted.
 *
 * Memory contexts are added up by family, those of the session apart from those that end with a
 * statement or transaction.  Never called inside palloc.
 */
#pragma once

#include "judge/family.h"
#include "profile/profile_image.h"

/* The contexts of a family, as of the last census. */
typedef struct PlhFamilyAccount
{
	const PlhFamily *family;	/* NULL: of one name that is not known */
	const PlhContextRecord *largest;	/* of its names, that with most bytes */
	const char *largest_name;	/* of these, in the process' encoding */
	const PlhContextRecord *exemplified;	/* the largest of those with
											 * examples; NULL: none has */
	bool		lasting;		/* they end no sooner than the session */
	int64		bytes;
	int64		contexts;
	int64		rises;			/* censuses with more contexts than ever */
	TimestampTz first_at;		/* of the first census that counted some */

	/*
	 * What there was in the middle of that time, and at three quarters;
	 * interpolated.
	 */
	TimestampTz early_at;
	int64		early_bytes;
	int64		early_contexts;
	TimestampTz late_at;
	int64		late_bytes;
	int64		late_contexts;
} PlhFamilyAccount;

typedef struct PlhAccount
{
	bool		is_counted;		/* there was a census; else all is 0 */
	bool		knows_malloc;
	int64		own_bytes;
	int64		context_bytes;
	int64		lasting_bytes;	/* of these, of contexts of the session */
	int64		passing_bytes;	/* and of others */
	int64		outside_bytes;	/* given out by malloc beside contexts */
	int64		freed_bytes;	/* and kept by malloc */
	int64		other_bytes;	/* mapped by others, ours included; negative
								 * where some was never touched */
	int			family_count;
	PlhFamilyAccount *families; /* the largest first */
} PlhAccount;

extern PlhAccount *plh_account_make(const PlhProfileImage *image);
extern int64 plh_account_peak_bound(const PlhProfileHeader *header);
extern const char *plh_account_title(const PlhFamilyAccount *account, const PlhProfileImage *image);
extern const char *plh_account_name(const PlhFamilyAccount *account, const PlhProfileImage *image);

/* How much of some bytes was not written to, at least. */
typedef enum PlhUnwritten
{
	PLH_UNWRITTEN_LITTLE,
	PLH_UNWRITTEN_PART,
	PLH_UNWRITTEN_MOST
} PlhUnwritten;

extern int64 plh_account_unwritten_bytes(const PlhProfileHeader *header);
extern int64 plh_account_gained_outside(const PlhProfileHeader *header, int64 own_bytes);
extern PlhUnwritten plh_account_unwritten_of(int64 bytes, const PlhProfileHeader *header);

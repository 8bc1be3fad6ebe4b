/*
 * unwritten.c
 *	  What a process has allocated and not written to, which takes no memory yet.
 */
#include "postgres.h"

#include "judge/unwritten.h"

/* A part as large as this is worth a word. */
#define WORTH_PART 8

/*
 * All that the process has from malloc, free or not.  The figures of a hostile profile
 * may be too large to be added up as int64.
 */
static double
allocated_bytes(const PlhProfileHeader *header)
{
	return (double) Max(header->context_bytes, header->malloc_bytes) +
		(double) Max(0, header->malloc_free_bytes);
}

/*
 * How much of all that there was had not been written to at the last count; 0 where that
 * is not known.
 */
int64
plh_unwritten_bytes(const PlhProfileHeader *header)
{
	double		bytes = allocated_bytes(header) - (double) header->own_bytes;

	if (header->census_at == 0 || header->malloc_bytes < 0 || bytes <= 0)
		return 0;
	return (int64) Min(bytes, (double) (PG_INT64_MAX / 2));
}

/*
 * How much of what a suspect holds that was, at least.  Whatever else the process has may
 * be what was not written to.
 */
static double
least_bytes(const PlhSuspectFacts *facts, const PlhProfileHeader *header)
{
	return header->census_at == 0 ? 0 :
		Min((double) facts->live_bytes, allocated_bytes(header)) - (double) header->own_bytes;
}

/* Was most of what a suspect holds not written to?  It takes no memory then. */
bool
plh_unwritten_is_most(const PlhSuspectFacts *facts, const PlhProfileHeader *header)
{
	return facts->live_bytes > 0 &&
		least_bytes(facts, header) >= (double) facts->live_bytes / 2;
}

/* "most" or "part" of it was not, or NULL. */
const char *
plh_unwritten_part(const PlhSuspectFacts *facts, const PlhProfileHeader *header)
{
	double		bytes = least_bytes(facts, header);

	if (plh_unwritten_is_most(facts, header))
		return "most";
	return bytes <= 0 || bytes < (double) facts->live_bytes / WORTH_PART ? NULL : "part";
}

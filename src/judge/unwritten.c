/*
 * unwritten.c
 *	  What a process has allocated and not written to, which takes no memory yet.
 */
#include "postgres.h"

#include "judge/unwritten.h"

/* A part as large as this is worth a word. */
#define WORTH_PART 8

/*
 * All that the process has from malloc, free or not.  The figures of a hostile profile may be too
 * large to be added up as int64.
 */
static double
allocated_bytes(const PlhProfileHeader *header)
{
	return (double) Max(header->context_bytes, header->malloc_bytes) +
		(double) Max(0, header->malloc_free_bytes);
}

/*
 * How much of all that there was had not been written to at the last count; 0 where that is not
 * known.
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
 * How much of what a finding is about that was, at least.  Whatever else the process has may be
 * what was not written to.
 */
static double
least_bytes(const PlhFinding *finding, const PlhProfileHeader *header)
{
	return header->census_at == 0 ? 0 :
		Min((double) finding->bytes, allocated_bytes(header)) - (double) header->own_bytes;
}

/* How much that is; what was not written to takes no memory. */
PlhUnwritten
plh_unwritten_of(const PlhFinding *finding, const PlhProfileHeader *header)
{
	double		bytes = least_bytes(finding, header);

	if (finding->bytes > 0 && bytes >= (double) finding->bytes / 2)
		return PLH_UNWRITTEN_MOST;
	return bytes > 0 && bytes >= (double) finding->bytes / WORTH_PART ?
		PLH_UNWRITTEN_PART : PLH_UNWRITTEN_LITTLE;
}

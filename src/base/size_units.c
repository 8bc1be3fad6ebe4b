/*
 * size_units.c
 *	  Sizes with a unit, as pg_size_pretty writes them.
 *
 * The server's own function pallocs, and may throw for lack of memory: a process
 * that exits must do neither.
 */
#include "postgres.h"

#include "base/size_units.h"

/* A size is shown in the first unit of which it has fewer than these. */
#define MOST_UNITS (10 * 1024)

static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};

/*
 * Write a size, negative ones included.  Beyond bytes, it is counted in halves of
 * the unit, so that the last step rounds.
 */
PlhSizeText
plh_size_units(int64 bytes)
{
	PlhSizeText size;
	int64		halves = bytes / 512;
	int			unit = 0;

	if (bytes > -MOST_UNITS && bytes < MOST_UNITS)
	{
		snprintf(size.text, sizeof(size.text), "%lld bytes", (long long) bytes);
		return size;
	}
	while (unit < lengthof(units) - 1 &&
		   (halves <= -(2 * MOST_UNITS - 1) || halves >= 2 * MOST_UNITS - 1))
	{
		halves /= 1024;
		unit++;
	}
	snprintf(size.text, sizeof(size.text), "%lld %s",
			 (long long) ((halves + (halves < 0 ? -1 : 1)) / 2), units[unit]);
	return size;
}

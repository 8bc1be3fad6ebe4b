/*
 * size_units.c
 *	  Sizes with a unit, as pg_size_pretty writes them.
 *
 * The server's own function pallocs, and may throw for lack of memory: a process that exits must do
 * neither.
 */
#include "postgres.h"

#include "base/plural.h"
#include "base/size_units.h"

/* A size is shown in the first unit of which it has fewer than these. */
#define MOST_UNITS (10 * 1024)

static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};

/* The unit that a size is shown in: its index, or -1 for bytes. */
static int
unit_of(int64 bytes)
{
	int64		halves = bytes / 512;
	int			unit = 0;

	if (bytes > -MOST_UNITS && bytes < MOST_UNITS)
		return -1;
	while (unit < lengthof(units) - 1 &&
		   (halves <= -(2 * MOST_UNITS - 1) || halves >= 2 * MOST_UNITS - 1))
	{
		halves /= 1024;
		unit++;
	}
	return unit;
}

/* Write a number of units, which are bytes if that is -1. */
static PlhSizeText
write_units(int64 number, int unit)
{
	PlhSizeText size;

	snprintf(size.text, sizeof(size.text), "%lld %s", (long long) number,
			 unit >= 0 ? units[unit] : plh_plural(number, "byte", "bytes"));
	return size;
}

/*
 * Write a size, negative ones included.  Beyond bytes, it is counted in halves of the unit, so that
 * the last step rounds.
 */
PlhSizeText
plh_size_units(int64 bytes)
{
	int			unit = unit_of(bytes);
	int64		halves;

	if (unit < 0)
		return write_units(bytes, unit);
	halves = bytes / (INT64CONST(512) << (10 * unit));
	return write_units((halves + (halves < 0 ? -1 : 1)) / 2, unit);
}

/* Write an error bound in its estimate's unit, rounded up, as it would be no bound otherwise. */
PlhSizeText
plh_size_units_error(int64 error_bytes, int64 bytes)
{
	int			unit = unit_of(bytes);
	int64		one = INT64CONST(1) << (10 * (unit + 1));

	return write_units(error_bytes / one + (error_bytes % one > 0), unit);
}

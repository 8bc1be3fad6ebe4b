/*
 * test_size_units.c
 *	  Sizes with a unit: those that pg_size_pretty gives.
 */
#include "postgres.h"

#include "base/size_units.h"
#include "unit_tests.h"

#define KB INT64CONST(1024)
#define MB (1024 * KB)

/* A size, and what pg_size_pretty makes of it, but for "1 bytes". */
typedef struct Pretty
{
	int64		bytes;
	const char *text;
} Pretty;

/* Each unit begins where half of the last step rounds up to it. */
static const Pretty pretty[] = {
	{0, "0 bytes"},
	{1, "1 byte"},
	{10239, "10239 bytes"},
	{10240, "10 kB"},
	{10751, "10 kB"},
	{10752, "11 kB"},
	{10485247, "10239 kB"},
	{10485248, "10 MB"},
	{10736893951, "10239 MB"},
	{10736893952, "10 GB"},
	{INT64CONST(10994579406847), "10239 GB"},
	{INT64CONST(10994579406848), "10 TB"},
	{PG_INT64_MAX, "8192 PB"},
	{-10239, "-10239 bytes"},
	{-10240, "-10 kB"},
	{-10485248, "-10 MB"}
};

/* An estimate, its error, and how that is written beside it. */
typedef struct Bounded
{
	int64		bytes;
	int64		error_bytes;
	const char *text;
} Bounded;

static const Bounded bounded[] = {
	{0, 0, "0 bytes"},
	{1, 1, "1 byte"},
	{10239, 20000, "20000 bytes"},
	{10240, 1, "1 kB"},
	{10240, 1024, "1 kB"},
	{10485248, 0, "0 MB"},
	{10485248, 7302144, "7 MB"},
	{419430400, 7302144, "7 MB"},
	{419430400, 6291457, "7 MB"},
	{INT64CONST(10994579406848), PG_INT64_MAX, "8388608 TB"}
};

void
test_size_units(void)
{
	for (int i = 0; i < lengthof(pretty); i++)
		ok(strcmp(plh_size_units(pretty[i].bytes).text, pretty[i].text) == 0,
		   psprintf("a size is written as %s", pretty[i].text));
	for (int i = 0; i < lengthof(bounded); i++)
		ok(strcmp(plh_size_units_error(bounded[i].error_bytes,
									   bounded[i].bytes).text,
				  bounded[i].text) == 0,
		   psprintf("an error of %s is written as %s",
					plh_size_units(bounded[i].bytes).text, bounded[i].text));
}

/*
 * test_size_units.c
 *	  Sizes with a unit: those that pg_size_pretty gives.
 */
#include "postgres.h"

#include "base/size_units.h"
#include "unit_tests.h"

/* A size, and what pg_size_pretty makes of it. */
typedef struct Pretty
{
	int64		bytes;
	const char *text;
}			Pretty;

/* Each unit begins where half of the last step rounds up to it. */
static const Pretty pretty[] = {
	{0, "0 bytes"},
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

void
test_size_units(void)
{
	for (int i = 0; i < lengthof(pretty); i++)
		ok(strcmp(plh_size_units(pretty[i].bytes).text, pretty[i].text) == 0,
		   pretty[i].text);
}

/*
 * test_dump_worth.c
 *	  Which processes are worth a dump after a crash, and what they held.
 */
#include "postgres.h"

#include "dump/dump_worth.h"
#include "profile/profile_image.h"
#include "unit_tests.h"

#define MB ((int64) 1024 * 1024)

double		plh_dump_min_bytes = 1.0 * MB;
double		plh_dump_min_peak = 256.0 * MB;

static const struct
{
	const char *name;
	PlhProfileHeader header;
	bool		after_crash;
}			cases[] =

{
	{"a process that holds little is not worth a dump", {.peak_bytes = 255 * MB}, false},
	{"a process that holds much is worth a dump",
		{.counters = {.live_bytes = 2 * MB,.live_count = 2,.live_samples = 2}},
	true},
	{"a process that once held much is worth a dump", {.own_peak_bytes = 256 * MB}, true},
	{"a process with many bytes in contexts is worth a dump",
		{.census_at = 1,.context_bytes = 256 * MB,.malloc_bytes = -1},
	true},
	{"a process with many bytes from malloc is worth a dump", {.census_at = 1,.malloc_bytes = 256 * MB}, true},
	{"bytes of contexts do not count twice beside malloc's",
		{.census_at = 1,.context_bytes = 200 * MB,.malloc_bytes = 210 * MB},
	false},
	{"figures of no census are not worth a dump", {.context_bytes = 256 * MB}, false},
	{"a process that was killed is worth a dump", {.death = {.at = 1,.kind = PLH_DEATH_SIGNAL,.number = 9}},
	true},
	{"a process that failed is worth a dump", {.death = {.at = 1,.kind = PLH_DEATH_EXIT_CODE,.number = 2}},
	true},
	{"a process that went down with another is not worth a dump",
		{.death = {.at = 1,.kind = PLH_DEATH_WITH_PROCESS,.number = 4711}},
	false},
	{"a process that died nobody knows how is not worth a dump", {.death = {.at = 1}}, false}
};

/* What was counted, what samples stood for then and later, and what that makes. */
static const struct
{
	const char *name;
	PlhProfileHeader header;
	int64		bytes;
	int64		gained_bytes;
	bool		is_exact;
}			held_cases[] =

{
	{"a process that was never counted held what its samples say",
		{.counters = {.live_bytes = 9 * MB,.live_samples = 9,.live_variance = MB * MB}},
	9 * MB, 9 * MB, false},
	{"a process held what was counted, if its samples say the same",
		{.census_at = 1,.context_bytes = 385 * MB,.malloc_bytes = 386 * MB,.passing_sampled_bytes = 370 * MB,.lasting_sampled_bytes = 8 * MB,.malloc_sampled_bytes = MB,.counters = {.live_bytes = 379 * MB,.live_samples = 379,.live_variance = MB * MB}},
	386 * MB, 0, true},
	{"a process held what was counted, and what its samples gained since",
		{.census_at = 1,.context_bytes = 385 * MB,.malloc_bytes = -1,.passing_sampled_bytes = 370 * MB,.lasting_sampled_bytes = 8 * MB,.malloc_sampled_bytes = MB,.counters = {.live_bytes = 394 * MB,.live_samples = 394,.live_variance = MB * MB}},
	400 * MB, 15 * MB, false},
	{"a process did not hold what its samples lost since the count",
		{.census_at = 1,.context_bytes = 385 * MB,.passing_sampled_bytes = 370 * MB,.counters = {.live_bytes = 70 * MB,.live_samples = 70,.live_variance = MB * MB}},
	85 * MB, -300 * MB, false},
	{"samples may lose more than was counted",
		{.census_at = 1,.context_bytes = 300 * MB,.passing_sampled_bytes = 370 * MB},
	0, -370 * MB, true}
};

void
test_dump_worth(void)
{
	for (int i = 0; i < lengthof(held_cases); i++)
	{
		PlhHeldBytes held = plh_profile_image_held_bytes(&held_cases[i].header);

		ok(held.bytes == held_cases[i].bytes &&
		   held.gained_bytes == held_cases[i].gained_bytes &&
		   (held.error_bytes == 0) == held_cases[i].is_exact,
		   held_cases[i].name);
	}
	for (int i = 0; i < lengthof(cases); i++)
		ok(plh_dump_worth_after_crash(&cases[i].header) == cases[i].after_crash,
		   cases[i].name);
}

/*
 * test_dump_worth.c
 *	  Which processes a dump is worth while of, at an exit and after a crash.
 */
#include "postgres.h"

#include "dump/dump.c"
#include "unit_tests.h"

#define MB ((int64) 1024 * 1024)

double		plh_dump_min_bytes = 1.0 * MB;
double		plh_dump_min_peak = 256.0 * MB;
int			plh_dump_keep;

/* No dump is written here. */
int
plh_dump_directory_make(void)
{
	return ENOENT;
}

int
plh_dump_directory_highest(int pid, int *highest)
{
	return ENOENT;
}

int
plh_dump_directory_trim(const char *reason, int keep)
{
	return 0;
}

void
plh_dump_directory_temporary(char *path, Size bytes, uint32 number)
{
}

int
plh_dump_writer_write(int fd, const PlhProfileImage *image,
					  const PlhDumpExtras *extras, uint32 *live_sites)
{
	return ENOSYS;
}

int
pg_fsync(int fd)
{
	return 0;
}

static const struct
{
	const char *name;
	PlhProfileHeader header;
	bool		at_exit;
	bool		after_crash;
}			cases[] =

{
	{"a process that holds little", {.peak_bytes = 255 * MB}, false, false},
	{"one that holds much",
		{.counters = {.live_bytes = 2 * MB,.live_count = 2,.live_samples = 2}},
	true, true},
	{"one that once held much", {.own_peak_bytes = 256 * MB}, true, true},
	{"one that held much when it last counted its contexts",
		{.census_at = 1,.context_bytes = 256 * MB,.malloc_bytes = -1},
	false, true},
	{"or malloc", {.census_at = 1,.malloc_bytes = 256 * MB}, false, true},
	{"contexts have theirs from malloc, and do not count twice",
		{.census_at = 1,.context_bytes = 200 * MB,.malloc_bytes = 210 * MB},
	false, false},
	{"figures of no census", {.context_bytes = 256 * MB}, false, false},
	{"one that was killed", {.death = {.at = 1,.kind = PLH_DEATH_SIGNAL,.number = 9}},
	false, true},
	{"one that failed", {.death = {.at = 1,.kind = PLH_DEATH_EXIT_CODE,.number = 2}},
	false, true},
	{"one that went down with it",
		{.death = {.at = 1,.kind = PLH_DEATH_WITH_PROCESS,.number = 4711}},
	false, false},
	{"one that died nobody knows how", {.death = {.at = 1}}, false, false}
};

void
test_dump_worth(void)
{
	for (int i = 0; i < lengthof(cases); i++)
		ok(plh_dump_is_worth_while(&cases[i].header) == cases[i].at_exit &&
		   plh_dump_is_worth_while_after_crash(&cases[i].header) ==
		   cases[i].after_crash, cases[i].name);
}

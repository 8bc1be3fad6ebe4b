/*
 * growth_dump.c
 *	  Dump files of a process that grows, in case it is killed for growing.
 *
 * The process itself writes the dumps, inside the palloc by which it has
 * grown.  Nothing may be reported there, so that a failure becomes a bare line
 * on stderr.  The files are not synced: they should survive the process, and
 * need not survive a crash of the machine.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "storage/ipc.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "dump/dump.h"
#include "dump/growth_dump.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"

/* The pause after a dump lasts this long, or this many times the dump. */
#define PAUSE_US ((int64) 1000 * 1000)
#define PAUSE_FACTOR 100

/*
 * What the process held at the last dump, by its samples and by the kernel's count
 * in the last census, and the earliest time of the next.
 */
static int64 dumped_live_bytes;
static int64 dumped_own_bytes;
static int64 next_at_us;
static bool reported;

/* Returns the meaning of an errno, without the catalogs of translations. */
static const char *
error_text(int number)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
	const char *text = strerrordesc_np(number);

	if (text != NULL)
		return text;
#endif
	return number == ENOSPC ? "No space left on device" : "system error";
}

/* Report, only once, that a dump could not be written. */
static void
report_on_stderr(const PlhDumpResult *result)
{
	char		line[PLH_PATH_MAX + 256];
	int			length;

	if (reported)
		return;
	reported = true;
	length = snprintf(line, sizeof(line),
					  "WARNING:  process %d could not write dump file \"%s\": %s (%d)\n",
					  (int) getpid(), result->path, error_text(result->failure), result->failure);
	if (write(STDERR_FILENO, line, Min(length, (int) sizeof(line) - 1)) < 0)
		return;					/* a failure of stderr can't be reported */
}

/*
 * Write a dump if the process has grown by pg_leakhunt.dump_growth since the
 * last one.
 */
void
plh_growth_dump_if_due(void)
{
	const PlhDumpExtras extras = {.reason = "growth"};
	int64		live_bytes = plh_profile->counters.live_bytes;
	int64		own_bytes = plh_profile->own_bytes;
	PlhDumpResult result;
	int64		start;
	int64		end;

	Assert(CritSectionCount == 0);

	/* if memory was freed, growth counts from the lower level */
	dumped_live_bytes = Min(dumped_live_bytes, live_bytes);
	dumped_own_bytes = Min(dumped_own_bytes, own_bytes);
	if (plh_dump_growth == 0 || proc_exit_inprogress ||
		Max(live_bytes - dumped_live_bytes,
			own_bytes - dumped_own_bytes) < plh_dump_growth)
		return;
	start = plh_clock_us(CLOCK_MONOTONIC);
	if (start < next_at_us)
		return;
	if (!plh_dump_write(plh_profile_image_own(plh_profile), &extras, false,
						&result))
		report_on_stderr(&result);
	end = plh_clock_us(CLOCK_MONOTONIC);
	dumped_live_bytes = live_bytes;
	dumped_own_bytes = own_bytes;
	next_at_us = end + Max(PAUSE_US, PAUSE_FACTOR * (end - start));
}

/*
 * Forget the dumps in a forked child: they are the parent's.
 */
PLH_EVERY_PROCESS void
plh_growth_dump_forget(void)
{
	dumped_live_bytes = 0;
	dumped_own_bytes = 0;
	next_at_us = 0;
	reported = false;
	plh_dump_forget();
}

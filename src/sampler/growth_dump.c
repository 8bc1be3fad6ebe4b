/*
 * growth_dump.c
 *	  Dump files of a process that grows, in case it is killed for growing.
 *
 * The process itself writes the dumps, inside the palloc by which it has grown.  Nothing may be
 * reported there, so that a failure becomes a bare line on stderr.  The files are not synced: they
 * should survive the process, and need not survive a crash of the machine.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "storage/ipc.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "profile/dump_copy.h"
#include "profile/dump_names.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "sampler/growth_dump.h"

/* The pause after a dump lasts this long, or this many times the dump. */
#define PAUSE_US ((int64) 1000 * 1000)
#define PAUSE_FACTOR 100

/* About the last dump, which a forked child has not written. */
static struct
{
	int64		live_bytes;		/* what the process held, by its samples */
	int64		own_bytes;		/* by the kernel's count in the last census */
	int64		next_at_us;		/* the earliest time of the next */
	bool		reported;		/* a failure was */
}			state;

/* What an errno means, without the catalogs of translations. */
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

static void
report_on_stderr(const PlhDumpResult *result)
{
	char		line[PLH_PATH_MAX + 256];
	int			length;

	if (state.reported)
		return;
	state.reported = true;
	length = snprintf(line, sizeof(line),
					  "WARNING:  process %d could not write dump file \"%s\": %s (%d)\n",
					  (int) getpid(), result->path, error_text(result->failure), result->failure);
	if (write(STDERR_FILENO, line, Min(length, (int) sizeof(line) - 1)) < 0)
		return;					/* a failure of stderr can't be reported */
}

/*
 * Remove this process' dump of dump_keep before, if it was one of growth, with its text.  Others
 * look after the directory (dump/dump_retention.h), but nobody may come by.
 */
static void
remove_former(int sequence)
{
	PlhDumpName name = {
		.pid = (int) getpid(),
		.sequence = sequence - plh_dump_keep,
		.reason = "growth"
	};
	char		path[PLH_PATH_MAX];

	if (name.sequence <= 0)
		return;
	for (int text = 0; text <= 1; text++)
	{
		name.is_text = text != 0;
		plh_dump_names_path(path, sizeof(path), &name);
		(void) unlink(path);
	}
}

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
	state.live_bytes = Min(state.live_bytes, live_bytes);
	state.own_bytes = Min(state.own_bytes, own_bytes);
	if (plh_dump_growth == 0 || proc_exit_inprogress ||
		Max(live_bytes - state.live_bytes, own_bytes - state.own_bytes) < plh_dump_growth)
		return;
	start = plh_clock_us(CLOCK_MONOTONIC);
	if (start < state.next_at_us)
		return;
	if (!plh_dump_copy_write(plh_profile_image_own(plh_profile), &extras, &result))
		report_on_stderr(&result);
	else
		remove_former(result.sequence);
	end = plh_clock_us(CLOCK_MONOTONIC);
	state.live_bytes = live_bytes;
	state.own_bytes = own_bytes;
	state.next_at_us = end + Max(PAUSE_US, PAUSE_FACTOR * (end - start));
}

PLH_EVERY_PROCESS void
plh_growth_dump_forget(void)
{
	memset(&state, 0, sizeof(state));
	plh_dump_copy_forget();
}

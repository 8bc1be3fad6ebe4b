/*
 * moment.c
 *	  Of which moment the figures of a process are.
 */
#include "postgres.h"

#include "judge/course.h"
#include "telling/moment.h"

/* A count of so long ago is current: of a process that is asked, it is younger. */
#define MOMENT_US USECS_PER_SEC

static bool
is_counted(const PlhExplainedProcess *process)
{
	return process->image != NULL && process->image->header->census_at != 0;
}

static bool
is_young(const PlhExplainedProcess *process)
{
	return process->now - process->image->header->census_at <= MOMENT_US;
}

/* What the kernel says now, less what it said at the count; 0 where that is next to nothing. */
static int64
changed_bytes(const PlhExplainedProcess *process)
{
	int64		gained = process->rss_anon_bytes - process->image->header->own_bytes;

	return Max(gained, -gained) < Max(PLH_COURSE_NOISE_BYTES,
									  PLH_COURSE_NOISE_PART * process->rss_anon_bytes) ? 0 : gained;
}

static bool
is_idle(const PlhExplainedProcess *process)
{
	return process->state != NULL && strncmp(process->state, "idle", 4) == 0;
}

TimestampTz
plh_moment_idle_since(const PlhExplainedProcess *process)
{
	return is_idle(process) ? process->state_since : process->now;
}

/* Has it done nothing since?  A session counts when it becomes idle. */
static bool
rests_since_count(const PlhExplainedProcess *process)
{
	return is_idle(process) &&
		process->state_since - process->image->header->census_at <= MOMENT_US &&
		changed_bytes(process) == 0;
}

bool
plh_moment_is_now(const PlhExplainedProcess *process)
{
	if (!is_counted(process) || !process->image->alive || process->rss_anon_bytes < 0)
		return false;
	return is_young(process) || rests_since_count(process);
}

/* A figure that is a little younger than the parts would not be their sum. */
int64
plh_moment_own_bytes(const PlhExplainedProcess *process)
{
	if (process->rss_anon_bytes >= 0 && !(plh_moment_is_now(process) && is_young(process)))
		return process->rss_anon_bytes;
	return is_counted(process) ? process->image->header->own_bytes : -1;
}

int64
plh_moment_gained_bytes(const PlhExplainedProcess *process)
{
	return !is_counted(process) || !process->image->alive || process->rss_anon_bytes < 0 ||
		plh_moment_is_now(process) ? 0 : changed_bytes(process);
}

bool
plh_moment_has_lost(const PlhExplainedProcess *process, int64 bytes)
{
	return plh_moment_gained_bytes(process) < 0 && bytes > process->rss_anon_bytes;
}

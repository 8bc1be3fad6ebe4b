/*
 * baseline.c
 *	  The live figures of a process at the time from which growth is counted.
 *
 * This code runs inside palloc, as dumps tell the growth.
 *
 * The file baseline.PID has the live figures of each site in ascending order of the site's offset
 * in the profile.  The record there may have been used again since: reader/baseline_file.c sees to
 * that.  baseline.0 records only when a baseline of all processes was taken.  A process that has no
 * file of its own, and whose first sample is later, has allocated everything it holds since then.
 */
#include "postgres.h"

#include <unistd.h>

#include "base/limits.h"
#include "base/page_layout.h"
#include "profile/baseline.h"

/* Every exit needs this: it lies beside other variables, so that no page of constants is read. */
static const char path_format[] = "%s/baseline.%d";

/* Make the path of the baseline of a process or, for pid 0, of all processes. */
PLH_EVERY_PROCESS void
plh_baseline_path(char *path, Size bytes, const char *directory, int pid)
{
	snprintf(path, bytes, path_format, directory, pid);
}

Size
plh_baseline_bytes(const PlhBaseline *baseline)
{
	return offsetof(PlhBaseline, sites) + sizeof(PlhBaselineSite) * (Size) baseline->site_count;
}

/* Is this, as "bytes" bytes of a file, the whole baseline of that process? */
bool
plh_baseline_is_sound(const PlhBaseline *baseline, Size bytes, int pid)
{
	return bytes >= offsetof(PlhBaseline, sites) &&
		memcmp(baseline->magic, PLH_BASELINE_MAGIC, sizeof(baseline->magic)) == 0 &&
		baseline->pid == pid &&
		baseline->site_count == (bytes - offsetof(PlhBaseline, sites)) / sizeof(PlhBaselineSite);
}

/* What the site at an offset held at the baseline; 0 if the profile did not have it yet. */
void
plh_baseline_site(const PlhBaseline *baseline, uint32 site, int64 *bytes, int64 *count)
{
	uint32		low = 0;
	uint32		high = baseline->site_count;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (baseline->sites[middle].site < site)
			low = middle + 1;
		else
			high = middle;
	}
	*bytes = *count = 0;
	if (low < baseline->site_count && baseline->sites[low].site == site)
	{
		*bytes = baseline->sites[low].live_bytes;
		*count = baseline->sites[low].live_count;
	}
}

/* The pid of the process whose baseline has that name; 0 if it is of all processes, or none. */
int
plh_baseline_pid(const char *name)
{
	const char *start = "baseline.";

	return strncmp(name, start, strlen(start)) == 0 ? atoi(name + strlen(start)) : 0;
}

PLH_EVERY_PROCESS void
plh_baseline_unlink(const char *directory, int pid)
{
	char		path[PLH_PATH_MAX];

	plh_baseline_path(path, sizeof(path), directory, pid);
	(void) unlink(path);
}

/*
 * baseline_file.c
 *	  Takes baselines of processes, reads them, and builds those of dumps.
 *
 * A baseline gets its name only when it is complete, so that a reader never
 * meets a part of one.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/limits.h"
#include "base/process_facts.h"
#include "base/whole_io.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "reader/baseline_file.h"

/*
 * Write a baseline under a temporary name, then give it its own.  Returns
 * false, with errno set, if that fails; the former baseline is still there
 * then.
 */
static bool
write_baseline(const char *directory, const PlhBaseline *baseline)
{
	Size		bytes = offsetof(PlhBaseline, sites) +
		sizeof(PlhBaselineSite) * baseline->site_count;
	char		path[PLH_PATH_MAX];
	char		temporary[PLH_PATH_MAX];
	int			failure;
	int			fd;

	plh_baseline_path(path, sizeof(path), directory, baseline->pid);
	snprintf(temporary, sizeof(temporary), "%s/tmp.baseline.%d", directory,
			 MyProcPid);
	fd = OpenTransientFile(temporary,
						   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | PG_BINARY);
	if (fd < 0)
		return false;
	failure = plh_whole_io_write(fd, baseline, bytes, 0) ? 0 : errno;
	if (CloseTransientFile(fd) != 0 && failure == 0)
		failure = errno;
	if (failure == 0 && rename(temporary, path) != 0)
		failure = errno;
	if (failure == 0)
		return true;
	(void) unlink(temporary);
	errno = failure;
	return false;
}

/*
 * Take the baseline of a process: what each of its sites holds in the image.
 * Returns false, with errno set, if the baseline could not be written.
 */
bool
plh_baseline_file_take(const char *directory, const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	Size		room = header->used_bytes / sizeof(PlhSiteRecord) + 1;
	PlhBaseline *baseline = palloc0(offsetof(PlhBaseline, sites) +
									sizeof(PlhBaselineSite) * room);
	const PlhSiteRecord *site;
	uint32		position = 0;
	bool		written;

	memcpy(baseline->magic, PLH_BASELINE_MAGIC, sizeof(baseline->magic));
	baseline->pid = header->pid;
	baseline->process_start = header->process_start;
	baseline->taken_at = GetCurrentTimestamp();
	baseline->live_bytes = header->counters.live_bytes;
	while (baseline->site_count < room &&
		   (site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		PlhBaselineSite *entry = &baseline->sites[baseline->site_count++];

		entry->site = plh_profile_image_offset(image, site);
		entry->live_bytes = site->counters.live_bytes;
		entry->live_count = site->counters.live_count;
	}
	written = write_baseline(directory, baseline);
	pfree(baseline);
	return written;
}

/*
 * Take the baseline of a process without a profile: it has no sites, so that
 * all bytes that are sampled later count as growth.  With pid 0, note that a
 * baseline of all processes was taken.  Returns false, with errno set, on
 * failure.
 */
bool
plh_baseline_file_take_empty(const char *directory, int pid)
{
	PlhBaseline baseline = {{0}};

	memcpy(baseline.magic, PLH_BASELINE_MAGIC, sizeof(baseline.magic));
	baseline.pid = pid;
	baseline.process_start = pid == 0 ? 0 : plh_process_facts_start_ticks(pid);
	baseline.taken_at = GetCurrentTimestamp();
	return write_baseline(directory, &baseline);
}

/* Read the file for a pid; NULL if it is missing or not a sound baseline. */
static PlhBaseline *
read_file(const char *directory, int pid)
{
	char		path[PLH_PATH_MAX];
	PlhBaseline *baseline = NULL;
	struct stat status;
	int			fd;

	plh_baseline_path(path, sizeof(path), directory, pid);
	fd = OpenTransientFile(path, O_RDONLY | O_NOFOLLOW | PG_BINARY);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
		status.st_size >= offsetof(PlhBaseline, sites) &&
		status.st_size < MaxAllocSize)
	{
		baseline = palloc(status.st_size);
		if (plh_whole_io_read(fd, baseline, status.st_size, 0) != status.st_size ||
			!plh_baseline_is_sound(baseline, status.st_size, pid))
		{
			pfree(baseline);
			baseline = NULL;
		}
	}
	CloseTransientFile(fd);
	return baseline;
}

/*
 * Read the baseline of the process with that profile; NULL if it has none.  A
 * process whose first sample is younger than the baseline of all processes
 * needs no file of its own: it held nothing then.
 */
PlhBaseline *
plh_baseline_file_read(const char *directory, const PlhProfileHeader *header)
{
	PlhBaseline *baseline = read_file(directory, header->pid);

	/* an earlier process with this pid may have left its baseline */
	if (baseline != NULL && baseline->process_start != header->process_start)
	{
		pfree(baseline);
		baseline = NULL;
	}
	if (baseline == NULL)
	{
		baseline = read_file(directory, 0);
		if (baseline != NULL && header->counters.first_at < baseline->taken_at)
		{
			pfree(baseline);
			baseline = NULL;
		}
	}
	return baseline;
}

/*
 * Make a baseline without sites in memory.
 */
PlhBaseline *
plh_baseline_file_create(int pid)
{
	PlhBaseline *baseline = palloc0(offsetof(PlhBaseline, sites));

	memcpy(baseline->magic, PLH_BASELINE_MAGIC, sizeof(baseline->magic));
	baseline->pid = pid;
	return baseline;
}

/*
 * Add a site, and what it held, to a baseline that plh_baseline_file_create
 * has made.
 */
void
plh_baseline_file_add(PlhBaseline **baseline, uint32 site, int64 bytes,
					  int64 count)
{
	uint32		number = (*baseline)->site_count;
	PlhBaselineSite *added;

	Assert(number == 0 || (*baseline)->sites[number - 1].site < site);
	/* the room is always a power of two: when it is full, double it */
	if ((number & (number - 1)) == 0)
		*baseline = repalloc_huge(*baseline,
								  offsetof(PlhBaseline, sites) +
								  sizeof(PlhBaselineSite) *
								  Max(2 * (Size) number, 1));
	added = &(*baseline)->sites[number];
	added->site = site;
	added->unused = 0;
	added->live_bytes = bytes;
	added->live_count = count;
	(*baseline)->live_bytes += bytes;
	(*baseline)->site_count++;
}

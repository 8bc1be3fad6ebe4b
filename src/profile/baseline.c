/*
 * baseline.c
 *	  What processes held when somebody asked to count growth from there.
 *
 * The file baseline.PID has the live figures of each site, by its offset in
 * the profile, which never changes, in ascending order.  baseline.0 only says
 * when a baseline of all processes was taken: what a process without a file of
 * its own holds was all allocated since, if its first sample is younger.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "process/process.h"
#include "profile/baseline.h"
#include "reader/server_processes.h"

#define BASELINE_MAGIC "PLHBASE1"

typedef struct BaselineSite
{
	uint32		site;			/* offset in the profile */
	uint32		unused;
	int64		live_bytes;
	int64		live_count;
} BaselineSite;

struct PlhBaseline
{
	char		magic[8];
	int32		pid;			/* 0: of all processes, without sites */
	uint32		site_count;
	uint64		process_start;
	TimestampTz taken_at;
	int64		live_bytes;		/* of the process */
	BaselineSite sites[FLEXIBLE_ARRAY_MEMBER];
};

static void
baseline_path(char *path, Size bytes, const char *directory, int pid)
{
	snprintf(path, bytes, "%s/baseline.%d", directory, pid);
}

/* Write a baseline as a file that is complete when it gets its name. */
static bool
write_baseline(const char *directory, const PlhBaseline *baseline)
{
	Size		bytes = offsetof(PlhBaseline, sites) +
		sizeof(BaselineSite) * baseline->site_count;
	char		path[MAXPGPATH + 32];
	char		temporary[MAXPGPATH + 32];
	bool		written;
	int			fd;

	baseline_path(path, sizeof(path), directory, baseline->pid);
	snprintf(temporary, sizeof(temporary), "%s/tmp.baseline.%d", directory,
			 MyProcPid);
	fd = OpenTransientFile(temporary,
						   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | PG_BINARY);
	if (fd < 0)
		return false;
	errno = 0;
	written = write(fd, baseline, bytes) == (ssize_t) bytes;
	if (!written && errno == 0)
		errno = ENOSPC;
	if (CloseTransientFile(fd) != 0 || !written ||
		rename(temporary, path) != 0)
	{
		int			saved_errno = errno;

		(void) unlink(temporary);
		errno = saved_errno;
		return false;
	}
	return true;
}

/*
 * Take the baseline of a process.  Returns false, with errno set, if it could
 * not be written.
 */
bool
plh_baseline_take(const char *directory, const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	Size		room = header->used_bytes / sizeof(PlhSiteRecord) + 1;
	PlhBaseline *baseline = palloc0(offsetof(PlhBaseline, sites) +
									sizeof(BaselineSite) * room);
	const PlhSiteRecord *site;
	uint32		position = 0;
	bool		written;

	memcpy(baseline->magic, BASELINE_MAGIC, sizeof(baseline->magic));
	baseline->pid = header->pid;
	baseline->process_start = header->process_start;
	baseline->taken_at = GetCurrentTimestamp();
	baseline->live_bytes = header->counters.live_bytes;
	while (baseline->site_count < room &&
		   (site = plh_profile_reader_next_site(image, &position)) != NULL)
	{
		BaselineSite *entry = &baseline->sites[baseline->site_count++];

		entry->site = (const char *) site - (const char *) header;
		entry->live_bytes = site->counters.live_bytes;
		entry->live_count = site->counters.live_count;
	}
	written = write_baseline(directory, baseline);
	pfree(baseline);
	return written;
}

/*
 * Take the baseline of a process without a profile, which holds nothing that
 * we know of; or, with pid 0, note that one of all processes was taken.
 */
bool
plh_baseline_take_empty(const char *directory, int pid)
{
	PlhBaseline baseline = {{0}};

	memcpy(baseline.magic, BASELINE_MAGIC, sizeof(baseline.magic));
	baseline.pid = pid;
	baseline.process_start = pid == 0 ? 0 : plh_server_processes_start_ticks(pid);
	baseline.taken_at = GetCurrentTimestamp();
	return write_baseline(directory, &baseline);
}

/* Read a file; NULL where it is not there, or not a whole baseline. */
static PlhBaseline *
read_file(const char *directory, int pid)
{
	char		path[MAXPGPATH + 32];
	PlhBaseline *baseline = NULL;
	struct stat status;
	int			fd;

	baseline_path(path, sizeof(path), directory, pid);
	fd = OpenTransientFile(path, O_RDONLY | O_NOFOLLOW | PG_BINARY);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
		status.st_size >= offsetof(PlhBaseline, sites) &&
		status.st_size < MaxAllocSize)
	{
		baseline = palloc(status.st_size);
		if (read(fd, baseline, status.st_size) != status.st_size ||
			memcmp(baseline->magic, BASELINE_MAGIC,
				   sizeof(baseline->magic)) != 0 ||
			baseline->pid != pid ||
			baseline->site_count != (status.st_size -
									 offsetof(PlhBaseline, sites)) /
			sizeof(BaselineSite))
		{
			pfree(baseline);
			baseline = NULL;
		}
	}
	CloseTransientFile(fd);
	return baseline;
}

/*
 * The baseline of the process with that profile, in the current memory context;
 * NULL if there is none.
 */
PlhBaseline *
plh_baseline_read(const char *directory, const PlhProfileHeader *header)
{
	PlhBaseline *baseline = read_file(directory, header->pid);

	/* that of another process, which had this pid before */
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
 * A baseline in memory, without sites: they are added in the order of their
 * offsets.
 */
PlhBaseline *
plh_baseline_create(int pid)
{
	PlhBaseline *baseline = palloc0(offsetof(PlhBaseline, sites));

	memcpy(baseline->magic, BASELINE_MAGIC, sizeof(baseline->magic));
	baseline->pid = pid;
	return baseline;
}

/*
 * Add a site to a baseline made by plh_baseline_create, which may move.
 */
void
plh_baseline_add(PlhBaseline **baseline, uint32 site, int64 bytes, int64 count)
{
	uint32		number = (*baseline)->site_count;
	BaselineSite *added;

	/* there is room for the next power of two */
	if ((number & (number - 1)) == 0)
		*baseline = repalloc_huge(*baseline, offsetof(PlhBaseline, sites) +
								  sizeof(BaselineSite) * Max(2 * (Size) number, 1));
	added = &(*baseline)->sites[number];
	added->site = site;
	added->unused = 0;
	added->live_bytes = bytes;
	added->live_count = count;
	(*baseline)->live_bytes += bytes;
	(*baseline)->site_count++;
}

/*
 * Live bytes of the process at the baseline.
 */
int64
plh_baseline_process_bytes(const PlhBaseline *baseline)
{
	return baseline->live_bytes;
}

/*
 * Live figures of the site at that offset at the baseline; 0 if it was not
 * there yet.
 */
void
plh_baseline_site(const PlhBaseline *baseline, uint32 site, int64 *bytes,
				  int64 *count)
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

/*
 * The process is gone: so is its baseline.
 */
void
plh_baseline_unlink(const char *directory, int pid)
{
	char		path[MAXPGPATH + 32];

	baseline_path(path, sizeof(path), directory, pid);
	(void) unlink(path);
}

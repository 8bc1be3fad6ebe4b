/*
 * baseline_file.c
 *	  Takes baselines of processes, reads them, and builds those of dumps.
 *
 * A baseline gets its name only when it is complete, so that a reader never meets a part of one.
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
#include "profile/shared_directory.h"
#include "reader/baseline_file.h"
#include "reader/collections.h"

/* Returns false, with errno set, on failure; the former baseline is still there then. */
static bool
write_baseline(const char *directory, const PlhBaseline *baseline)
{
	Size		bytes = plh_baseline_bytes(baseline);
	char		path[PLH_PATH_MAX];
	char		temporary[PLH_PATH_MAX];
	int			failure;
	int			fd;

	/* the directory may have to be made again */
	if (plh_shared_directory_make(directory) != PLH_DIRECTORY_FINE ||
		!plh_shared_directory_has_room(directory, bytes, PLH_ROOM_RECORDS))
		return false;
	plh_baseline_path(path, sizeof(path), directory, baseline->pid);
	snprintf(temporary, sizeof(temporary), "%s/tmp.baseline.%d", directory, MyProcPid);
	fd = OpenTransientFile(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | PG_BINARY);
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

bool
plh_baseline_file_take(const char *directory, const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;

	/* not by used_bytes, which may be any number in a copy of a file */
	Size		room = image->bytes / sizeof(PlhSiteRecord) + 1;
	PlhBaseline *baseline = palloc0(offsetof(PlhBaseline, sites) + sizeof(PlhBaselineSite) * room);
	const PlhSiteRecord *site;
	uint32		position = 0;
	bool		written;

	memcpy(baseline->magic, PLH_BASELINE_MAGIC, sizeof(baseline->magic));
	baseline->pid = header->pid;
	baseline->process_start = header->process_start;
	baseline->taken_at = GetCurrentTimestamp();
	baseline->live_bytes = header->counters.live_bytes;
	baseline->round = header->round;
	if (!plh_profile_image_is_whole(header))
		baseline->seen_bytes = image->bytes;
	while (baseline->site_count < room &&
		   (site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		PlhBaselineSite *entry = &baseline->sites[baseline->site_count++];

		entry->site = plh_profile_image_offset(image, site);
		entry->stack = site->key.stack;
		entry->context_name = site->key.context_name;
		entry->lifetime = site->key.lifetime;
		entry->live_bytes = site->counters.live_bytes;
		entry->live_count = site->counters.live_count;
	}
	written = write_baseline(directory, baseline);
	pfree(baseline);
	return written;
}

/*
 * Take the baseline of a process without a profile: it has no sites, so that all bytes that are
 * sampled later count as growth.  With pid 0, note that a baseline of all processes was taken.
 */
bool
plh_baseline_file_take_empty(const char *directory, int pid)
{
	PlhBaseline baseline = {{0}};

	memcpy(baseline.magic, PLH_BASELINE_MAGIC, sizeof(baseline.magic));
	baseline.pid = pid;
	baseline.process_start = pid == 0 ? 0 : plh_process_facts_start_ticks(pid);
	if (baseline.process_start == PLH_TICKS_UNKNOWN)
		return false;
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
	/* nobody waits for the writer of a FIFO, which is no baseline */
	fd = OpenTransientFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | PG_BINARY);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
		status.st_size >= offsetof(PlhBaseline, sites) && status.st_size < MaxAllocSize)
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

/* A site without a statement: those that were given up have one as their heir. */
typedef struct Heir
{
	PlhSiteKey	key;
	uint32		site;			/* offset */
} Heir;

/* Comparator for qsort and bsearch: of keys, with which heirs begin, too. */
static int
compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(PlhSiteKey));
}

#define ST_SORT sort_entries
#define ST_ELEMENT_TYPE PlhBaselineSite
#define ST_COMPARE(a, b) \
	((a)->site < (b)->site ? -1 : (a)->site > (b)->site ? 1 : 0)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Is the site that an entry is about still there? */
static bool
is_there(const PlhProfileImage *image, const PlhBaseline *baseline, const PlhBaselineSite *entry)
{
	const PlhSiteRecord *site = plh_profile_image_site(image, entry->site);

	return site != NULL && site->record.born <= baseline->round;
}

/* The sites of an image that may be heirs, in the order of their keys. */
static Heir *
list_heirs(const PlhProfileImage *image, int *count)
{
	const PlhSiteRecord *site;
	uint32		position = 0;
	int			room = 64;
	Heir	   *heirs = palloc(sizeof(Heir) * room);

	*count = 0;
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		if (site->key.statement != 0)
			continue;
		heirs = plh_array_grow(heirs, *count, &room, sizeof(Heir));
		heirs[*count].key = site->key;
		heirs[(*count)++].site = plh_profile_image_offset(image, site);
	}
	qsort(heirs, *count, sizeof(Heir), compare_keys);
	return heirs;
}

/* Returns its offset, or 0. */
static uint32
find_heir(const Heir *heirs, int count, const PlhSiteKey *key)
{
	const Heir *heir = bsearch(key, heirs, count, sizeof(Heir), compare_keys);

	return heir == NULL ? 0 : heir->site;
}

/* What a site takes in the file. */
#define SITE_BYTES TYPEALIGN(PLH_RECORD_STEP, sizeof(PlhSiteRecord))

/* Does an entry's stack still have its offset?  Another one may be there by now. */
static bool
has_stack(const PlhProfileImage *image, const PlhBaseline *baseline, const PlhBaselineSite *entry)
{
	const PlhStackRecord *stack = plh_profile_image_stack(image, entry->stack);

	return entry->stack <= PLH_FORMER_STACKS ||
		(stack != NULL && stack->record.born <= baseline->round);
}

/*
 * The offset of the site that has the totals of one that was given up.  What only the owner sees is
 * at the catch-all site.
 */
static uint32
heir_of(const PlhProfileImage *image, const PlhBaseline *baseline,
		const Heir *heirs, int count, const PlhBaselineSite *entry)
{
	PlhSiteKey	key = {
		.stack = entry->stack,
		.context_name = entry->context_name,
		.lifetime = entry->lifetime
	};
	uint32		site = 0;

	if (entry->site + SITE_BYTES <= image->bytes)
	{
		if (has_stack(image, baseline, entry))
			site = find_heir(heirs, count, &key);
		key.stack = PLH_FORMER_STACKS;
		if (site == 0)
			site = find_heir(heirs, count, &key);
	}
	return site != 0 ? site : image->header->catch_all_site;
}

/* Add up entries of the same site, which stand next to each other. */
static void
merge_entries(PlhBaseline *baseline)
{
	PlhBaselineSite *sites = baseline->sites;
	uint32		kept = 0;

	for (uint32 i = 0; i < baseline->site_count; i++)
	{
		if (kept > 0 && sites[kept - 1].site == sites[i].site)
		{
			sites[kept - 1].live_bytes += sites[i].live_bytes;
			sites[kept - 1].live_count += sites[i].live_count;
		}
		else
			sites[kept++] = sites[i];
	}
	baseline->site_count = kept;
}

/*
 * Returns the baseline with entries of the sites that are seen now, and were an unpublished part
 * when it was taken.  How much each of them held then is not known: as much as now, and the
 * catch-all site, which stood for them, has the difference.
 */
static PlhBaseline *
add_unseen(PlhBaseline *baseline, const PlhProfileImage *image)
{
	const PlhSiteRecord *site;
	uint32		position = 0;
	PlhBaselineSite rest = {.site = image->header->catch_all_site};
	Size		room = baseline->site_count + image->bytes / sizeof(PlhSiteRecord) + 1;

	baseline = repalloc_huge(baseline, offsetof(PlhBaseline, sites) +
							 sizeof(PlhBaselineSite) * (room + 1));
	while (baseline->site_count < room &&
		   (site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		PlhBaselineSite *entry = &baseline->sites[baseline->site_count];
		uint32		offset = plh_profile_image_offset(image, site);

		if (offset + site->record.bytes <= baseline->seen_bytes ||
			site->record.born > baseline->round)
			continue;
		memset(entry, 0, sizeof(*entry));
		entry->site = offset;
		entry->live_bytes = site->counters.live_bytes;
		entry->live_count = site->counters.live_count;
		rest.live_bytes -= entry->live_bytes;
		rest.live_count -= entry->live_count;
		baseline->site_count++;
	}
	baseline->sites[baseline->site_count++] = rest;
	return baseline;
}

/*
 * Let the sites that were given up since a baseline was taken have held there what they held as
 * parts of their heirs: what they held is gone, and must count as freed where it was allocated.
 * Returns the baseline, which may have moved.
 */
static PlhBaseline *
settle(PlhBaseline *baseline, const PlhProfileImage *image)
{
	Heir	   *heirs = NULL;
	int			count = 0;
	uint32		seen_count = baseline->site_count;

	if (baseline->seen_bytes != 0 && baseline->seen_bytes < image->bytes)
		baseline = add_unseen(baseline, image);

	for (uint32 i = 0; i < seen_count; i++)
	{
		PlhBaselineSite *entry = &baseline->sites[i];

		if (is_there(image, baseline, entry))
			continue;
		if (heirs == NULL)
			heirs = list_heirs(image, &count);
		entry->site = heir_of(image, baseline, heirs, count, entry);
	}
	if (heirs == NULL && baseline->site_count == seen_count)
		return baseline;
	if (heirs != NULL)
		pfree(heirs);
	sort_entries(baseline->sites, baseline->site_count);
	merge_entries(baseline);
	return baseline;
}

/*
 * Read the baseline of the process with that profile; NULL if it has none.  A process whose first
 * sample is younger than the baseline of all processes needs no file of its own: it held nothing
 * then.  The image may be one of the header only, and then the sites of the baseline are of no use.
 */
PlhBaseline *
plh_baseline_file_read(const char *directory, const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
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
	if (baseline != NULL && image->bytes > sizeof(PlhProfileHeader))
		baseline = settle(baseline, image);
	return baseline;
}

PlhBaseline *
plh_baseline_file_create(int pid)
{
	PlhBaseline *baseline = palloc0(offsetof(PlhBaseline, sites));

	memcpy(baseline->magic, PLH_BASELINE_MAGIC, sizeof(baseline->magic));
	baseline->pid = pid;
	return baseline;
}

void
plh_baseline_file_add(PlhBaseline **baseline, uint32 site, int64 bytes, int64 count)
{
	uint32		number = (*baseline)->site_count;
	PlhBaselineSite added = {.site = site,.live_bytes = bytes,.live_count = count};

	Assert(number == 0 || (*baseline)->sites[number - 1].site < site);
	/* the room is always a power of two: when it is full, double it */
	if ((number & (number - 1)) == 0)
		*baseline = repalloc_huge(*baseline, offsetof(PlhBaseline, sites) +
								  sizeof(PlhBaselineSite) *
								  Max(2 * (Size) number, 1));
	(*baseline)->sites[number] = added;
	(*baseline)->live_bytes += bytes;
	(*baseline)->site_count++;
}

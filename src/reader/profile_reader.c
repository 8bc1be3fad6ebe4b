/*
 * profile_reader.c
 *	  Reads the profiles of all processes of this server, dead or alive, into
 *	  images.
 *
 * A file is read into private memory, not mapped: nobody who shortens it can
 * give us a SIGBUS, and bytes that have been checked do not change.  The owner
 * writes meanwhile, so counters of one row may be a moment apart.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "base/limits.h"
#include "base/process_facts.h"
#include "base/whole_io.h"
#include "profile/profile_image.h"
#include "reader/profile_reader.h"

/* Read "bytes" of a file from its start; false if it has fewer. */
static bool
read_start(int fd, void *buffer, Size bytes)
{
	return plh_whole_io_read(fd, buffer, bytes, 0) == (ssize_t) bytes;
}

/* Was this header written by this version of pg_leakhunt and of the server? */
static bool
is_profile(const PlhProfileHeader *header, Size file_bytes)
{
	return memcmp(header->magic, PLH_PROFILE_MAGIC,
				  sizeof(header->magic)) == 0 &&
		header->layout_version == PLH_LAYOUT_VERSION &&
		header->pg_version / 10000 == PG_VERSION_NUM / 10000 &&
		header->used_bytes >= sizeof(PlhProfileHeader) &&
		header->used_bytes <= file_bytes;
}

/*
 * Read an open file into an image.  Returns NULL if the file is not a profile
 * of this version, or belongs to another user.
 */
static PlhProfileImage *
read_image(int fd, const char *path, bool header_only)
{
	struct stat status;
	PlhProfileHeader start;
	PlhProfileHeader *header;
	PlhProfileImage *image;
	Size		bytes;

	/* in this order: the file may grow in between, but never shrinks */
	if (!read_start(fd, &start, sizeof(start)) ||
		fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
		status.st_uid != geteuid() ||
		!is_profile(&start, status.st_size))
		return NULL;

	bytes = header_only ? sizeof(PlhProfileHeader) : start.used_bytes;
	header = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	if (!read_start(fd, header, bytes))
		return NULL;
	header->label[sizeof(header->label) - 1] = '\0';

	image = palloc0(sizeof(PlhProfileImage));
	image->alive = header->process_start != 0 &&
		header->process_start == plh_process_facts_start_ticks(header->pid);
	strlcpy(image->path, path, sizeof(image->path));
	plh_profile_image_adopt(image, header, bytes);
	return image;
}

/* Has the owner removed the file since we opened it? */
static bool
is_unlinked(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_nlink == 0;
}

/*
 * Read the image of a file.  Returns NULL if the file is gone, if it is not a
 * profile, which is a WARNING, or if it is not of the process "pid", unless
 * that is 0.
 */
static PlhProfileImage *
open_image(const char *path, int pid, bool header_only)
{
	PlhProfileImage *image;
	bool		exited;
	int			fd = OpenTransientFile(path,
									   O_RDONLY | O_NOFOLLOW | PG_BINARY);

	/* a process that exits removes its profile at any time */
	if (fd < 0)
		return NULL;
	image = read_image(fd, path, header_only);

	/* it has exited cleanly while we were reading: this is not a crash */
	exited = image != NULL && !image->alive && is_unlinked(fd);
	CloseTransientFile(fd);
	if (image == NULL)
		ereport(WARNING,
				(errmsg("ignoring file \"%s\" in the directory of the profiles",
						last_dir_separator(path) + 1),
				 errdetail("It is not a profile of this version of pg_leakhunt.")));
	return image == NULL || exited ||
		(pid != 0 && image->header->pid != pid) ? NULL : image;
}

/* Read one file in a memory context of its own, and let "visit" have it. */
static void
visit_file(const char *path, int pid, bool header_only,
		   PlhProfileVisitor visit, void *arg)
{
	MemoryContext file_context = AllocSetContextCreate(CurrentMemoryContext,
													   "pg_leakhunt profile image",
													   ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(file_context);
	PlhProfileImage *image = open_image(path, pid, header_only);

	if (image != NULL)
		visit(image, arg);
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(file_context);
}

/*
 * Call "visit" with the image of each profile in the directory, or only with
 * those of "pid" if it is not 0.  With "header_only" the images have no
 * records.
 */
void
plh_profile_reader_each(const char *directory, int pid, bool header_only,
						PlhProfileVisitor visit, void *arg)
{
	DIR		   *dir = AllocateDir(directory);
	struct dirent *entry;
	char		path[PLH_PATH_MAX];

	/* LOG, not ERROR: a directory that is gone has no profiles */
	while ((entry = ReadDirExtended(dir, directory, LOG)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();

		/* PID, or PID.SECONDS of a dead process whose pid was used again */
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
			(pid != 0 && atoi(entry->d_name) != pid))
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		visit_file(path, pid, header_only, visit, arg);
	}
	FreeDir(dir);
}

/*
 * Read the profile of the process with that pid, the last one if several
 * processes have had it.
 */
PlhProfileImage *
plh_profile_reader_find(const char *directory, int pid)
{
	char		path[PLH_PATH_MAX];

	/* a new owner renames the profile of a dead process with its pid */
	snprintf(path, sizeof(path), "%s/%d", directory, pid);
	return open_image(path, pid, false);
}

/*
 * dump.c
 *	  Heap files: their names, how they come to be, and how many are kept.
 *
 * A file is written under a temporary name, checked, synced and renamed, so
 * that none is ever seen half-written.  No palloc and no ERROR in this file.
 */
#include "postgres.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "miscadmin.h"
#include "storage/fd.h"

#include "dump.h"
#include "dump_writer.h"
#include "settings.h"

/* The parts of "PID.SEQ.REASON.heap"; false if the name has another form. */
static bool
parse_name(const char *name, int *pid, int *sequence)
{
	int			end = 0;

	return sscanf(name, "%d.%d.%*[a-z].heap%n", pid, sequence, &end) == 2 &&
		end > 0 && name[end] == '\0';
}

/*
 * Is that the name of a dump file?
 */
bool
plh_dump_is_name(const char *name)
{
	int			pid;
	int			sequence;

	return parse_name(name, &pid, &sequence);
}

/* The first sequence number that no file of that pid has. */
static int
next_sequence(int dump_pid)
{
	DIR		   *dir = opendir(plh_fixed.dump_directory);
	struct dirent *entry;
	int			highest = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
	{
		int			pid;
		int			sequence;

		if (parse_name(entry->d_name, &pid, &sequence) && pid == dump_pid)
			highest = Max(highest, sequence);
	}
	if (dir != NULL)
		closedir(dir);
	return highest + 1;
}

/* Is "left" older than "right"? */
static bool
is_older(const struct stat *left, const struct stat *right)
{
	if (left->st_mtim.tv_sec != right->st_mtim.tv_sec)
		return left->st_mtim.tv_sec < right->st_mtim.tv_sec;
	return left->st_mtim.tv_nsec < right->st_mtim.tv_nsec;
}

/* Number of dump files, and the path of the oldest. */
static int
count_dumps(char *oldest, Size oldest_size)
{
	DIR		   *dir = opendir(plh_fixed.dump_directory);
	struct dirent *entry;
	struct stat oldest_status = {0};
	int			count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
	{
		char		path[MAXPGPATH + NAME_MAX];
		struct stat status;
		int			pid;
		int			sequence;

		snprintf(path, sizeof(path), "%s/%s", plh_fixed.dump_directory,
				 entry->d_name);
		if (!parse_name(entry->d_name, &pid, &sequence) ||
			lstat(path, &status) != 0 || !S_ISREG(status.st_mode))
			continue;
		if (count++ == 0 || is_older(&status, &oldest_status))
		{
			strlcpy(oldest, path, oldest_size);
			oldest_status = status;
		}
	}
	if (dir != NULL)
		closedir(dir);
	return count;
}

/* Remove the oldest files beyond dump_keep; returns an errno or 0. */
static int
remove_old_dumps(void)
{
	char		oldest[MAXPGPATH + NAME_MAX];

	while (count_dumps(oldest, sizeof(oldest)) > plh_dump_keep)
	{
		if (unlink(oldest) != 0 && errno != ENOENT)
			return errno;
	}
	return 0;
}

/* Sync the directory, so that the new name is safe, too. */
static void
sync_directory(void)
{
	int			fd = open(plh_fixed.dump_directory, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void) pg_fsync(fd);
	close(fd);
}

/* Write, sync if wanted, and close a new file; returns an errno or 0. */
static int
write_file(const char *path, const PlhProfileImage *image,
		   const PlhDumpExtras *extras, bool sync, uint32 *sites)
{
	int			failure;
	int			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW |
						  O_CLOEXEC, S_IRUSR | S_IWUSR);

	if (fd < 0)
		return errno;
	failure = plh_dump_writer_write(fd, image, extras, sites);
	if (failure == 0 && sync && pg_fsync(fd) != 0)
		failure = errno;
	if (close(fd) != 0 && failure == 0)
		failure = errno;
	return failure;
}

/*
 * Write a dump of the image; the reason becomes part of its name.  Returns
 * whether it was written; its path, or else what went wrong, is in "result".
 * Not synced, it survives its process, but not a crash of the machine.
 */
bool
plh_dump_write(const PlhProfileImage *image, const PlhDumpExtras *extras,
			   bool sync, PlhDumpResult *result)
{
	char		temporary[MAXPGPATH + 64];
	int			pid = image->header->pid;

	if (mkdir(plh_fixed.dump_directory, pg_dir_create_mode) != 0 &&
		errno != EEXIST)
	{
		strlcpy(result->path, plh_fixed.dump_directory, sizeof(result->path));
		result->failure = errno;
		return false;
	}

	snprintf(result->path, sizeof(result->path), "%s/%d.%d.%s.heap",
			 plh_fixed.dump_directory, pid, next_sequence(pid),
			 extras->reason);
	snprintf(temporary, sizeof(temporary), "%s/%d.tmp",
			 plh_fixed.dump_directory, (int) getpid());
	result->removal_failure = 0;
	result->failure = write_file(temporary, image, extras, sync,
								 &result->sites);
	if (result->failure == 0 && rename(temporary, result->path) != 0)
		result->failure = errno;
	if (result->failure != 0)
	{
		unlink(temporary);
		return false;
	}
	if (sync)
		sync_directory();
	result->removal_failure = remove_old_dumps();
	return true;
}

/*
 * Report what plh_dump_write failed to do: a dump that could not be written at
 * that level, old ones that could not be removed as a WARNING.
 */
void
plh_dump_report(const PlhDumpResult *result, int level)
{
	if (result->failure != 0)
	{
		errno = result->failure;
		ereport(level,
				(errcode_for_file_access(),
				 errmsg("could not write dump file \"%s\": %m",
						result->path)));
	}
	else if (result->removal_failure != 0)
	{
		errno = result->removal_failure;
		ereport(WARNING,
				(errcode_for_file_access(),
				 errmsg("could not remove old dump files in \"%s\": %m",
						plh_fixed.dump_directory)));
	}
}

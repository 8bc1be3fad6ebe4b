/*
 * dump.c
 *	  Writes a dump file and gives it its name.
 *
 * A dump is written under a temporary name, checked, synced and renamed, so
 * that nobody ever sees half of one.  It never takes the name of another dump.
 *
 * plh_dump_write runs inside palloc, too.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "base/limits.h"
#include "base/settings.h"
#include "dump/dump.h"
#include "dump/dump_directory.h"
#include "dump/dump_writer.h"

/* Sequence numbers to try: a concurrent writer may take each one first. */
#define MAX_ATTEMPTS 1000

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

/* This process' last dump of itself has this number; 0: there is none yet. */
static int	own_sequence;

/* Sync the directory, so that the new name survives a crash, too. */
static void
sync_directory(void)
{
	int			fd = open(plh_fixed.dump_directory, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void) pg_fsync(fd);
	close(fd);
}

/* Write, sync if wanted, and close a new file.  Returns an errno or 0. */
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

/* Rename a file, unless the new name is taken.  Returns an errno or 0. */
static int
rename_if_free(const char *from, const char *to)
{
	if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to,
				RENAME_NOREPLACE) == 0)
		return 0;
	/* not all file systems know the flag */
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	return rename(from, to) == 0 ? 0 : errno;
}

/* Choose the number of a dump of that process.  Returns an errno or 0. */
static int
choose_sequence(int pid, int *sequence)
{
	int			failure = 0;

	*sequence = pid == (int) getpid() ? own_sequence : 0;
	if (*sequence == 0)
		failure = plh_dump_directory_highest(pid, sequence);
	(*sequence)++;
	return failure;
}

/*
 * Give a complete file its name, and enter the name into the result.  Other
 * processes may write dumps of the same process.  Returns an errno or 0.
 */
static int
name_file(const char *temporary, int pid, const char *reason,
		  PlhDumpResult *result)
{
	int			sequence;
	int			failure = choose_sequence(pid, &sequence);

	for (int i = 0; i < MAX_ATTEMPTS; i++, sequence++)
	{
		snprintf(result->path, sizeof(result->path), "%s/%d.%d.%s.heap",
				 plh_fixed.dump_directory, pid, sequence, reason);
		if (failure == 0)
			failure = rename_if_free(temporary, result->path);
		if (failure != EEXIST)
			break;
		failure = 0;
	}
	if (failure == 0 && pid == (int) getpid())
		own_sequence = sequence;
	return failure;
}

/*
 * Write a dump of the image.  The reason becomes part of the dump's name.
 * Returns whether the dump was written; "result" has its path, or the error.
 * A dump that is not synced survives its process, but not a crash of the
 * machine.
 */
bool
plh_dump_write(const PlhProfileImage *image, const PlhDumpExtras *extras,
			   bool sync, PlhDumpResult *result)
{
	char		temporary[PLH_PATH_MAX];

	Assert(CritSectionCount == 0);
	result->removal_failure = 0;
	strlcpy(result->path, plh_fixed.dump_directory, sizeof(result->path));
	result->failure = plh_dump_directory_make();
	if (result->failure != 0)
		return false;

	snprintf(temporary, sizeof(temporary), "%s/%d.tmp",
			 plh_fixed.dump_directory, (int) getpid());
	strlcpy(result->path, temporary, sizeof(result->path));
	result->failure = write_file(temporary, image, extras, sync,
								 &result->sites);
	if (result->failure == 0)
		result->failure = name_file(temporary, image->header->pid,
									extras->reason, result);
	if (result->failure != 0)
	{
		unlink(temporary);
		return false;
	}
	if (sync)
		sync_directory();
	result->removal_failure = plh_dump_directory_trim(plh_dump_keep);
	return true;
}

/*
 * Forget the dumps in a forked child: they are the parent's.
 */
void
plh_dump_forget(void)
{
	own_sequence = 0;
}

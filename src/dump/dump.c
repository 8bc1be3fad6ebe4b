/*
 * dump.c
 *	  Writes a dump file and gives it its name.
 *
 * A dump is written under a temporary name, checked and renamed, so that nobody
 * ever sees half of one.  It never takes the name of another dump.
 *
 * A dump is synced only where nobody waits for it.  What is not synced may be
 * missing or incomplete after a crash of the machine, which has taken all
 * processes with it anyway; it can't be taken for a smaller dump then, as it
 * says at its start how many bytes it has.
 *
 * plh_dump_write runs inside palloc, too.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "base/limits.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "dump/dump.h"
#include "dump/dump_directory.h"
#include "dump/dump_writer.h"

/* Names to try: a concurrent writer may take each one first. */
#define MAX_ATTEMPTS 1000

/*
 * One writer of some looks for old dumps: of so few that the number of dumps
 * exceeds dump_keep by about a tenth, and that the look removes as many as are
 * written until the next.
 */
#define EXCESS_DIVISOR 10
#define MAX_WRITERS 8

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

/* Returns a number that differs from call to call, and between processes. */
static uint32
any_number(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint32) now.tv_nsec;
}

/*
 * Create a file that nobody else has, and enter its path into the result.
 * Returns -1, with errno set, on failure.
 */
static int
create_temporary(PlhDumpResult *result)
{
	int			fd = -1;
	uint32		number = any_number();

	for (int i = 0; i < MAX_ATTEMPTS; i++)
	{
		plh_dump_directory_temporary(result->path, sizeof(result->path),
									 number + i);
		fd = open(result->path,
				  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				  S_IRUSR | S_IWUSR);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd;
}

/* Write, sync if wanted, and close a new file.  Returns an errno or 0. */
static int
write_file(int fd, const PlhProfileImage *image, const PlhDumpExtras *extras,
		   bool sync, uint32 *sites)
{
	int			failure = plh_dump_writer_write(fd, image, extras, sites);

	if (failure == 0 && sync && pg_fsync(fd) != 0)
		failure = errno;
	if (close(fd) != 0 && failure == 0)
		failure = errno;
	return failure;
}

/*
 * Rename a file where the flag that refuses to replace another is not known.
 * File systems without it usually have hard links, which do not replace either.
 */
static int
rename_by_link(const char *from, const char *to)
{
	struct stat status;

	if (link(from, to) == 0)
		return unlink(from) == 0 ? 0 : errno;
	if (errno == EEXIST || lstat(to, &status) == 0)
		return EEXIST;
	return rename(from, to) == 0 ? 0 : errno;
}

/* Rename a file, unless the new name is taken.  Returns an errno or 0. */
static int
rename_if_free(const char *from, const char *to)
{
	if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to,
				RENAME_NOREPLACE) == 0)
		return 0;
	return errno == EINVAL || errno == ENOSYS ? rename_by_link(from, to) : errno;
}

/*
 * Give a complete file its name, and enter the name into the result.  The
 * numbers of a process' own dumps are not looked up: only if the next one is
 * taken, by somebody else's dump of this process or by a former process with
 * its pid, is the directory read.  Returns an errno or 0.
 */
static int
name_file(const char *temporary, int pid, const char *reason,
		  PlhDumpResult *result)
{
	bool		is_own = pid == (int) getpid();
	bool		looked_up = !is_own;
	int			sequence = own_sequence;
	int			failure = is_own ? 0 :
		plh_dump_directory_highest(pid, &sequence);

	for (int i = 0; i < MAX_ATTEMPTS && failure == 0; i++)
	{
		snprintf(result->path, sizeof(result->path), "%s/%d.%d.%s.heap",
				 plh_fixed.dump_directory, pid, ++sequence, reason);
		failure = rename_if_free(temporary, result->path);
		if (failure != EEXIST)
			break;
		if (!looked_up)
			failure = plh_dump_directory_highest(pid, &sequence);
		else if (i < MAX_ATTEMPTS - 1)
			failure = 0;
		looked_up = true;
	}
	if (failure == 0 && is_own)
		own_sequence = sequence;
	return failure;
}

/*
 * Remove old dumps of a reason, or leave it to another writer: to read a
 * directory of many files takes longer than to write one.  Returns an errno or
 * 0.
 */
static int
trim(const char *reason)
{
	uint32		writers = Max(Min(plh_dump_keep / EXCESS_DIVISOR, MAX_WRITERS), 1);

	return any_number() / 1000 % writers == 0 ?
		plh_dump_directory_trim(reason, plh_dump_keep) : 0;
}

/* Write a complete file, and give it its name.  Returns an errno or 0. */
static int
write_and_name(const PlhProfileImage *image, const PlhDumpExtras *extras,
			   bool sync, PlhDumpResult *result)
{
	char		temporary[PLH_PATH_MAX];
	int			failure;
	int			fd = create_temporary(result);

	if (fd < 0)
		return errno;
	strlcpy(temporary, result->path, sizeof(temporary));
	failure = write_file(fd, image, extras, sync, &result->sites);
	if (failure == 0)
		failure = name_file(temporary, image->header->pid, extras->reason,
							result);
	if (failure != 0)
		unlink(temporary);
	return failure;
}

/*
 * Write a dump of the image.  The reason becomes part of the dump's name.
 * Returns whether the dump was written; "result" has its path, or the error.
 */
bool
plh_dump_write(const PlhProfileImage *image, const PlhDumpExtras *extras,
			   bool sync, PlhDumpResult *result)
{
	Assert(CritSectionCount == 0);
	result->removal_failure = 0;
	strlcpy(result->path, plh_fixed.dump_directory, sizeof(result->path));
	result->failure = plh_dump_directory_make();
	if (result->failure == 0)
		result->failure = write_and_name(image, extras, sync, result);
	if (result->failure != 0)
		return false;
	if (sync)
		sync_directory();
	result->removal_failure = trim(extras->reason);
	return true;
}

/*
 * Should there be a dump of a process that did not exit cleanly?  By the settings
 * of the process that asks.  One that exits knows more of itself (exit_dump.c).
 */
bool
plh_dump_is_worth_while(const PlhProfileHeader *header)
{
	return plh_profile_image_surely_live_bytes(header) >= plh_dump_min_bytes ||
		plh_profile_image_peak_bytes(header) >= plh_dump_min_peak;
}

/*
 * Should there be a dump of a process that did not exit cleanly?  What it held
 * when it last counted may be nothing that stays at an exit, such as a query's
 * memory.  What a crash began with is always of interest.
 */
bool
plh_dump_is_worth_while_after_crash(const PlhProfileHeader *header)
{
	return plh_death_has_cause(&header->death) ||
		plh_dump_is_worth_while(header) ||
		plh_profile_image_counted_bytes(header) >= plh_dump_min_peak;
}

/*
 * Forget the dumps in a forked child: they are the parent's.
 */
PLH_EVERY_PROCESS void
plh_dump_forget(void)
{
	own_sequence = 0;
}

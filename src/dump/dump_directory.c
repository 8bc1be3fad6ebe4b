/*
 * dump_directory.c
 *	  The directory of the dump files: their names, and how many are kept.
 *
 * This code runs inside palloc, so it reads the directory by the system call:
 * opendir() allocates.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/file_perm.h"

#include "base/limits.h"
#include "base/settings.h"
#include "dump/dump_directory.h"

/* Pids and sequence numbers in names are below this. */
#define MAX_NUMBER 1000000000

/* A new dump removes at most MAX_REMOVED old ones, of names below MAX_NAME. */
#define MAX_REMOVED 16
#define MAX_NAME 64

/* An entry of a directory, as the kernel returns it. */
typedef struct DirectoryEntry
{
	uint64		inode;
	int64		offset;
	unsigned short bytes;		/* of this entry */
	unsigned char type;
	char		name[];
} DirectoryEntry;

/* The dumps that were written first, the oldest one in front. */
typedef struct OldestFiles
{
	int			dumps;			/* number of those in the directory */
	int			count;
	struct timespec written_at[MAX_REMOVED];
	char		names[MAX_REMOVED][MAX_NAME];
} OldestFiles;

/* The highest sequence number of the dumps of a process. */
typedef struct HighestNumber
{
	int			pid;
	int			sequence;
} HighestNumber;

/* A function that is called with each name. */
typedef void (*NameVisitor) (const char *name, void *arg);

/*
 * Read a number.  Returns the text behind the character "next", which must
 * follow the number, or NULL.
 */
static const char *
skip_number(const char *text, char next, int *number)
{
	int64		value = 0;

	if (*text < '1' || *text > '9')
		return NULL;
	for (; *text >= '0' && *text <= '9'; text++)
	{
		value = 10 * value + (*text - '0');
		if (value >= MAX_NUMBER)
			return NULL;
	}
	*number = (int) value;
	return *text == next ? text + 1 : NULL;
}

/* Parse "PID.SEQ.REASON.heap".  Returns false if the name has another form. */
static bool
parse_name(const char *name, int *pid, int *sequence)
{
	const char *reason = skip_number(name, '.', pid);
	Size		length;

	if (strlen(name) >= MAX_NAME || reason == NULL ||
		(reason = skip_number(reason, '.', sequence)) == NULL)
		return false;
	length = strspn(reason, "abcdefghijklmnopqrstuvwxyz");
	return length > 0 && strcmp(reason + length, ".heap") == 0;
}

/*
 * Is this the name of a dump file?
 */
bool
plh_dump_directory_is_dump(const char *name)
{
	int			pid;
	int			sequence;

	return parse_name(name, &pid, &sequence);
}

/*
 * Is this a name that dump.c gives to an incomplete file?
 */
bool
plh_dump_directory_is_temporary(const char *name)
{
	int			pid;
	const char *rest = skip_number(name, '.', &pid);

	return rest != NULL && strcmp(rest, "tmp") == 0;
}

/* Visit all names.  Returns an errno or 0. */
static int
visit_names(NameVisitor visit, void *arg)
{
	union
	{
		DirectoryEntry entry;
		char		bytes[8192];
	}			buffer;
	int			failure = 0;
	int			fd = open(plh_fixed.dump_directory,
						  O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	for (;;)
	{
		long		length = syscall(SYS_getdents64, fd, buffer.bytes,
									 sizeof(buffer.bytes));
		const DirectoryEntry *entry;

		if (length < 0)
			failure = errno;
		if (length <= 0)
			break;
		for (long at = 0; at < length; at += entry->bytes)
		{
			entry = (const DirectoryEntry *) (buffer.bytes + at);
			visit(entry->name, arg);
		}
	}
	close(fd);
	return failure;
}

/*
 * Make the directory, unless it exists.
 */
int
plh_dump_directory_make(void)
{
	if (mkdir(plh_fixed.dump_directory, pg_dir_create_mode) != 0 &&
		errno != EEXIST)
		return errno;
	return 0;
}

static void
note_number(const char *name, void *arg)
{
	HighestNumber *highest = arg;
	int			pid;
	int			sequence;

	if (parse_name(name, &pid, &sequence) && pid == highest->pid)
		highest->sequence = Max(highest->sequence, sequence);
}

/*
 * Find the highest sequence number of the dump files of a process; it is 0 if
 * there are none.
 */
int
plh_dump_directory_highest(int pid, int *highest)
{
	HighestNumber number = {pid, 0};
	int			failure = visit_names(note_number, &number);

	*highest = number.sequence;
	return failure;
}

/* Is "left" older than "right"? */
static bool
is_older(const struct timespec *left, const struct timespec *right)
{
	return left->tv_sec != right->tv_sec ? left->tv_sec < right->tv_sec :
		left->tv_nsec < right->tv_nsec;
}

/* Enter a dump file, unless all places are taken by older ones. */
static void
note_age(const char *name, void *arg)
{
	OldestFiles *oldest = arg;
	char		path[PLH_PATH_MAX];
	struct stat status;
	int			place = oldest->count;

	if (!plh_dump_directory_is_dump(name))
		return;
	snprintf(path, sizeof(path), "%s/%s", plh_fixed.dump_directory, name);
	if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode))
		return;
	oldest->dumps++;
	while (place > 0 &&
		   is_older(&status.st_mtim, &oldest->written_at[place - 1]))
		place--;
	if (place == MAX_REMOVED)
		return;

	oldest->count = Min(oldest->count + 1, MAX_REMOVED);
	for (int i = oldest->count - 1; i > place; i--)
	{
		oldest->written_at[i] = oldest->written_at[i - 1];
		memcpy(oldest->names[i], oldest->names[i - 1], MAX_NAME);
	}
	oldest->written_at[place] = status.st_mtim;
	strlcpy(oldest->names[place], name, MAX_NAME);
}

/*
 * Remove the oldest dump files until "keep" are left.  One call removes only a
 * few files, as somebody waits for it.
 */
int
plh_dump_directory_trim(int keep)
{
	OldestFiles oldest = {0};
	int			failure = visit_names(note_age, &oldest);

	for (int i = 0; i < oldest.count && oldest.dumps - i > keep; i++)
	{
		char		path[PLH_PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", plh_fixed.dump_directory,
				 oldest.names[i]);
		if (unlink(path) != 0 && errno != ENOENT)
			return errno;
	}
	return failure;
}

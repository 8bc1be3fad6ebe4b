/*
 * dump_directory.c
 *	  The directory of the dump files: their names, and how many are kept.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/file_perm.h"

#include "base/directory_names.h"
#include "base/limits.h"
#include "base/settings.h"
#include "dump/dump_directory.h"

/* Pids and sequence numbers in names are below this. */
#define MAX_NUMBER 1000000000

/* A new dump removes at most MAX_REMOVED old ones, of names below MAX_NAME. */
#define MAX_REMOVED 16
#define MAX_NAME 64

/*
 * A file is written within seconds.  One that is incomplete and that nobody has
 * changed for an hour has lost its writer.
 */
#define ABANDONED_SECONDS 3600

/* The dumps of one reason that were written first, the oldest one in front. */
typedef struct OldestFiles
{
	const char *reason;
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

/*
 * Parse "PID.SEQ.REASON.heap".  Returns the text from the reason on, or NULL if
 * the name has another form.
 */
static const char *
parse_name(const char *name, int *pid, int *sequence)
{
	const char *reason = skip_number(name, '.', pid);
	Size		length;

	if (strlen(name) >= MAX_NAME || reason == NULL ||
		(reason = skip_number(reason, '.', sequence)) == NULL)
		return NULL;
	length = strspn(reason, "abcdefghijklmnopqrstuvwxyz");
	return length > 0 && strcmp(reason + length, ".heap") == 0 ? reason : NULL;
}

/* Is this the name of a dump that was written for that reason? */
static bool
has_reason(const char *name, const char *reason)
{
	int			pid;
	int			sequence;
	const char *found = parse_name(name, &pid, &sequence);
	Size		length = strlen(reason);

	return found != NULL && strncmp(found, reason, length) == 0 &&
		found[length] == '.';
}

/*
 * Is this the name of a dump file?
 */
bool
plh_dump_directory_is_dump(const char *name)
{
	int			pid;
	int			sequence;

	return parse_name(name, &pid, &sequence) != NULL;
}

/* Is this a name that plh_dump_directory_temporary makes? */
static bool
is_temporary(const char *name)
{
	int			number;
	const char *rest = skip_number(name, '.', &number);

	if (rest != NULL)
		rest = skip_number(rest, '.', &number);
	return rest != NULL && strcmp(rest, "tmp") == 0;
}

/*
 * Make a path for an incomplete file.  Another server, or one in another
 * container, may write to the directory from a process with the same pid:
 * "number", from 0 on, must be a new one if the file is there already.
 */
void
plh_dump_directory_temporary(char *path, Size bytes, uint32 number)
{
	snprintf(path, bytes, "%s/%d.%u.tmp", plh_fixed.dump_directory,
			 (int) getpid(), 1 + number % (MAX_NUMBER - 1));
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

	if (parse_name(name, &pid, &sequence) != NULL && pid == highest->pid)
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
	int			failure = plh_directory_names_visit(plh_fixed.dump_directory,
													note_number, &number);

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

/* Enter a dump of the reason, unless all places are taken by older ones. */
static void
note_age(const char *name, void *arg)
{
	OldestFiles *oldest = arg;
	char		path[PLH_PATH_MAX];
	struct stat status;
	int			place = oldest->count;

	if (!has_reason(name, oldest->reason))
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
 * Remove the oldest dumps of one reason until "keep" are left of it.  One call
 * removes only a few files, as somebody waits for it.
 */
int
plh_dump_directory_trim(const char *reason, int keep)
{
	OldestFiles oldest = {.reason = reason};
	int			failure = plh_directory_names_visit(plh_fixed.dump_directory,
													note_age, &oldest);

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

/* Remove an incomplete file that has lost its writer. */
static void
remove_if_abandoned(const char *name, void *arg)
{
	const time_t *now = arg;
	char		path[PLH_PATH_MAX];
	struct stat status;

	if (!is_temporary(name))
		return;
	snprintf(path, sizeof(path), "%s/%s", plh_fixed.dump_directory, name);
	if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
		status.st_mtime < *now - ABANDONED_SECONDS)
		(void) unlink(path);
}

/*
 * Remove the incomplete files of processes that were killed, but not those that
 * are being written: others may share the directory.
 */
void
plh_dump_directory_remove_abandoned(void)
{
	time_t		now = time(NULL);

	(void) plh_directory_names_visit(plh_fixed.dump_directory,
									 remove_if_abandoned, &now);
}

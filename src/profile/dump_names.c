/*
 * dump_names.c
 *	  The names of dump files, and their directory.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/file_perm.h"

#include "base/directory_names.h"
#include "base/settings.h"
#include "profile/dump_names.h"

/* Pids and numbers in names are below this. */
#define MAX_NUMBER 1000000000

/* Names to try for an incomplete file. */
#define MAX_ATTEMPTS 1000

/* Read a number.  Returns the text behind the character "next", which must follow; or NULL. */
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

/* Returns whether that is the name of a dump or of its text, and what it says. */
bool
plh_dump_names_parse(const char *name, PlhDumpName *parsed)
{
	const char *reason = skip_number(name, '.', &parsed->pid);
	Size		length;

	if (strlen(name) >= PLH_DUMP_NAME_MAX || reason == NULL ||
		(reason = skip_number(reason, '.', &parsed->sequence)) == NULL)
		return false;
	length = strspn(reason, "abcdefghijklmnopqrstuvwxyz");
	if (length == 0 || length >= sizeof(parsed->reason) || reason[length] != '.')
		return false;
	strlcpy(parsed->reason, reason, length + 1);
	parsed->is_text = strcmp(reason + length + 1, PLH_TEXT_SUFFIX) == 0;
	return parsed->is_text || strcmp(reason + length + 1, PLH_DUMP_SUFFIX) == 0;
}

/* Is that the name of a dump, and not of its text? */
bool
plh_dump_names_is_dump(const char *name)
{
	PlhDumpName parsed;

	return plh_dump_names_parse(name, &parsed) && !parsed.is_text;
}

/* Is that a name that plh_dump_names_create makes? */
bool
plh_dump_names_is_temporary(const char *name)
{
	int			number;
	const char *rest = skip_number(name, '.', &number);

	if (rest != NULL)
		rest = skip_number(rest, '.', &number);
	return rest != NULL && strcmp(rest, "tmp") == 0;
}

void
plh_dump_names_path(char *path, Size bytes, const PlhDumpName *name)
{
	snprintf(path, bytes, "%s/%d.%d.%s.%s", plh_load_settings.dump_directory,
			 name->pid, name->sequence, name->reason,
			 name->is_text ? PLH_TEXT_SUFFIX : PLH_DUMP_SUFFIX);
}

/*
 * Create a file that nobody else has, not even another server that writes to the directory from a
 * process with our pid, and enter its path.  It must be renamed or removed.  Returns a descriptor,
 * or -1, with errno set.
 */
int
plh_dump_names_create(char *path, Size bytes)
{
	struct timespec now;
	int			fd = -1;

	clock_gettime(CLOCK_REALTIME, &now);
	for (int i = 0; i < MAX_ATTEMPTS; i++)
	{
		snprintf(path, bytes, "%s/%d.%u.tmp", plh_load_settings.dump_directory, (int) getpid(),
				 1 + ((uint32) now.tv_nsec + i) % (MAX_NUMBER - 1));
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd;
}

int
plh_dump_names_make_directory(void)
{
	if (mkdir(plh_load_settings.dump_directory, pg_dir_create_mode) != 0 && errno != EEXIST)
		return errno;
	return 0;
}

/* PlhNameVisitor: note the number of a dump of the process, or of its text. */
static void
note_number(const char *name, void *arg)
{
	PlhDumpName *highest = arg;
	PlhDumpName parsed;

	if (plh_dump_names_parse(name, &parsed) && parsed.pid == highest->pid &&
		parsed.sequence < MAX_NUMBER - 1)
		highest->sequence = Max(highest->sequence, parsed.sequence);
}

/* Find the highest sequence number of the dumps of a process; it is 0 if there are none. */
int
plh_dump_names_highest(int pid, int *highest)
{
	PlhDumpName name = {.pid = pid};
	int			failure =
		plh_directory_names_visit(plh_load_settings.dump_directory, note_number, &name);

	*highest = name.sequence;
	return failure;
}

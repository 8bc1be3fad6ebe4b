/*
 * process_facts.c
 *	  What the kernel tells about a process: its parent, its start, its memory.
 *
 * Runs inside palloc.  All of it is read from /proc.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/process_facts.h"
#include "base/whole_io.h"

/* Numbers of fields in /proc/PID/stat. */
#define STAT_FIRST_AFTER_NAME 3
#define STAT_PARENT 4
#define STAT_START_TIME 22

/* Read the start of a file in /proc, as text; false if there is no such file. */
static bool
read_start(const char *path, char *text, Size room)
{
	ssize_t		length;
	int			fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	length = plh_whole_io_read(fd, text, room - 1, PLH_FILE_POSITION);
	close(fd);
	if (length <= 0)
		return false;
	text[length] = '\0';
	return true;
}

/*
 * A field of /proc/PID/stat that is a number; 0 if there is no such process.
 */
static uint64
stat_field(int pid, int number)
{
	char		path[64];
	char		text[1024];
	char	   *field;

	Assert(number >= STAT_FIRST_AFTER_NAME);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!read_start(path, text, sizeof(text)))
		return 0;

	/* the second field is a name in parentheses, which may hold anything */
	field = strrchr(text, ')');
	for (int i = STAT_FIRST_AFTER_NAME; field != NULL && i <= number; i++)
		field = strchr(field + 1, ' ');
	return field != NULL ? strtoull(field, NULL, 10) : 0;
}

/*
 * The pid of a process' parent.
 */
int
plh_process_facts_parent(int pid)
{
	return (int) stat_field(pid, STAT_PARENT);
}

/*
 * When a process started, in clock ticks since boot.  Together with the pid it
 * tells one process from all others.
 */
uint64
plh_process_facts_start_ticks(int pid)
{
	return stat_field(pid, STAT_START_TIME);
}

/*
 * The memory of this process that no file backs and that is not shared, in
 * bytes.
 */
int64
plh_process_facts_own_bytes(void)
{
	char		text[128];
	char	   *end;
	long		resident;

	if (!read_start("/proc/self/statm", text, sizeof(text)))
		return 0;

	/* the fields are pages: all, those that are resident, those shared */
	(void) strtol(text, &end, 10);
	resident = strtol(end, &end, 10);
	return (int64) (resident - strtol(end, NULL, 10)) * sysconf(_SC_PAGESIZE);
}

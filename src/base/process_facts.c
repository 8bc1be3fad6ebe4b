/*
 * process_facts.c
 *	  The parent, the start and the memory of a process, as the kernel tells.
 *
 * This code runs inside palloc.  It reads everything from /proc.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/process_facts.h"
#include "base/whole_io.h"

/* The kernel's PF_EXITING: a process that frees its memory, or has done so. */
#define EXITING_FLAG 0x4

/* The fields of /proc/PID/stat have these numbers. */
#define STAT_FIRST_AFTER_NAME 3
#define STAT_PARENT 4
#define STAT_FLAGS 9
#define STAT_THREADS 20
#define STAT_START_TIME 22
#define STAT_HEAP_START 47

/*
 * Read the start of a file in /proc as text.  Returns false, with errno set, if that fails: ENOENT
 * or ESRCH if there is no such process.
 */
bool
plh_process_facts_read(const char *path, char *text, Size room)
{
	ssize_t		length;
	int			fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	length = plh_whole_io_read(fd, text, room - 1, PLH_FILE_POSITION);
	close(fd);
	if (length == 0)
		errno = ESRCH;
	if (length <= 0)
		return false;
	text[length] = '\0';
	return true;
}

/*
 * Returns a field of /proc/PID/stat that is a number; 0 if there is no such process,
 * PLH_TICKS_UNKNOWN if it can't be told, as no descriptor is left or the file can't be read.
 */
static uint64
stat_field(int pid, int number)
{
	char		path[64];
	char		text[1024];
	char	   *field;

	Assert(number >= STAT_FIRST_AFTER_NAME);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!plh_process_facts_read(path, text, sizeof(text)))
		return errno == ENOENT || errno == ESRCH ? 0 : PLH_TICKS_UNKNOWN;

	/* the second field is a name in parentheses and may hold parentheses */
	field = strrchr(text, ')');
	for (int i = STAT_FIRST_AFTER_NAME; field != NULL && i <= number; i++)
		field = strchr(field + 1, ' ');
	return field != NULL ? strtoull(field, NULL, 10) : 0;
}

/* Has a process more than one thread?  Also true if that can't be told. */
bool
plh_process_facts_has_threads(int pid)
{
	return stat_field(pid, STAT_THREADS) != 1;
}

int
plh_process_facts_parent(int pid)
{
	uint64		parent = stat_field(pid, STAT_PARENT);

	return parent == PLH_TICKS_UNKNOWN ? 0 : (int) parent;
}

/*
 * Returns the start of a process in clock ticks since boot, PLH_TICKS_UNKNOWN if it can't be told.
 * The start and the pid together tell one process from all others.
 */
uint64
plh_process_facts_start_ticks(int pid)
{
	return stat_field(pid, STAT_START_TIME);
}

/* Is the kernel about to end that process?  Of which that can't be told, it is not. */
bool
plh_process_facts_is_exiting(int pid)
{
	uint64		flags = stat_field(pid, STAT_FLAGS);

	return flags != PLH_TICKS_UNKNOWN && (flags & EXITING_FLAG) != 0;
}

/* Returns where the heap of this process begins, which sbrk makes larger; 0 if it can't be told. */
uintptr_t
plh_process_facts_heap_start(void)
{
	uint64		start = stat_field(getpid(), STAT_HEAP_START);

	return start == PLH_TICKS_UNKNOWN ? 0 : (uintptr_t) start;
}

/* Is the process with that pid and start still there?  One of which that can't be told is. */
bool
plh_process_facts_is_alive(int pid, uint64 start_ticks)
{
	uint64		found = plh_process_facts_start_ticks(pid);

	return found == PLH_TICKS_UNKNOWN || (found != 0 && found == start_ticks);
}

/*
 * The own memory that a file "statm" tells, which takes the kernel a third of the time that
 * "status" does; -1 if it tells none.
 */
static int64
rss_anon_bytes(const char *path)
{
	char		text[128];
	char	   *end;
	long		all;
	long		resident;

	if (!plh_process_facts_read(path, text, sizeof(text)))
		return -1;

	/* the fields count pages: all, the resident ones, the shared ones */
	all = strtol(text, &end, 10);
	resident = strtol(end, &end, 10);

	/* a zombie has none at all */
	return all == 0 ? -1 : (int64) (resident - strtol(end, NULL, 10)) * sysconf(_SC_PAGESIZE);
}

/* Returns how many bytes of this process' memory are neither backed by a file nor shared. */
int64
plh_process_facts_own_bytes(void)
{
	int64		bytes = rss_anon_bytes("/proc/self/statm");

	return Max(bytes, 0);
}

/*
 * Does this process have at least "bytes" of memory that is neither backed by a file nor shared?
 * If it never had that much of any kind, the answer needs no file: the first that a process opens
 * in its directory of /proc takes the kernel 30 us.
 */
bool
plh_process_facts_owns(int64 bytes)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > 0 &&
		(int64) usage.ru_maxrss * 1024 < bytes)
		return false;
	return plh_process_facts_own_bytes() >= bytes;
}

/*
 * Returns a figure in bytes that rises by at least as much as the memory of this process does, but
 * for huge pages within what it once had; -1 if it can't be told.  It takes a system call, and no
 * file.
 */
int64
plh_process_facts_touched_bytes(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) != 0)
		return -1;
	return (int64) (usage.ru_minflt + usage.ru_majflt) * sysconf(_SC_PAGESIZE) +
		(int64) usage.ru_maxrss * 1024;
}

/* Returns the own memory of any process; -1 if it can't be told. */
int64
plh_process_facts_rss_anon_bytes(int pid)
{
	char		path[64];

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	return rss_anon_bytes(path);
}

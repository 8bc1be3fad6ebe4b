/*
 * detached_child.c
 *	  A forked process that shares nothing with the server any more, and may die at any time.
 *
 * What it does wrong must not reach what the server works with, and a new postmaster does not start
 * while a process of an old one still has its memory.  Libraries that are preloaded may have shared
 * mappings of their own, which their malloc or the like needs in this process, too.  Those stay.
 */
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/dsm_impl.h"
#include "storage/pg_shmem.h"
#include "storage/proc.h"

#include "base/detached_child.h"
#include "base/fork.h"
#include "base/limits.h"
#include "base/mappings.h"
#include "base/page_layout.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "base/whole_io.h"

/* Highest number of descriptors to close one by one, without close_range. */
#define MAX_CLOSED_FILES 65536

/* The first descriptor after the three standard ones. */
#define FIRST_SPARE_FD (STDERR_FILENO + 1)

/* Room for /proc/self/maps, which has a line of about 100 bytes per mapping. */
#define MAPS_BYTES (1024 * 1024)

/* Where profiles are, as the kernel calls it; empty: in the default directory. */
static PLH_LARGE PLH_SURVIVES_FORK char profile_directory[PLH_PATH_MAX];

/*
 * Exit with 0, not by the signal: if the session is gone and the postmaster is pid 1 of a
 * container, it reaps us, and would take death by a signal for a crashed backend.
 */
static void
leave_quietly(int signal_number)
{
	_exit(0);
}

/* Close all but the standard descriptors: others may wait for them to be closed. */
static void
close_other_files(void)
{
	struct rlimit limit;

#ifdef SYS_close_range
	if (syscall(SYS_close_range, FIRST_SPARE_FD, ~0U, 0) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > MAX_CLOSED_FILES)
		limit.rlim_cur = MAX_CLOSED_FILES;
	for (int fd = FIRST_SPARE_FD; fd < (int) limit.rlim_cur; fd++)
		close(fd);
}

/* Most of it is the parent's; 0 if it can't be told. */
static rlim_t
address_space_bytes(void)
{
	char		text[128];

	if (!plh_process_facts_read("/proc/self/statm", text, sizeof(text)))
		return 0;
	return strtoul(text, NULL, 10) * (rlim_t) sysconf(_SC_PAGESIZE);
}

/* Limit memory, be the first victim when memory runs out, and leave no core file. */
static void
limit_resources(uint64 added_bytes)
{
	struct rlimit core_limit = {0, 0};
	rlim_t		mapped = address_space_bytes();
	rlim_t		allowed = mapped + added_bytes;
	struct rlimit memory_limit = {allowed, allowed};
	int			fd = open("/proc/self/oom_score_adj", O_WRONLY);

	if (fd >= 0)
	{
		/* if this fails, we are as likely a victim as the parent */
		(void) plh_whole_io_write(fd, "1000", 4, PLH_FILE_POSITION);
		close(fd);
	}
	if (mapped > 0)
		(void) setrlimit(RLIMIT_AS, &memory_limit);

	/* the parent reports a crash; a core file of it would help nobody */
	(void) setrlimit(RLIMIT_CORE, &core_limit);
	(void) prctl(PR_SET_DUMPABLE, 0);
}

/* Ask the kernel for its name of the directory that the setting names. */
static void
name_profile_directory(void)
{
	char		link[64];
	ssize_t		length;
	int			fd;

	if (plh_load_settings.profile_directory[0] == '\0')
		return;
	fd = open(plh_load_settings.profile_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, profile_directory, sizeof(profile_directory) - 2);
	close(fd);
	profile_directory[Max(length, 0)] = '\0';
	if (length > 0)
		strcat(profile_directory, "/");
}

static bool
begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool
holds(const PlhMapping *mapping, const void *address)
{
	return (uintptr_t) address >= mapping->from && (uintptr_t) address < mapping->to;
}

/* Is it PostgreSQL's: its main memory, a dynamic segment, or a ring of io_uring? */
static bool
is_of_server(const PlhMapping *mapping)
{
	return holds(mapping, ProcGlobal) || holds(mapping, UsedShmemSegAddr) ||
		begins_with(mapping->path, "/dev/shm/PostgreSQL.") ||
		begins_with(mapping->path, "anon_inode:[io_uring]") ||
		(dynamic_shared_memory_type == DSM_IMPL_SYSV &&
		 begins_with(mapping->path, "/SYSV")) ||
		(dynamic_shared_memory_type == DSM_IMPL_MMAP &&
		 strstr(mapping->path, "/" PG_DYNSHMEM_DIR "/" PG_DYNSHMEM_MMAP_FILE_PREFIX) != NULL);
}

/* Is it our profile, the postmaster's, which was inherited, or the file of requests? */
static bool
is_ours(const PlhMapping *mapping, const void *profile)
{
	return holds(mapping, profile) ||
		begins_with(mapping->path, profile_directory[0] != '\0' ?
					profile_directory : "/dev/shm/pg_leakhunt.");
}

/* Returns false if it can't be told whether any is left. */
static bool
unmap_shared_memory(const void *profile)
{
	static PLH_LARGE PLH_SURVIVES_FORK char list[MAPS_BYTES];
	char	   *text = list;
	PlhMapping	mapping;

	if (!plh_mappings_read("/proc/self/maps", list, sizeof(list)))
		return false;
	name_profile_directory();
	while (plh_mappings_next(&text, &mapping))
		if (mapping.is_shared && (is_of_server(&mapping) || is_ours(&mapping, profile)) &&
			munmap((void *) mapping.from, mapping.to - mapping.from) != 0)
			return false;
	return true;
}

/*
 * setsid keeps away signals that are sent to the server's process group.  When our parent ends, the
 * kernel sends us SIGUSR1.
 */
static void
take_signals(pid_t parent)
{
	sigset_t	no_signals;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	signal(SIGUSR1, leave_quietly);
	signal(SIGPIPE, leave_quietly);
	sigemptyset(&no_signals);
	sigprocmask(SIG_SETMASK, &no_signals, NULL);
	(void) setsid();
	(void) prctl(PR_SET_PDEATHSIG, SIGUSR1);
	if (getppid() != parent)
		_exit(0);
	(void) prctl(PR_SET_NAME, "pg_leakhunt");
}

/* The descriptors may lie on standard ones: move them out of the way. */
static void
take_files(int input_fd, int output_fd)
{
	int			null_fd = open("/dev/null", O_RDWR);

	if (input_fd >= 0)
		input_fd = fcntl(input_fd, F_DUPFD, FIRST_SPARE_FD);
	if (output_fd >= 0)
		output_fd = fcntl(output_fd, F_DUPFD, FIRST_SPARE_FD);
	if (dup2(null_fd, STDERR_FILENO) < 0 ||
		dup2(input_fd >= 0 ? input_fd : null_fd, STDIN_FILENO) < 0 ||
		dup2(output_fd >= 0 ? output_fd : null_fd, STDOUT_FILENO) < 0)
		_exit(1);
	close_other_files();
}

void
plh_detached_child_begin(pid_t parent, int input_fd, int output_fd, const void *profile,
						 uint64 added_bytes)
{
	take_signals(parent);
	take_files(input_fd, output_fd);
	if (!unmap_shared_memory(profile))
		_exit(1);
	limit_resources(added_bytes);
}

void
plh_detached_child_limit_cpu(int seconds)
{
	struct rusage used;
	struct rlimit limit;

	if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0)
		return;
	limit.rlim_cur = used.ru_utime.tv_sec + used.ru_stime.tv_sec + seconds;
	(void) setrlimit(RLIMIT_CPU, &limit);
}

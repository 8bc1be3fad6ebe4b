/*
 * faults.c
 *	  A library for LD_PRELOAD that lets system calls of pg_leakhunt fail or
 *	  stand still, and the wall clock jump.
 *
 * What fails stands in a file, which all processes of the server map and which
 * a test writes while they run (test/perl/Faults.pm).  The variable FAULTS_FILE
 * in the environment has its path.
 *
 * Only calls on behalf of pg_leakhunt fail: those that return into its library
 * or into libunwind, and those of the server that name one of its files.  The
 * rest of the server knows nothing of faults.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The value of Faults.failure, and so of errno, that lets reads and writes stop halfway. */
#define HALFWAY (-1)

/* The one that lets a call stand still until the test has ended that, and then go on. */
#define HELD (-2)

/*
 * How often whoever is held looks whether it is over, and how many times at the most: the
 * test may have died.
 */
#define HELD_PAUSE_US 1000
#define HELD_LOOKS (300 * 1000)

/* The file.  Faults.pm has the same layout. */
typedef struct Faults
{
	char		function[24];	/* that fails, or several with blanks between; "*" =
								 * each of them */
	int32_t		failure;		/* errno of the failure, HALFWAY or HELD */
	uint32_t	every;			/* one call of this number fails; 0 = none */
	uint32_t	calls;			/* the number since the test has set it */
	uint32_t	failed;			/* the number of calls that failed */
	int64_t		clock_offset_s; /* added to the wall clock */
	int32_t		pid;			/* of the only process whose calls count; 0: all do */
} Faults;

/* The addresses of a library's code. */
typedef struct Range
{
	const char *file;			/* the library's name is this, or goes on */
	uintptr_t	start;			/* 0: not loaded yet */
	uintptr_t	end;
} Range;

static Faults *faults;
static Range ranges[] = {{"pg_leakhunt.so"}, {"libunwind.so"}};

#define RANGES (sizeof(ranges) / sizeof(ranges[0]))

/* The next definition of a function, which is libc's. */
#define REAL(name) \
	static __typeof__(name) *real; \
	if (real == NULL) \
		real = (__typeof__(name) *) dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void
map_file(void)
{
	const char *path = getenv("FAULTS_FILE");
	int			fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
	void	   *mapped;

	if (fd < 0)
		return;
	mapped = mmap(NULL, sizeof(Faults), PROT_READ | PROT_WRITE, MAP_SHARED,
				  fd, 0);
	close(fd);
	if (mapped != MAP_FAILED)
		faults = mapped;
}

/* dl_iterate_phdr's callback: enter a library that has a range. */
static int
note_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash == NULL ? info->dlpi_name : slash + 1;

	for (size_t r = 0; r < RANGES; r++)
	{
		if (ranges[r].start != 0 ||
			strncmp(file, ranges[r].file, strlen(ranges[r].file)) != 0)
			continue;
		for (int i = 0; i < info->dlpi_phnum; i++)
		{
			const ElfW(Phdr) * header = &info->dlpi_phdr[i];

			if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0)
				continue;
			ranges[r].end = info->dlpi_addr + header->p_vaddr + header->p_memsz;
			ranges[r].start = info->dlpi_addr + header->p_vaddr;
		}
	}
	return 0;
}

static bool
is_ours(const void *caller)
{
	if (ranges[0].start == 0)
		dl_iterate_phdr(note_library, NULL);
	for (size_t r = 0; r < RANGES; r++)
	{
		if ((uintptr_t) caller >= ranges[r].start &&
			(uintptr_t) caller < ranges[r].end)
			return true;
	}
	return false;
}

/* Is this the path of a profile, dump or baseline, or of their directories? */
static bool
is_our_file(const char *path)
{
	return path != NULL &&
		(strncmp(path, "pg_leakhunt", strlen("pg_leakhunt")) == 0 ||
		 strncmp(path, "/dev/shm/pg_leakhunt.", strlen("/dev/shm/pg_leakhunt.")) == 0 ||
		 strstr(path, "/pg_leakhunt/") != NULL);
}

static bool
is_our_descriptor(int fd)
{
	char		link[64];
	char		path[4096];
	ssize_t		length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return false;
	path[length] = '\0';
	return is_our_file(path) || strstr(path, "/pg_leakhunt") != NULL;
}

/* Is a function among those that fail? */
static bool
is_named(const char *function)
{
	size_t		length = strlen(function);
	const char *name = faults->function;

	while (*name != '\0' && *name != '*')
	{
		size_t		name_length = strcspn(name, " ");

		if (name_length == length && strncmp(name, function, length) == 0)
			return true;
		name += name_length + strspn(name + name_length, " ");
	}
	return *name == '*';
}

/* Could this function fail now, if the call is one of pg_leakhunt's? */
static bool
is_armed(const char *function)
{
	return faults != NULL && faults->every != 0 && is_named(function) &&
		(faults->pid == 0 || faults->pid == (int32_t) getpid());
}

/* Let this call stand still as long as the test wants it. */
static void
stand_still(const char *function)
{
	for (int looks = 0; looks < HELD_LOOKS; looks++)
	{
		if (__atomic_load_n(&faults->failure, __ATOMIC_RELAXED) != HELD ||
			!is_armed(function))
			return;
		usleep(HELD_PAUSE_US);
	}
}

/*
 * Count a call.  If it is to fail, set errno.  The test may have ended the fault since
 * it was found to be armed.
 */
static bool
fails_now(const char *function)
{
	uint32_t	every = __atomic_load_n(&faults->every, __ATOMIC_RELAXED);

	if (every == 0 ||
		__atomic_add_fetch(&faults->calls, 1, __ATOMIC_RELAXED) % every != 0)
		return false;
	if (faults->failure == HELD)
	{
		stand_still(function);
		return false;
	}
	__atomic_add_fetch(&faults->failed, 1, __ATOMIC_RELAXED);
	errno = faults->failure;
	return true;
}

#define CALLER __builtin_return_address(0)

/* Does this call of a function fail?  It may be ours by its file, too. */
#define FAILS(function) \
	(is_armed(#function) && is_ours(CALLER) && fails_now(#function))
#define FAILS_FOR(function, path) \
	(is_armed(#function) && (is_ours(CALLER) || is_our_file(path)) && \
	 fails_now(#function))

/* Define a function that can fail. */
#define FAILING(type, failure, function, parameters, arguments) \
type function parameters \
{ \
	REAL(function); \
	return FAILS(function) ? failure : real arguments; \
}
#define FAILING_FOR(path, type, failure, function, parameters, arguments) \
type function parameters \
{ \
	REAL(function); \
	return FAILS_FOR(function, path) ? failure : real arguments; \
}

/* Define a function that transfers bytes: it can fail, or stop halfway. */
#define TRANSFERRING(function, parameters, all, half) \
ssize_t function parameters \
{ \
	REAL(function); \
	if (!FAILS(function)) \
		return real all; \
	return errno == HALFWAY ? real half : -1; \
}

FAILING(void *, MAP_FAILED, mmap,
		(void *address, size_t bytes, int protection, int flags, int fd, off_t offset),
		(address, bytes, protection, flags, fd, offset))
FAILING(int, -1, mprotect, (void *address, size_t bytes, int protection),
		(address, bytes, protection))
FAILING(int, -1, ftruncate, (int fd, off_t bytes), (fd, bytes))
FAILING(int, -1, fallocate, (int fd, int mode, off_t offset, off_t bytes),
		(fd, mode, offset, bytes))
FAILING(int, -1, fstat, (int fd, struct stat *status), (fd, status))
FAILING(int, -1, fstatfs, (int fd, struct statfs *status), (fd, status))
FAILING(int, -1, fstatvfs, (int fd, struct statvfs *status), (fd, status))
FAILING(int, -1, fchmod, (int fd, mode_t mode), (fd, mode))
FAILING(int, -1, flock, (int fd, int operation), (fd, operation))
FAILING(int, -1, dup2, (int fd, int to), (fd, to))
FAILING(int, -1, poll, (struct pollfd *fds, nfds_t count, int timeout),
		(fds, count, timeout))
FAILING(char *, NULL, fgets, (char *to, int bytes, FILE *file),
		(to, bytes, file))
FAILING(int, -1, pipe2, (int fds[2], int flags), (fds, flags))
FAILING(pid_t, -1, fork, (void), ())
FAILING_FOR(path, int, -1, mkdir, (const char *path, mode_t mode), (path, mode))
FAILING_FOR(path, int, -1, rmdir, (const char *path), (path))
FAILING_FOR(path, int, -1, unlink, (const char *path), (path))
FAILING_FOR(path, int, -1, lstat, (const char *path, struct stat *status),
			(path, status))
FAILING_FOR(path, int, -1, stat, (const char *path, struct stat *status),
			(path, status))
FAILING_FOR(path, int, -1, statfs, (const char *path, struct statfs *status),
			(path, status))
FAILING_FOR(path, int, -1, statvfs, (const char *path, struct statvfs *status),
			(path, status))
FAILING_FOR(path, DIR *, NULL, opendir, (const char *path), (path))
FAILING_FOR(path, FILE *, NULL, fopen, (const char *path, const char *mode),
			(path, mode))
FAILING_FOR(path, ssize_t, -1, readlink,
			(const char *path, char *to, size_t bytes), (path, to, bytes))
FAILING_FOR(from, int, -1, link, (const char *from, const char *to),
			(from, to))
FAILING_FOR(from, int, -1, rename, (const char *from, const char *to),
			(from, to))
TRANSFERRING(read, (int fd, void *to, size_t bytes),
			 (fd, to, bytes), (fd, to, (bytes + 1) / 2))
TRANSFERRING(write, (int fd, const void *from, size_t bytes),
			 (fd, from, bytes), (fd, from, (bytes + 1) / 2))
TRANSFERRING(pread, (int fd, void *to, size_t bytes, off_t offset),
			 (fd, to, bytes, offset), (fd, to, (bytes + 1) / 2, offset))
TRANSFERRING(pwrite, (int fd, const void *from, size_t bytes, off_t offset),
			 (fd, from, bytes, offset), (fd, from, (bytes + 1) / 2, offset))

/* Returns the errno, unlike the others. */
int
posix_fallocate(int fd, off_t offset, off_t bytes)
{
	REAL(posix_fallocate);
	return FAILS(posix_fallocate) ? errno : real(fd, offset, bytes);
}

/* A close that fails closes the file all the same. */
int
close(int fd)
{
	bool		fails = FAILS(close);
	int			rc;
	int			failure = errno;

	REAL(close);
	rc = real(fd);
	if (fails)
		errno = failure;
	return fails ? -1 : rc;
}

int
fclose(FILE *file)
{
	bool		fails = FAILS(fclose);
	int			rc;
	int			failure = errno;

	REAL(fclose);
	rc = real(file);
	if (fails)
		errno = failure;
	return fails ? EOF : rc;
}

/* The server syncs our files for us. */
int
fsync(int fd)
{
	REAL(fsync);
	return is_armed("fsync") && is_our_descriptor(fd) && fails_now("fsync") ?
		-1 : real(fd);
}

void *
mremap(void *address, size_t old_bytes, size_t bytes, int flags,...)
{
	va_list		arguments;
	void	   *to;

	REAL(mremap);
	va_start(arguments, flags);
	to = va_arg(arguments, void *);
	va_end(arguments);
	return FAILS(mremap) ? MAP_FAILED :
		real(address, old_bytes, bytes, flags, to);
}

int
open(const char *path, int flags,...)
{
	va_list		arguments;
	mode_t		mode;

	REAL(open);
	va_start(arguments, flags);
	mode = va_arg(arguments, mode_t);
	va_end(arguments);
	return FAILS_FOR(open, path) ? -1 : real(path, flags, mode);
}

int
openat(int directory, const char *path, int flags,...)
{
	va_list		arguments;
	mode_t		mode;

	REAL(openat);
	va_start(arguments, flags);
	mode = va_arg(arguments, mode_t);
	va_end(arguments);
	return FAILS_FOR(openat, path) ? -1 : real(directory, path, flags, mode);
}

int
fcntl(int fd, int command,...)
{
	va_list		arguments;
	void	   *argument;

	REAL(fcntl);
	va_start(arguments, command);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	return FAILS(fcntl) ? -1 : real(fd, command, argument);
}

/* Define fscanf under a name that a compiler's standard has for it. */
#define SCANNING(name) \
int name(FILE *file, const char *format,...) \
	__attribute__((format(scanf, 2, 3))); \
int name(FILE *file, const char *format,...) \
{ \
	va_list		arguments; \
	int			items; \
\
	if (FAILS(fscanf)) \
		return EOF; \
	va_start(arguments, format); \
	items = vfscanf(file, format, arguments); \
	va_end(arguments); \
	return items; \
}

SCANNING(__isoc99_fscanf)
SCANNING(__isoc23_fscanf)

/* What has no function in libc, or had none for long. */
long
syscall(long number,...)
{
	const char *function = number == SYS_renameat2 ? "renameat2" :
		number == SYS_getdents64 ? "getdents64" : "syscall";
	long		values[6];
	va_list		arguments;

	REAL(syscall);
	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		values[i] = va_arg(arguments, long);
	va_end(arguments);
	if (is_armed(function) && is_ours(CALLER) && fails_now(function))
		return -1;
	return real(number, values[0], values[1], values[2], values[3], values[4],
				values[5]);
}

/* The clock jumps for the whole server. */
static int64_t
clock_offset_s(void)
{
	return faults == NULL ? 0 : faults->clock_offset_s;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	int			rc;

	REAL(clock_gettime);
	rc = real(clock, now);
	if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += clock_offset_s();
	return rc;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	int			rc;

	REAL(gettimeofday);
	rc = real(now, zone);
	if (rc == 0)
		now->tv_sec += clock_offset_s();
	return rc;
}

time_t
time(time_t *now)
{
	time_t		seconds;

	REAL(time);
	seconds = real(NULL);
	if (seconds != (time_t) -1)
		seconds += clock_offset_s();
	if (now != NULL)
		*now = seconds;
	return seconds;
}

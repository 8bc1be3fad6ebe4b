/*
 * fuzz.c
 *	  What all targets share: a run in bounds, and a directory for files.
 */
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "base/whole_io.h"
#include "fuzz.h"

/* Memory that an input may take: its size times this factor, and some at the start. */
#define MEMORY_FACTOR 64
#define MEMORY_START (16 * 1024 * 1024)

/*
 * Time of the processor for an input, and after which it is taken for an endless
 * loop.  The sanitizers take most of it.
 */
#define MAX_SECONDS 1.0
#define ENDLESS_SECONDS 10

/* One in this number of inputs is used for what takes longest, too. */
#define FAR_PART 8

bool		fuzz_replays;
int			fuzz_accepted;

static char directory[64];

const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	/* what is palloc'd goes with its memory context, and there are none */
	return "detect_leaks=0:quarantine_size_mb=8:allocator_may_return_null=1";
}

void
fuzz_finding(const char *what)
{
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

static void
on_endless_loop(int signal)
{
	fuzz_finding("an input comes to an end");
}

static double
cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void
limit_time(int seconds)
{
	struct itimerval limit = {.it_value.tv_sec = seconds};

	signal(SIGVTALRM, on_endless_loop);
	setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

/*
 * Is an input one for what takes longest?  Always the same ones are.
 */
bool
fuzz_goes_far(const uint8 *data, size_t bytes)
{
	return fuzz_replays || hash_bytes(data, bytes) % FAR_PART == 0;
}

/*
 * Let a function work on an input of that size, in a memory context of its own
 * and within bounds.  Returns the SQLSTATE of the ERROR that it ends in, or 0.
 */
int
fuzz_run(size_t input_bytes, MayThrow function, void *arg)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext working = AllocSetContextCreate(caller, "working",
												  ALLOCSET_DEFAULT_SIZES);
	Size		before = palloced_bytes;
	double		start = cpu_seconds();
	int			sqlstate;

	palloced_peak = palloced_bytes;
	limit_time(ENDLESS_SECONDS);
	MemoryContextSwitchTo(working);
	sqlstate = sqlstate_of(function, arg);
	MemoryContextSwitchTo(caller);
	limit_time(0);
	HOLDS(cpu_seconds() - start < MAX_SECONDS);
	HOLDS(palloced_peak - before < MEMORY_START + MEMORY_FACTOR * input_bytes);
	HOLDS(open_files == 0);
	MemoryContextDelete(working);
	return sqlstate;
}

static void
remove_directory(void)
{
	(void) rmdir(directory);
}

/*
 * A directory of this process, in memory.  What a target makes there it removes
 * again, by the end of each input.
 */
const char *
fuzz_directory(void)
{
	if (directory[0] == '\0')
	{
		strcpy(directory, "/dev/shm/plh_fuzz.XXXXXX");
		if (mkdtemp(directory) == NULL)
			abort();
		atexit(remove_directory);
	}
	return directory;
}

/*
 * Make a file of these bytes, in the place of the former one.
 */
void
fuzz_write_file(const char *path, const void *data, Size bytes)
{
	int			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);

	if (fd < 0 || !plh_whole_io_write(fd, data, bytes, 0))
		abort();
	close(fd);
}

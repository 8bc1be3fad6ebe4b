/*
 * test_processes.c
 *	  Forks, new programs, signals, and the ends of programs.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_sampler.h"
#include "preload_tests.h"
#include "tap.h"
#include "test_threads.h"

#define FORKS 20

extern void *early_block(void);

/* In a child: what it allocates is sampled, and what it has got can be freed. */
static int
child_status(void)
{
	Seen		after;

	fake_watch();
	threads_work_too(1000);
	threads_free_blocks();
	after = fake_seen();
	return after.recorded > 100 && after.recorded_twice == 0 && after.nulls == 0 ? 0 : 1;
}

static bool
ends_well(pid_t child)
{
	int			status;

	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void *
fork_here(void *argument)
{
	int		   *well = argument;

	for (int i = 0; i < FORKS; i++)
	{
		pid_t		child = fork();

		if (child == 0)
		{
			fake_adopt();
			_exit(child_status());
		}
		*well += ends_well(child);
	}
	return NULL;
}

void
test_fork_with_threads(void)
{
	pthread_t	thread;
	int			well = 0;

	fake_start(100);
	threads_start(0);
	for (int i = 0; i < FORKS; i++)
	{
		pid_t		child = fork();

		if (child == 0)
			_exit(child_status());
		well += ends_well(child);
		threads_work_too(100);
	}
	is(well, FORKS, "children that are forked while other threads allocate go on");
	well = 0;
	if (pthread_create(&thread, NULL, fork_here, &well) != 0)
		abort();
	threads_work_too(10000);
	pthread_join(thread, NULL);
	is(well, FORKS, "children of threads that are not sampled go on");
	threads_end(true);
	threads_free_blocks();
	fake_stop();
}

void
test_exec(void)
{
	fake_start(0);
	ok(run_mode("child"), "a new program starts with the library");
	fake_stop();
}

static volatile long interruptions;

/* libc may be interrupted in its own malloc, but then it cannot be called. */
static void
allocate_in_handler(int signal)
{
	(void) signal;
	if (!fake_is_busy())
		return;
	free(realloc(malloc(100), 1000));
	free(strdup("in a handler"));
	interruptions++;
}

static bool
is_before(const struct timeval *end)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	return timercmp(&now, end, <);
}

/* A signal handler that allocates while our functions are called. */
void
test_interruptions(void)
{
	struct itimerval often = {{0, 100}, {0, 100}};
	struct itimerval never = {{0, 0}, {0, 0}};
	struct timeval end;
	Seen		after;

	gettimeofday(&end, NULL);
	end.tv_sec += 5;
	fake_dawdle(2000);
	fake_start(0);
	signal(SIGALRM, allocate_in_handler);
	setitimer(ITIMER_REAL, &often, NULL);
	fake_watch();
	while (interruptions < 500 && is_before(&end))
		threads_work_too(100);
	setitimer(ITIMER_REAL, &never, NULL);
	threads_free_blocks();
	fake_stop();
	fake_dawdle(0);
	signal(SIGALRM, SIG_DFL);
	after = fake_seen();
	ok(interruptions >= 100, "%ld signal handlers allocate while the hook is busy", interruptions);
	ok(after.recorded == after.freed && after.recorded_twice == 0 && after.net_bytes == 0,
	   "all of %ld samples are freed", after.recorded);
}

void
test_first_and_last_calls(void)
{
	char	   *block = early_block();

	fake_start(0);
	fake_watch();
	ok(block != NULL && block[50] == 0, "a block is allocated before main");
	free(block);
	ok(fake_seen().freed == 0, "a block from before main can be freed, and is no sample");
	fake_stop();
	ok(run_mode("end"), "exit handlers and destructors come by");
}

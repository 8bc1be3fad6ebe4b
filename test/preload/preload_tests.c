/*
 * preload_tests.c
 *	  The tests of the preloaded library, in a program that it is preloaded into.
 *
 * With an argument, it is what one of the tests runs:
 *
 * child		only allocates.
 * end			allocates in exit handlers, and says so.
 * unreached	another allocator is before the library, which is not called.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_sampler.h"
#include "preload_tests.h"
#include "tap.h"
#include "test_threads.h"

extern long count_of_samples(void);

long
count_of_samples(void)
{
	return fake_seen().recorded;
}

/* Asked once, as dlsym allocates what it says of a symbol that there is not. */
bool
is_jemalloc(void)
{
	static int	answer = -1;

	if (answer < 0)
		answer = dlsym(RTLD_DEFAULT, "mallocx") != NULL;
	return answer;
}

static void
say(const char *line)
{
	if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		abort();
}

static void
allocate_at_exit(void)
{
	long		before = count_of_samples();

	free(malloc(100));
	if (count_of_samples() == before + 1)
		say("handler\n");
}

static int
allocate_only(void)
{
	for (int i = 0; i < 1000; i++)
		free(strdup("a text"));
	return 0;
}

static int
go_on_at_end(void)
{
	fake_find_hook();
	fake_start(0);
	atexit(allocate_at_exit);
	return allocate_only();
}

static int
stay_unreached(void)
{
	ok(fake_find_hook() != NULL, "the library is loaded");
	fake_start(0);
	fake_watch();
	allocate_only();
	threads_start(1000);
	threads_work_too(1000);
	threads_end(false);
	threads_free_blocks();
	fake_stop();
	is(fake_seen().taken + fake_seen().freed, 0, "no call comes by where the library is behind another allocator");
	return tests_end();
}

/* What a mode has to write. */
static const char *
expected_output(const char *mode)
{
	return strcmp(mode, "end") == 0 ? "handler\ndestructor\n" : "";
}

bool
run_mode(const char *mode)
{
	char		output[100] = "";
	int			ends[2];
	int			status;
	ssize_t		part;
	size_t		length = 0;
	pid_t		child;

	if (pipe(ends) != 0)
		return false;
	child = fork();
	if (child == 0)
	{
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		execl("/proc/self/exe", "run_tests", mode, (char *) NULL);
		_exit(127);
	}
	close(ends[1]);
	while ((part = read(ends[0], output + length, sizeof(output) - 1 - length)) > 0)
		length += part;
	close(ends[0]);
	return waitpid(child, &status, 0) == child && status == 0 &&
		strcmp(output, expected_output(mode)) == 0;
}

static int
run_all(void)
{
	is_jemalloc();
	test_first_and_last_calls();
	test_functions();
	test_filter();
	test_failures();
	test_errno();
	test_mixture();
	test_idle();
	test_libc();
	test_operators();
	test_closed_library();
	test_threads();
	test_fork_with_threads();
	test_exec();
	test_interruptions();
	return tests_end();
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "child") == 0)
		return allocate_only();
	if (strcmp(mode, "end") == 0)
		return go_on_at_end();
	if (strcmp(mode, "unreached") == 0)
		return stay_unreached();
	if (fake_find_hook() == NULL)
	{
		fprintf(stderr, "The library is not preloaded.\n");
		return 1;
	}
	return run_all();
}

/*
 * bare_fork.c
 *	  Prints the microseconds that a program stands still which has so many bytes of memory written
 *	  to, and forks, a line for each of so many times: what the kernel takes for the page tables.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* As long as a child that proves lives, at least. */
#define CHILD_US 50000

static double
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void
fork_once(void)
{
	double		began = now_us();
	pid_t		child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (child == 0)
	{
		usleep(CHILD_US);
		_exit(0);
	}
	printf("%.0f\n", now_us() - began);
	if (child < 0 || waitpid(child, NULL, 0) != child)
	{
		perror("bare_fork");
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	size_t		bytes = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
	char	   *memory = bytes == 0 ? MAP_FAILED :
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
	{
		fprintf(stderr, "usage: bare_fork BYTES TIMES\n");
		return 1;
	}
	memset(memory, 1, bytes);
	for (int i = atoi(argv[2]); i > 0; i--)
		fork_once();
	return 0;
}

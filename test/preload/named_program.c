/*
 * named_program.c
 *	  Prints what LD_PRELOAD is, "unset" if there is none, and whether the library is
 *	  loaded; then the same of a child.  What it does depends on the name that it is
 *	  called by.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/malloc_hook.h"

static void
print_state(const char *who)
{
	const char *list = getenv("LD_PRELOAD");

	printf("%s: %s, %s\n", who, list != NULL ? list : "unset",
		   dlsym(RTLD_DEFAULT, PLH_MALLOC_HOOK_NAME) != NULL ? "loaded" : "not loaded");
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
	{
		print_state("child");
		return 0;
	}
	print_state("program");
	if (fork() == 0)
	{
		execl("/proc/self/exe", "other", "child", (char *) NULL);
		_exit(127);
	}
	wait(NULL);
	return argv[0] == NULL;
}

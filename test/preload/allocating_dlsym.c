/*
 * allocating_dlsym.c
 *	  A dlsym that allocates, as that of libc before 2.34 does, and makes do if it gets
 *	  nothing.  At the end it says that this was so.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int	refused;

void *
dlsym(void *handle, const char *name)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
	void	   *(*real_dlsym) (void *, const char *) = NULL;
	void	   *block;

	errno = 0;
	block = calloc(1, 32);
	if (block == NULL && errno == ENOMEM)
		refused++;
	free(block);
	for (int i = 0; i < 3 && real_dlsym == NULL; i++)
		real_dlsym = (void *(*) (void *, const char *)) dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	return real_dlsym(handle, name);
}

static __attribute__((destructor))
void
say_whether_refused(void)
{
	if (refused > 0 && write(STDOUT_FILENO, "refused\n", 8) != 8)
		abort();
}

/*
 * test_shared_memory.c
 *	  Which shared memory a process gives up that has detached itself.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "base/detached_child.c"
#include "profile/profile_file.h"

#include "unit_tests.h"

PROC_HDR   *ProcGlobal;
void	   *UsedShmemSegAddr;
int			dynamic_shared_memory_type = DSM_IMPL_POSIX;

#define MAPPED_BYTES 8192

/* Map a new file with a path that ends in six X, or anonymous memory. */
static char *
map(const char *template, int flags)
{
	char		path[256];
	int			fd = -1;
	char	   *mapped;

	if (template != NULL)
	{
		strlcpy(path, template, sizeof(path));
		fd = mkstemp(path);
		if (fd < 0 || ftruncate(fd, MAPPED_BYTES) != 0)
			return NULL;
		unlink(path);
	}
	mapped = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE,
				  flags | (template == NULL ? MAP_ANONYMOUS : 0), fd, 0);
	if (fd >= 0)
		close(fd);
	return mapped == MAP_FAILED ? NULL : mapped;
}

static bool
is_mapped(char *address)
{
	return msync(address, MAPPED_BYTES, MS_ASYNC) == 0;
}

/* What is unmapped in this process, which ends here: with the first that is wrong. */
static void
run_child(void)
{
	char		directory[] = "/tmp/plh_profiles.XXXXXX";
	char		link_path[] = "/tmp/plh_link.XXXXXX";
	char		chosen[64];
	char	   *of_server[6];
	char	   *of_others[4];

	/* the setting may name a directory by a symbolic link */
	if (mkdtemp(directory) == NULL || mkdtemp(link_path) == NULL ||
		rmdir(link_path) != 0 || symlink(directory, link_path) != 0)
		_exit(100);
	strlcpy(plh_load_settings.profile_directory, link_path, MAXPGPATH);
	snprintf(chosen, sizeof(chosen), "%s/XXXXXX", directory);

	of_server[0] = map(NULL, MAP_SHARED);
	of_server[1] = map(NULL, MAP_SHARED);
	of_server[2] = map(NULL, MAP_SHARED);
	of_server[3] = map("/dev/shm/PostgreSQL.XXXXXX", MAP_SHARED);
	of_server[4] = map(chosen, MAP_SHARED);
	of_server[5] = map(chosen, MAP_SHARED);
	of_others[0] = map(NULL, MAP_SHARED);
	of_others[1] = map("/dev/shm/another.XXXXXX", MAP_SHARED);
	of_others[2] = map("/tmp/plh_another.XXXXXX", MAP_SHARED);
	of_others[3] = map(NULL, MAP_PRIVATE);
	ProcGlobal = (PROC_HDR *) (of_server[0] + MAPPED_BYTES / 2);
	UsedShmemSegAddr = of_server[1];
	plh_profile = (PlhProfileHeader *) of_server[2];

	if (!unmap_shared_memory(plh_profile))
		_exit(101);
	unlink(link_path);
	rmdir(directory);
	for (int i = 0; i < lengthof(of_server); i++)
	{
		if (of_server[i] == NULL || is_mapped(of_server[i]))
			_exit(1 + i);
	}
	for (int i = 0; i < lengthof(of_others); i++)
	{
		if (of_others[i] == NULL || !is_mapped(of_others[i]))
			_exit(11 + i);
	}
	_exit(0);
}

void
test_shared_memory(void)
{
	int			status = -1;
	pid_t		pid = fork();

	if (pid == 0)
		run_child();
	waitpid(pid, &status, 0);
	ok(pid > 0 && status == 0,
	   psprintf("memory shared with the server is unmapped, and no other (%d)",
				WIFEXITED(status) ? WEXITSTATUS(status) : -1));
}

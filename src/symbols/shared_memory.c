/*
 * shared_memory.c
 *	  Gives up the memory that a symbolizer's process shares with the server.
 *
 * A damaged file may make a library write anywhere: no such write may reach what the server works
 * with.  And a new postmaster does not start while a process of an old one still has its memory.
 *
 * Libraries that are preloaded may have shared mappings of their own, which their malloc or the
 * like needs in this process, too.  Those stay.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "storage/dsm_impl.h"
#include "storage/pg_shmem.h"
#include "storage/proc.h"

#include "base/limits.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "base/whole_io.h"
#include "profile/profile_file.h"
#include "symbols/shared_memory.h"

/*
 * Room for /proc/self/maps, which has a line of about 100 bytes per mapping.
 */
#define MAPS_BYTES (1024 * 1024)

/* A line of /proc/self/maps. */
typedef struct Mapping
{
	uintptr_t	from;
	uintptr_t	to;
	bool		is_shared;
	const char *path;			/* up to the end of the line */
} Mapping;

/* Where profiles are, as the kernel calls it; empty: in the default directory. */
static PLH_LARGE char profile_directory[PLH_PATH_MAX];

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

/*
 * Read a line "7f0000000000-7f0000010000 rw-s 00000000 00:01 4711    /path", in
 * which s stands for shared.  Returns false if it is none.
 */
static bool
read_line(const char *line, Mapping *mapping)
{
	char	   *rest;

	mapping->from = strtoul(line, &rest, 16);
	mapping->to = *rest == '-' ? strtoul(rest + 1, &rest, 16) : 0;
	if (mapping->to <= mapping->from || strlen(rest) <= 5)
		return false;
	mapping->is_shared = rest[4] == 's';

	/* behind four more words, each with a blank before it */
	for (int words = 0; words < 4; words++)
		rest += 1 + strcspn(rest + 1, " \n");
	mapping->path = rest + strspn(rest, " ");
	return true;
}

static bool
begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool
holds(const Mapping *mapping, const void *address)
{
	return (uintptr_t) address >= mapping->from && (uintptr_t) address < mapping->to;
}

/* Is it PostgreSQL's: its main memory, a dynamic segment, or a ring of io_uring? */
static bool
is_of_server(const Mapping *mapping)
{
	return holds(mapping, ProcGlobal) || holds(mapping, UsedShmemSegAddr) ||
		begins_with(mapping->path, "/dev/shm/PostgreSQL.") ||
		begins_with(mapping->path, "anon_inode:[io_uring]") ||
		(dynamic_shared_memory_type == DSM_IMPL_SYSV &&
		 begins_with(mapping->path, "/SYSV")) ||
		(dynamic_shared_memory_type == DSM_IMPL_MMAP &&
		 strstr(mapping->path, "/" PG_DYNSHMEM_DIR "/" PG_DYNSHMEM_MMAP_FILE_PREFIX) != NULL);
}

/*
 * Is it ours: the profile of this process, the one of the postmaster, which was inherited, or the
 * file of requests?
 */
static bool
is_ours(const Mapping *mapping)
{
	return holds(mapping, plh_profile) ||
		begins_with(mapping->path, profile_directory[0] != '\0' ?
					profile_directory : "/dev/shm/pg_leakhunt.");
}

/* Unmap what a text of mappings has of the server's.  Returns false on failure. */
static bool
unmap_listed(char *text)
{
	for (char *line = text; *line != '\0';)
	{
		char	   *end = strchr(line, '\n');
		Mapping		mapping;

		if (end == NULL)
			break;
		*end = '\0';
		if (read_line(line, &mapping) && mapping.is_shared &&
			(is_of_server(&mapping) || is_ours(&mapping)) &&
			munmap((void *) mapping.from, mapping.to - mapping.from) != 0)
			return false;
		line = end + 1;
	}
	return true;
}

/*
 * Not by stdio, which could need locks and memory that the session held when it forked.
 */
bool
plh_shared_memory_unmap(void)
{
	static PLH_LARGE char text[MAPS_BYTES];
	ssize_t		length;
	int			fd = open("/proc/self/maps", O_RDONLY);

	if (fd < 0)
		return false;
	length = plh_whole_io_read(fd, text, sizeof(text) - 1, PLH_FILE_POSITION);
	close(fd);
	if (length < 0 || length == sizeof(text) - 1)
		return false;
	text[length] = '\0';
	name_profile_directory();
	return unmap_listed(text);
}

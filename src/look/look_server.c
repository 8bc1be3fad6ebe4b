/*
 * look_server.c
 *	  Which PostgreSQL a process is of, and where its memory contexts begin.
 *
 * The server exports its variables, for extensions.  Its version is a text among its constants.
 */
#include "postgres.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/whole_io.h"
#include "heap/heap_variables.h"
#include "look/look_server.h"

#define VERSION_TEXT "postgres (PostgreSQL) "

static char *
binary_of(int pid)
{
	return psprintf("/proc/%d/exe", pid);
}

static void
check_binary(int pid)
{
	char		identity[EI_NIDENT];
	int			fd = open(binary_of(pid), O_RDONLY | O_CLOEXEC);

	if (fd < 0 && (errno == EACCES || errno == EPERM))
		ereport(ERROR, (errmsg("permission denied to look at process %d", pid),
						errhint("Run this as root, or as the server's user.")));
	if (fd < 0)
		ereport(ERROR, (errmsg("process %d has no program", pid),
						errhint("It is one of the kernel's, or has just ended.")));
	if (plh_whole_io_read(fd, identity, sizeof(identity), 0) == sizeof(identity) &&
		memcmp(identity, ELFMAG, SELFMAG) == 0 && identity[EI_CLASS] == ELFCLASS32)
		ereport(ERROR, (errmsg("process %d is a 32-bit program", pid),
						errhint("Only 64-bit servers can be looked at.")));
	close(fd);
}

void
plh_look_server_check(int pid)
{
	uint64		address;

	if (access(psprintf("/proc/%d", pid), F_OK) != 0)
		ereport(ERROR, (errmsg("there is no process %d", pid),
						errhint("SELECT pid FROM pg_stat_activity has those of a server. "
								"In a container, processes have other ids within than outside.")));
	check_binary(pid);
	if (!plh_heap_variables_exported(binary_of(pid), "TopMemoryContext", &address))
		ereport(ERROR, (errmsg("process %d is not one of PostgreSQL's", pid),
						errhint("Its program has no variable TopMemoryContext.")));
}

/* Is it a segment of the server's own binary? */
static bool
is_of_binary(const PlhLookCopy *copy, const PlhHeapSegment *segment)
{
	return segment->flags & PLH_HEAP_FILE &&
		strcmp(segment->path + strlen(copy->root), copy->binary_name) == 0;
}

/* The difference of addresses in memory to those of the binary. */
static bool
find_bias(const PlhLookCopy *copy, uintptr_t *bias)
{
	for (uint32 i = 0; i < copy->memory.count; i++)
	{
		const PlhHeapSegment *segment = &copy->memory.segments[i];
		PlhHeapVariables variables;

		if (!is_of_binary(copy, segment) || !(segment->flags & PLH_HEAP_ROOT) ||
			!plh_heap_variables_place(&variables, copy->binary, segment->start,
									  segment->file_offset))
			continue;
		*bias = variables.bias;
		return true;
	}
	return false;
}

/* What a variable of the server points to; 0: nothing. */
static uintptr_t
pointer_of(PlhLookCopy *copy, const char *name, uintptr_t bias)
{
	uint64		address;
	const void *bytes;
	uintptr_t	pointer;

	if (!plh_heap_variables_exported(copy->binary, name, &address))
		return 0;
	bytes = plh_heap_memory_at(&copy->memory, bias + address, sizeof(pointer));
	if (bytes == NULL)
		return 0;
	memcpy(&pointer, bytes, sizeof(pointer));
	return pointer;
}

/* Read "postgres (PostgreSQL) 15.8 (Debian 15.8-0)", which ends with its line. */
static bool
find_version(PlhLookServer *server, const PlhLookCopy *copy)
{
	for (uint32 i = 0; i < copy->memory.count; i++)
	{
		const PlhHeapSegment *segment = &copy->memory.segments[i];
		Size		bytes = segment->end - segment->start;
		const char *found;

		if (!is_of_binary(copy, segment) || segment->flags & PLH_HEAP_ROOT)
			continue;
		found = memmem(segment->bytes, bytes, VERSION_TEXT, strlen(VERSION_TEXT));
		if (found == NULL)
			continue;
		found += strlen(VERSION_TEXT);
		bytes = Min(segment->bytes + bytes - found, sizeof(server->version) - 1);
		bytes = strnlen(found, bytes);
		memcpy(server->version, found, bytes);
		server->version[bytes] = '\0';
		server->version[strcspn(server->version, " \n")] = '\0';
		server->version_num = atoi(server->version) * 10000;
		return true;
	}
	return false;
}

/* Has the first context its name? */
static bool
is_top(PlhLookCopy *copy, const char *header)
{
	char		name[64];
	uint64		address;

	memcpy(&address, header + PLH_HEAP_NAME, sizeof(address));
	return plh_heap_memory_text(&copy->memory, address, name, sizeof(name)) &&
		strcmp(name, "TopMemoryContext") == 0;
}

void
plh_look_server_find(PlhLookServer *server, PlhLookCopy *copy)
{
	uintptr_t	bias = 0;
	const void *header;
	uint32		tag = 0;

	*server = (PlhLookServer)
	{
		0
	};
	if (!find_bias(copy, &bias) || !find_version(server, copy))
		ereport(ERROR, (errmsg("could not find which PostgreSQL process %d is of", copy->pid),
						errhint("Its program does not say so as PostgreSQL's own does.")));
	server->top_context = pointer_of(copy, "TopMemoryContext", bias);
	server->cache_context = pointer_of(copy, "CacheMemoryContext", bias);
	header = plh_heap_memory_at(&copy->memory, server->top_context, PLH_HEAP_CONTEXT_BYTES);
	if (header == NULL)
		ereport(ERROR, (errmsg("process %d has no memory contexts yet", copy->pid),
						errhint("Try again once it has begun to work.")));
	memcpy(&tag, header, sizeof(tag));
	if (!is_top(copy, header))
		ereport(ERROR, (errmsg("the memory contexts of process %d are not what they are in "
							   "PostgreSQL %s", copy->pid, server->version),
						errhint("The process may be damaged. A core file may be of another "
								"build than the program.")));
	if (!plh_heap_layout_read(&server->layout, server->version_num, tag))
		ereport(ERROR, (errmsg("PostgreSQL %s is not known", server->version),
						errhint("Those that can be looked at are 13 to %d.",
								PLH_HEAP_LAST_MAJOR)));
}

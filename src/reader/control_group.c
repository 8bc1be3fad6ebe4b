/*
 * control_group.c
 *	  The control groups of this process, or others that are named, and the kernel's files of them.
 *
 * In a container, what is mounted may be the group of the container itself, and its path is one
 * outside: so each group on the way outwards may be missing, and the mount stands for the last.
 */
#include "postgres.h"

#include <unistd.h>

#include "base/limits.h"
#include "base/process_facts.h"
#include "reader/control_group.h"

/* Room for the files that are read. */
#define TEXT_BYTES 8192

static const PlhGroupFiles versions[] = {
	{
		.mark = "0::",
		.mount = "/sys/fs/cgroup",
		.root_mark = "",
		.limit = "memory.max",
		.slow = "memory.high",
		.usage = "memory.current",
		.swap = "memory.swap.current",
		.swap_limit = "memory.swap.max",
		.pressure = "memory.pressure",
		.reclaimable = "inactive_file",
		.recent = "active_file",
		.slab = "slab_reclaimable",
		.anon = "anon",
		.shmem = "shmem",
		.file = "file"
	}, {
		.mark = ":memory:",
		.mount = "/sys/fs/cgroup/memory",
		.root_mark = "release_agent",
		.limit = "memory.limit_in_bytes",
		.slow = "",
		.usage = "memory.usage_in_bytes",
		.swap = "memory.memsw.usage_in_bytes",
		.swap_limit = "memory.memsw.limit_in_bytes",
		.swap_has_memory = true,
		.pressure = "memory.pressure",
		.kernel = "memory.kmem.usage_in_bytes",
		.reclaimable = "total_inactive_file",
		.recent = "total_active_file",
		.slab = "total_slab_reclaimable",
		.anon = "total_rss",
		.shmem = "total_shmem",
		.file = "total_cache"
	}
};

int64
plh_control_group_number_of(const char *text, const char *key)
{
	Size		length = strlen(key);

	if (length == 0)
		return strtoll(text, NULL, 10);
	for (const char *line = text; *line != '\0'; line += strspn(line, "\n"))
	{
		if (strncmp(line, key, length) == 0 && (line[length] == ' ' || line[length] == ':'))
			return strtoll(line + length + 1, NULL, 10);
		line += strcspn(line, "\n");
	}
	return 0;
}

int64
plh_control_group_number_in(const char *path, const char *key)
{
	char		text[TEXT_BYTES];

	if (!plh_process_facts_read(path, text, sizeof(text)))
		return 0;
	return plh_control_group_number_of(text, key);
}

static void
group_path(char *path, const PlhGroupFiles *files, const char *group, const char *name)
{
	snprintf(path, PLH_PATH_MAX, "%s%s/%s", files->mount, group, name);
}

int64
plh_control_group_number(const PlhGroupFiles *files, const char *group, const char *name,
						 const char *key)
{
	char		path[PLH_PATH_MAX];

	group_path(path, files, group, name);
	return plh_control_group_number_in(path, key);
}

bool
plh_control_group_text(const PlhGroupFiles *files, const char *group, const char *name,
					   char *text, Size size)
{
	char		path[PLH_PATH_MAX];

	group_path(path, files, group, name);
	return plh_process_facts_read(path, text, size);
}

bool
plh_control_group_has(const PlhGroupFiles *files, const char *group, const char *name)
{
	char		path[PLH_PATH_MAX];

	group_path(path, files, group, name);
	return name[0] != '\0' && access(path, R_OK) == 0;
}

bool
plh_control_group_is_machine(const PlhGroupFiles *files, const char *group)
{
	return plh_control_group_has(files, group, files->root_mark);
}

/* From a group on outwards.  Its path is changed. */
static void
visit_outwards(const PlhGroupFiles *files, char *group, PlhGroupVisitor visit, void *arg)
{
	char	   *slash;

	while ((slash = strrchr(group, '/')) != NULL)
	{
		if (slash[1] != '\0')
			visit(files, group, arg);
		*slash = '\0';
	}
	visit(files, "", arg);
}

/* Called with the group of a process in one version. */
typedef void (*GroupAction) (const PlhGroupFiles *files, char *group, void *arg);

/* Act on the group that a line of /proc/PID/cgroup names, if it is of a version with memory. */
static void
act_on_line(char *line, GroupAction act, void *arg)
{
	for (int i = 0; i < lengthof(versions); i++)
	{
		char	   *mark = strstr(line, versions[i].mark);

		if (mark == NULL)
			continue;
		act(&versions[i], mark + strlen(versions[i].mark), arg);
		return;
	}
}

/* The groups of a process, one of each version. */
static void
each_group_of(int pid, GroupAction act, void *arg)
{
	char		path[64];
	char		text[TEXT_BYTES];
	char	   *rest = text;
	char	   *line;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (!plh_process_facts_read(path, text, sizeof(text)))
		return;
	while ((line = strsep(&rest, "\n")) != NULL)
		act_on_line(line, act, arg);
}

typedef struct Visit
{
	PlhGroupVisitor visit;
	void	   *arg;
} Visit;

/* GroupAction */
static void
visit_from(const PlhGroupFiles *files, char *group, void *arg)
{
	const Visit *visit = arg;

	visit_outwards(files, group, visit->visit, visit->arg);
}

void
plh_control_group_visit(int pid, PlhGroupVisitor visit, void *arg)
{
	Visit		state = {visit, arg};

	each_group_of(pid, visit_from, &state);
}

/* A name leads nowhere but below the mount. */
static bool
is_sound(const char *name)
{
	Size		length = strlen(name);

	return name[0] == '/' && length < PLH_PATH_MAX / 2 && strstr(name, "/../") == NULL &&
		(length < 3 || strcmp(name + length - 3, "/..") != 0);
}

/* A name without slashes at its end, so that "/" is the mount. */
static char *
trimmed(const char *name)
{
	char	   *group = pstrdup(name);

	for (Size length = strlen(group); length > 0 && group[length - 1] == '/'; length--)
		group[length - 1] = '\0';
	return group;
}

bool
plh_control_group_visit_named(const char *name, PlhGroupVisitor visit, void *arg)
{
	char	   *group = is_sound(name) ? trimmed(name) : NULL;

	if (group == NULL)
		return false;
	for (int i = 0; i < lengthof(versions); i++)
	{
		if (!plh_control_group_has(&versions[i], group, versions[i].usage) ||
			plh_control_group_is_machine(&versions[i], group))
			continue;
		visit_outwards(&versions[i], group, visit, arg);
		return true;
	}
	return false;
}

typedef struct Search
{
	const char *name;
	bool		found;
} Search;

/* GroupAction: is the searched one this, or around it? */
static void
compare_own(const PlhGroupFiles *files, char *group, void *arg)
{
	Search	   *search = arg;
	Size		length = strlen(search->name);

	if (strncmp(group, search->name, length) == 0 &&
		(group[length] == '\0' || group[length] == '/') &&
		plh_control_group_has(files, search->name, files->usage))
		search->found = true;
}

bool
plh_control_group_has_this_process(const char *name)
{
	Search		search = {trimmed(name)};

	each_group_of(getpid(), compare_own, &search);
	return search.found;
}

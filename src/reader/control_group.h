/*
 * control_group.h
 *	  The control groups of this process, or others that are named, and the kernel's files of them.
 *
 * Never called inside palloc.
 */
#pragma once

/* The files of one version of control groups. */
typedef struct PlhGroupFiles
{
	const char *mark;			/* of its line in /proc/self/cgroup */
	const char *mount;			/* where it is mounted, by systemd's custom */
	const char *root_mark;		/* a file of the group that is the machine */
	const char *limit;
	const char *slow;			/* file of the limit beyond which it is slow */
	const char *usage;
	const char *swap;			/* files of swap in use, and of its limit */
	const char *swap_limit;
	bool		swap_has_memory;	/* both are of memory and swap together */
	const char *kernel;			/* file of the kernel's part, or NULL */
	const char *pressure;		/* file of how long processes wait for memory */
	const char *reclaimable;	/* key in memory.stat: cache that goes first */
	const char *recent;			/* and then */
	const char *slab;			/* what goes of the kernel's own */
	const char *anon;			/* and keys of parts; "file" has shared memory */
	const char *shmem;
	const char *file;
} PlhGroupFiles;

/* Called with a group: its path below the mount, "" for the mount itself. */
typedef void (*PlhGroupVisitor) (const PlhGroupFiles *files, const char *group, void *arg);

/* From the group of a process outwards, in all versions that are mounted. */
extern void plh_control_group_visit(int pid, PlhGroupVisitor visit, void *arg);

/*
 * From a named group outwards: its name begins with a slash, as in /proc/PID/cgroup.  Returns false
 * where there is none of that name that counts memory.
 */
extern bool plh_control_group_visit_named(const char *name, PlhGroupVisitor visit, void *arg);

/* Is that the group of this process, or one around it? */
extern bool plh_control_group_has_this_process(const char *name);

/* Is that group the machine, which no group counts for? */
extern bool plh_control_group_is_machine(const PlhGroupFiles *files, const char *group);

/* The number behind a key of a file, or, for "", its first; 0 where there is none. */
extern int64 plh_control_group_number(const PlhGroupFiles *files, const char *group,
									  const char *name, const char *key);

/* The text of a file; false where there is none. */
extern bool plh_control_group_text(const PlhGroupFiles *files, const char *group, const char *name,
								   char *text, Size size);

/* The number behind a key in such a text, or, for "", its first; 0 where there is none. */
extern int64 plh_control_group_number_of(const char *text, const char *key);

extern bool plh_control_group_has(const PlhGroupFiles *files, const char *group, const char *name);
extern int64 plh_control_group_number_in(const char *path, const char *key);

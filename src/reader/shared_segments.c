/*
 * shared_segments.c
 *	  The dynamic segments of shared memory that processes of this server have mapped, and whose
 *	  they are.
 *
 * Which of the files in /dev/shm are this server's is known by who has mapped them, as another
 * server of the same user has some, too.  A segment of a parallel query is mapped by its leader and
 * the workers; one of the server's statistics, or of an extension, by sessions that have nothing to
 * do with each other.  One that nobody has mapped is nobody's here.
 */
#include "postgres.h"

#include <dirent.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "base/limits.h"
#include "reader/server_activity.h"
#include "reader/shared_segments.h"

#define SHM_DIRECTORY "/dev/shm"
#define SEGMENT_PREFIX "PostgreSQL."

#define MOST_SEGMENTS 4096

/* What st_blocks counts. */
#define STAT_BLOCK_BYTES 512

/* The segment of that inode; NULL: it is none. */
static PlhSharedSegment *
find_segment(PlhSharedSegments *read, ino_t inode)
{
	for (int i = 0; i < read->count; i++)
		if (read->segments[i].inode == inode)
			return &read->segments[i];
	return NULL;
}

/* The files in /dev/shm of this user's servers. */
static void
find_files(PlhSharedSegments *read)
{
	DIR		   *dir = AllocateDir(SHM_DIRECTORY);
	struct dirent *entry;

	/* LOG, not ERROR: without it there are no such segments */
	while ((entry = ReadDirExtended(dir, SHM_DIRECTORY, LOG)) != NULL)
	{
		char		path[PLH_PATH_MAX];
		struct stat status;

		if (strncmp(entry->d_name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", SHM_DIRECTORY, entry->d_name);
		if (stat(path, &status) != 0 || status.st_uid != geteuid())
			continue;
		read->are_all = read->count < MOST_SEGMENTS;
		if (!read->are_all)
			break;
		read->segments[read->count++] = (PlhSharedSegment)
		{
			status.st_ino, (int64) status.st_blocks * STAT_BLOCK_BYTES
		};
	}
	if (dir != NULL)
		FreeDir(dir);
}

/* The session that a process works for. */
static int
session_of(int pid)
{
	PlhServerActivity activity;

	return plh_server_activity_find(pid, &activity) && activity.leader_pid != 0 ?
		activity.leader_pid : pid;
}

/* Note that a process of a session has mapped a segment. */
static void
claim(PlhSharedSegment *segment, int session)
{
	if (segment->processes == 0)
		segment->owner_pid = session;
	else if (segment->owner_pid != session)
		segment->owner_pid = 0;
	segment->processes++;
}

/* Note which segments a process has mapped, each in one piece. */
static void
claim_mapped(PlhSharedSegments *read, int pid)
{
	char		line[PLH_PATH_MAX];
	int			session = session_of(pid);
	FILE	   *maps;

	snprintf(line, sizeof(line), "/proc/%d/maps", pid);
	maps = AllocateFile(line, "r");
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
	{
		unsigned long inode;
		PlhSharedSegment *segment;

		if (strstr(line, SHM_DIRECTORY "/" SEGMENT_PREFIX) == NULL ||
			sscanf(line, "%*s %*s %*s %*s %lu", &inode) != 1)
			continue;
		segment = find_segment(read, inode);
		if (segment != NULL)
			claim(segment, session);
	}
	if (maps != NULL)
		FreeFile(maps);
}

/* Forget those that nobody has mapped: they may be another server's. */
static void
drop_unclaimed(PlhSharedSegments *read)
{
	int			kept = 0;

	for (int i = 0; i < read->count; i++)
		if (read->segments[i].processes > 0)
			read->segments[kept++] = read->segments[i];
	read->count = kept;
}

void
plh_shared_segments_read(PlhSharedSegments *read, const List *pids)
{
	ListCell   *cell;

	*read = (PlhSharedSegments)
	{
		.segments = palloc(sizeof(PlhSharedSegment) * MOST_SEGMENTS),
			.are_all = true
	};
	find_files(read);
	foreach(cell, pids)
	{
		if (read->count == 0)
			break;
		CHECK_FOR_INTERRUPTS();
		claim_mapped(read, lfirst_int(cell));
	}
	drop_unclaimed(read);
}

void
plh_shared_segments_room(int64 *size, int64 *used)
{
	struct statfs room;

	*size = *used = 0;
	if (statfs(SHM_DIRECTORY, &room) != 0 || room.f_type != TMPFS_MAGIC)
		return;
	*size = (int64) room.f_blocks * room.f_bsize;
	*used = (int64) (room.f_blocks - room.f_bfree) * room.f_bsize;
}

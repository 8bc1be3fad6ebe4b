/*
 * server_figures.c
 *	  Sums of what all processes of this server hold, by backend type.
 *
 * Monitoring asks every few seconds about a thousand processes, so each costs a few short reads:
 * the heads of its profile and of its last proof, and a line of /proc.  Which processes there are,
 * and whether a profile is theirs, is known from the server's statistics by their pids and starts.
 * The kernel is asked only about the few processes that are not in the statistics, such as the
 * postmaster.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/fd.h"

#include "base/limits.h"
#include "base/process_facts.h"
#include "profile/last_proof.h"
#include "profile/profile_image.h"
#include "reader/collections.h"
#include "reader/database_text.h"
#include "reader/profile_reader.h"
#include "reader/server_figures.h"
#include "reader/server_processes.h"

/* The figures so far, and what they are collected with. */
typedef struct Collecting
{
	PlhServerFigures *figures;
	int			profiled_room;
	const char *directory;
	bool		is_preloaded;
	HTAB	   *met;			/* pids of the processes that were met */
	HTAB	   *owners;			/* of these, those that have a profile */
} Collecting;

static void
note_pid(HTAB *pids, int pid)
{
	(void) hash_search(pids, &pid, HASH_ENTER, NULL);
}

static bool
has_pid(HTAB *pids, int pid)
{
	return hash_search(pids, &pid, HASH_FIND, NULL) != NULL;
}

/* qsort comparator: the largest first. */
static int
compare_sizes(const void *a, const void *b)
{
	const PlhProfiledProcess *left = a;
	const PlhProfiledProcess *right = b;

	if (left->rss_anon_bytes != right->rss_anon_bytes)
		return left->rss_anon_bytes > right->rss_anon_bytes ? -1 : 1;
	return left->pid - right->pid;
}

/* The figures of a type; those of all others where there are too many. */
static PlhTypeFigures *
type_figures(PlhServerFigures *figures, const char *type)
{
	PlhTypeFigures *found;

	for (int i = 0; i < figures->type_count; i++)
	{
		found = &figures->types[i];
		if (plh_texts_are_same(found->backend_type, type))
			return found;
	}
	if (type != NULL && figures->type_count >= PLH_FIGURED_TYPES)
		return type_figures(figures, NULL);
	found = &figures->types[figures->type_count++];
	found->backend_type = type;
	return found;
}

static void
add_header(PlhServerFigures *figures, PlhTypeFigures *type, const PlhProfileHeader *header)
{
	figures->unsampled += header->sample_interval == 0;
	figures->live_bytes += header->counters.live_bytes;
	figures->overhead_bytes += header->overhead_bytes + header->profile_bytes;
	figures->samples_taken += header->samples_taken;
	figures->samples_dropped += plh_profile_image_lost_samples(header);
	figures->wrong_stacks += header->wrong_stacks;
	if (header->census_at == 0)
		return;
	type->counted++;
	type->context_bytes += header->context_bytes;
	if (header->malloc_bytes < 0)
		return;
	type->malloc_counted++;
	type->malloc_bytes += header->malloc_bytes;
}

/* What was proven last, of a process that lives. */
static void
add_proof(PlhTypeFigures *type, const PlhProfileHeader *header)
{
	PlhProof	proof;

	if (!plh_last_proof_peek(&proof, header))
		return;
	type->oldest_proof_at = type->proven == 0 ? proof.at : Min(type->oldest_proof_at, proof.at);
	type->proven++;
	type->lost_bytes += proof.lost_bytes;
	type->resettable_bytes += proof.resettable_bytes;
}

/* The start is that in the server's statistics, or 0 where these do not have the process. */
static bool
read_header(const Collecting *collecting, int pid, TimestampTz started_at, PlhProfileHeader *header)
{
	char		path[PLH_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d", collecting->directory, pid);
	if (!plh_profile_reader_peek(path, header) || header->pid != pid)
		return false;
	return started_at != 0 ? header->started_at == started_at :
		plh_process_facts_is_alive(pid, header->process_start);
}

static void
add_process(Collecting *collecting, int pid, const char *backend_type, TimestampTz started_at)
{
	PlhServerFigures *figures = collecting->figures;
	PlhTypeFigures *type;
	PlhProfileHeader header;
	int64		rss_anon_bytes = plh_process_facts_rss_anon_bytes(pid);

	/* it is gone */
	if (rss_anon_bytes < 0)
		return;
	type = type_figures(figures, backend_type);
	type->processes++;
	type->rss_anon_bytes += rss_anon_bytes;
	type->rss_anon_max_bytes = Max(type->rss_anon_max_bytes, rss_anon_bytes);
	if (read_header(collecting, pid, started_at, &header))
	{
		PlhProfiledProcess profiled = {pid, rss_anon_bytes};

		figures->profiled = plh_array_grow(figures->profiled, figures->profiled_count,
										   &collecting->profiled_room, sizeof(profiled));
		figures->profiled[figures->profiled_count++] = profiled;
		note_pid(collecting->owners, pid);
		add_header(figures, type, &header);
		add_proof(type, &header);
	}
	else
		figures->unsampled += !collecting->is_preloaded;
}

static void
add_known(Collecting *collecting, PlhRoleFilter may_see)
{
	int			count = plh_server_activity_count();

	for (int i = 0; i < count; i++)
	{
		PlhServerActivity activity;

		CHECK_FOR_INTERRUPTS();
		if (!plh_server_activity_at(i, &activity))
			continue;
		note_pid(collecting->met, activity.pid);
		if (may_see(activity.role_oid))
			add_process(collecting, activity.pid, activity.backend_type, activity.started_at);
	}
}

/* Add the processes that these do not have: they are of no role. */
static void
add_others(Collecting *collecting, PlhTypeOfOther type_of_other)
{
	ListCell   *cell;

	foreach(cell, plh_server_processes_children())
	{
		int			pid = lfirst_int(cell);

		if (!has_pid(collecting->met, pid))
			add_process(collecting, pid, type_of_other(pid), 0);
	}
}

/* Is that file the profile of a process that is gone, and may be seen? */
static bool
is_crashed(const Collecting *collecting, const char *name, PlhRoleFilter may_see)
{
	PlhProfileHeader header;
	char		path[PLH_PATH_MAX];

	if (name[0] < '0' || name[0] > '9' ||
		(strchr(name, '.') == NULL && has_pid(collecting->owners, atoi(name))))
		return false;
	snprintf(path, sizeof(path), "%s/%s", collecting->directory, name);
	return plh_profile_reader_peek(path, &header) &&
		!plh_process_facts_is_alive(header.pid, header.process_start) && may_see(header.role_oid);
}

static void
count_crashed(Collecting *collecting, PlhRoleFilter may_see)
{
	DIR		   *dir = AllocateDir(collecting->directory);
	struct dirent *entry;

	/* LOG, not ERROR: a directory that is gone has no profiles */
	while ((entry = ReadDirExtended(dir, collecting->directory, LOG)) != NULL)
		collecting->figures->crashed += is_crashed(collecting, entry->d_name, may_see);
	FreeDir(dir);
}

/* "directory" is that of the profiles, or NULL where there is none. */
PlhServerFigures *
plh_server_figures_collect(const char *directory, bool is_preloaded,
						   PlhRoleFilter may_see, PlhTypeOfOther type_of_other)
{
	Collecting	collecting = {
		.figures = palloc0(sizeof(PlhServerFigures)),
		.profiled_room = 64,
		.directory = directory != NULL ? directory : "",
		.is_preloaded = is_preloaded,
		.met = plh_hash_table("pg_leakhunt pids", sizeof(int), sizeof(int)),
		.owners = plh_hash_table("pg_leakhunt pids", sizeof(int), sizeof(int))
	};
	PlhServerFigures *figures = collecting.figures;

	figures->profiled = palloc(sizeof(PlhProfiledProcess) * collecting.profiled_room);
	add_known(&collecting, may_see);
	if (may_see(InvalidOid))
		add_others(&collecting, type_of_other);
	if (directory != NULL)
		count_crashed(&collecting, may_see);
	qsort(figures->profiled, figures->profiled_count, sizeof(PlhProfiledProcess), compare_sizes);
	return figures;
}

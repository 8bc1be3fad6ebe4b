/*
 * session_memory.c
 *	  What the memory of one session is, for the record of capacity.
 *
 * The kernel tells the private memory of a process in ten microseconds.  What it has while it is
 * idle is what it keeps.  While a statement runs, what is beyond that is the statement's, less what
 * the session had beside statements at its last count, if that is more: caches grow meanwhile.  A
 * session that stays idle has not changed.
 */
#include "postgres.h"

#include "base/limits.h"
#include "base/process_facts.h"
#include "judge/account.h"
#include "reader/profile_reader.h"
#include "reader/server_memory.h"
#include "reader/server_processes.h"
#include "watch/session_memory.h"

/* What it had beside its statement or transaction at its last count; -1: there was none. */
static int64
lasting_bytes(const char *directory, const PlhServerActivity *activity)
{
	const PlhProfileImage *image = plh_profile_reader_find(directory, activity->pid, true);
	const PlhProfileHeader *header;

	if (image == NULL || image->header->started_at != activity->started_at ||
		image->header->census_at == 0)
		return -1;
	header = image->header;
	return Max(0, header->own_bytes - Max(0, header->passing_bytes));
}

static bool
is_idle(const PlhServerActivity *activity)
{
	return activity->state != NULL && strcmp(activity->state, "idle") == 0;
}

/*
 * What it keeps of its private memory; -1: of a session that was never idle when it was seen, and
 * has counted nothing, nobody can tell.
 */
static int64
kept_bytes(const PlhSessionMemory *memory, const char *directory,
		   const PlhServerActivity *activity)
{
	int64		lasting = memory->was_idle ? memory->private_bytes :
		lasting_bytes(directory, activity);

	if (lasting < 0 && memory->idle_bytes == 0)
		return -1;
	return Min(memory->private_bytes, Max(memory->idle_bytes, lasting));
}

bool
plh_session_memory_read(PlhSessionMemory *memory, const char *directory,
						const PlhServerActivity *activity, PlhCapacitySession *session)
{
	bool		idle = is_idle(activity);
	int64		kept;

	if (!idle || !memory->was_idle || memory->state_since != activity->state_since)
		memory->is_read = false;
	if (!memory->is_read)
		memory->private_bytes = plh_process_facts_rss_anon_bytes(activity->pid);
	if (memory->private_bytes < 0)
		return false;
	memory->is_read = true;
	memory->was_idle = idle;
	memory->state_since = activity->state_since;
	if (idle)
		memory->idle_bytes = memory->private_bytes;
	kept = kept_bytes(memory, directory, activity);
	session->is_told_apart = kept >= 0;
	if (kept < 0)
		kept = memory->private_bytes;
	session->is_active = !idle;
	session->session_bytes = kept + memory->beside_bytes;
	session->statement_bytes = memory->private_bytes - kept;
	session->is_counted = memory->counted_at != 0;
	memcpy(session->parts, memory->parts, sizeof(session->parts));
	return true;
}

/* The contexts of the session, by what they are of. */
static void
add_contexts(int64 *parts, const PlhAccount *account)
{
	parts[PLH_CAPACITY_CONTEXTS] = account->lasting_bytes;
	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];
		PlhCapacityPart part;

		if (!family->lasting || family->family == NULL)
			continue;
		if (family->family->kind == PLH_FAMILY_CACHE)
			part = PLH_CAPACITY_CATALOGS;
		else if (family->family->kind == PLH_FAMILY_PLANS ||
				 family->family->kind == PLH_FAMILY_FUNCTIONS)
			part = PLH_CAPACITY_PLANS;
		else
			continue;
		parts[part] += family->bytes;
		parts[PLH_CAPACITY_CONTEXTS] -= family->bytes;
	}
	parts[PLH_CAPACITY_CONTEXTS] = Max(0, parts[PLH_CAPACITY_CONTEXTS]);
}

static void
count_parts(PlhSessionMemory *memory, const PlhProfileImage *image)
{
	const PlhAccount *account = plh_account_make(image);

	if (!account->is_counted)
		return;
	memset(memory->parts, 0, sizeof(memory->parts));
	add_contexts(memory->parts, account);
	memory->parts[PLH_CAPACITY_MALLOC] = account->outside_bytes;
	memory->parts[PLH_CAPACITY_FREED] = account->freed_bytes;
	memory->counted_at = image->header->census_at;
}

void
plh_session_memory_count(PlhSessionMemory *memory, const char *directory, int pid)
{
	PlhProcessMemory process;
	PlhProfileHeader header;
	char		path[PLH_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d", directory, pid);
	plh_server_processes_memory(pid, &process);
	memory->beside_bytes = process.page_table_bytes + process.swapped_bytes +
		plh_server_memory_of_file(path);

	/* one that is idle may have given memory back */
	memory->is_read = false;
	if (plh_profile_reader_peek(path, &header) && header.census_at != memory->counted_at)
	{
		const PlhProfileImage *image = plh_profile_reader_find(directory, pid, false);

		if (image != NULL)
			count_parts(memory, image);
	}
	memory->parts[PLH_CAPACITY_BESIDE] = memory->beside_bytes;
}

/*
 * watched_processes.c
 *	  What the keeper remembers between two looks: judgements, findings, and what was logged.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "base/fork.h"
#include "base/settings.h"
#include "watch/watched_processes.h"

/* What has changed by less is judged only so often. */
#define CHANGED_PART 8
#define CHANGED_BYTES INT64CONST(1048576)
#define QUIET_US INT64CONST(20000000)

/* Only the keeper has it. */
static PLH_SURVIVES_FORK HTAB *processes;

static void
make_table(void)
{
	HASHCTL		control = {
		.keysize = sizeof(int),
		.entrysize = sizeof(PlhWatchedProcess),
		.hcxt = TopMemoryContext
	};

	processes = hash_create("pg_leakhunt watched processes", 64, &control,
							HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

PlhWatchedProcess *
plh_watched_processes_find(const PlhProfileHeader *header, int64 now)
{
	int			pid = header->pid;
	PlhWatchedProcess *process;
	bool		found;

	if (processes == NULL)
		make_table();
	process = hash_search(processes, &pid, HASH_ENTER, &found);
	if (!found || process->started_at != header->started_at)
	{
		memset(process, 0, sizeof(*process));
		process->pid = pid;
		process->started_at = header->started_at;
	}
	process->seen_at = now;
	return process;
}

/* What a process holds, by samples or by the kernel's last count. */
static int64
bytes_of(const PlhProfileHeader *header)
{
	return Max(header->counters.live_bytes, header->own_bytes);
}

bool
plh_watched_processes_is_due(const PlhWatchedProcess *process,
							 const PlhProfileHeader *header, int64 now)
{
	int64		change = bytes_of(header) - process->bytes;

	if (process->judged_at == 0 || process->awaits)
		return true;
	if (process->samples_taken == header->samples_taken && process->census_at == header->census_at)
		return false;
	return Max(change, -change) >= Max(CHANGED_BYTES, process->bytes / CHANGED_PART) ||
		now - process->judged_at >= plh_keeper_time(QUIET_US);
}

void
plh_watched_processes_begin_judgement(PlhWatchedProcess *process,
									  const PlhProfileHeader *header, int64 now)
{
	process->before_at = process->judged_at;
	process->judged_at = now;
	process->samples_taken = header->samples_taken;
	process->census_at = header->census_at;
	process->bytes = bytes_of(header);
	process->awaits = false;
}

/* The place of a finding: its own, a free one, or that of the one seen longest ago. */
static PlhWatchedFinding *
place_of(PlhWatchedProcess *process, uint64 key)
{
	PlhWatchedFinding *oldest = &process->findings[0];

	for (int i = 0; i < PLH_WATCHED_FINDINGS; i++)
	{
		PlhWatchedFinding *finding = &process->findings[i];

		if (finding->seen_at != 0 && finding->key == key)
			return finding;
		if (finding->seen_at < oldest->seen_at)
			oldest = finding;
	}
	memset(oldest, 0, sizeof(*oldest));
	oldest->key = key;
	return oldest;
}

/* It is told once it was there at two judgements, with none between that did not see it. */
bool
plh_watched_processes_note_finding(PlhWatchedProcess *process, uint64 key, int64 bytes,
								   int64 now)
{
	PlhWatchedFinding *finding = place_of(process, key);
	bool		was_told = finding->told_bytes > 0 &&
		bytes / PLH_WATCHED_GROWTH < finding->told_bytes;

	if (finding->seen_at == 0 || finding->seen_at != process->before_at)
		finding->since = now;
	finding->seen_at = now;
	if (was_told)
		return false;
	if (now - finding->since >= plh_keeper_time(PLH_WATCHED_LAST_US))
		return true;
	process->awaits = true;
	return false;
}

void
plh_watched_processes_order(int pid, uint64 key, int64 bytes)
{
	PlhWatchedProcess *process = plh_watched_processes_known(pid);

	if (process == NULL)
		return;
	if (bytes > 0)
		place_of(process, key)->told_bytes = bytes;
	else
		process->awaits = true;
}

PlhWatchedProcess *
plh_watched_processes_known(int pid)
{
	return processes == NULL ? NULL : hash_search(processes, &pid, HASH_FIND, NULL);
}

void
plh_watched_processes_look_again(int pid)
{
	PlhWatchedProcess *process = plh_watched_processes_known(pid);

	if (process != NULL)
		process->awaits = true;
}

void
plh_watched_processes_forget(int64 before)
{
	HASH_SEQ_STATUS scan;
	PlhWatchedProcess *process;

	if (processes == NULL)
		return;
	hash_seq_init(&scan, processes);
	while ((process = hash_seq_search(&scan)) != NULL)
		if (process->seen_at < before)
			hash_search(processes, &process->pid, HASH_REMOVE, NULL);
}

/*
 * A finding is known by its contents.  Offsets of records are of no use: a record that is given up
 * leaves its place to another one.
 */
static uint64
hash(const void *bytes, Size length, uint64 seed)
{
	return hash_bytes_extended(bytes, (int) length, seed);
}

static uint64
hash_name(const PlhProfileImage *image, uint32 name_offset, uint64 seed)
{
	const PlhStringRecord *name = plh_profile_image_string(image, name_offset);

	return name == NULL ? seed : hash(name->text, name->text_bytes, seed);
}

static uint64
hash_site(const PlhProfileImage *image, const PlhSiteRecord *site, uint64 seed)
{
	const PlhStackRecord *stack = plh_profile_image_stack(image, site->key.stack);

	if (stack != NULL)
		seed = hash(stack->frames, stack->depth * sizeof(PlhFrame), seed);
	return hash_name(image, site->key.context_name, seed);
}

uint64
plh_watched_processes_key(const PlhFinding *finding, const PlhProfileImage *image)
{
	uint64		seed = plh_finding_subject(finding) + 1;
	const PlhFamilyAccount *family = plh_finding_family(finding);

	/* the text of a statement is kept without its constants */
	if (finding->kind == PLH_KIND_STATEMENT)
	{
		const PlhStatementRecord *statement = finding->site == NULL ? NULL :
			plh_profile_image_statement(image, finding->site->key.statement);

		return statement == NULL ? seed : hash(statement->text, statement->text_bytes, seed);
	}
	if (family != NULL && family->family != NULL)
		return hash(family->family->title, strlen(family->family->title), seed);
	if (finding->context != NULL)
		return hash_name(image, finding->context->context_name, seed);
	if (finding->site != NULL)
		return hash_site(image, finding->site, seed);
	return hash(&finding->kind, sizeof(finding->kind), seed);
}

/*
 * test_statement_entries.c
 *	  The file of statements: how calls add up in it, what has to go, its lock, and what
 *	  becomes of it if it is damaged.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static void no_pause(long us);

#define pg_usleep no_pause
#include "profile/statements_file.c"
#undef pg_usleep
#include "profile/statement_entries.c"

#include "unit_tests.h"

#define CLUSTER 4711
#define ENTRIES 40
#define MB (1024 * 1024)

static char directory[] = "/tmp/pg_leakhunt_statements.XXXXXX";
static int	pauses;

static void
no_pause(long us)
{
	pauses++;
}

static void
begin(bool new_server)
{
	if (plh_statements_file != NULL)
		munmap(plh_statements_file, PLH_STATEMENTS_BYTES(mapped_entries));
	plh_statements_file = NULL;
	plh_statements_file_start(directory, CLUSTER, ENTRIES, new_server);
}

static PlhStatementPart
part_of(const char *text, int64 peak_bytes)
{
	static TimestampTz start;

	return (PlhStatementPart)
	{
		.text = text,
			.text_bytes = strlen(text),
			.database_oid = 5,
			.role_oid = 10,
			.session = 3,
			.pid = 100,
			.start = ++start,
			.peak_at = start,
			.allowed_bytes = MB,
			.sample_interval = 1,
			.share =
		{
			.peak_bytes = peak_bytes
		}
	};
}

/* The entry of a part's statement; NULL if there is none. */
static PlhStatementEntry *
found(const PlhStatementPart *part)
{
	Key			key;

	make_key(&key, part);
	return find(&key);
}

static bool
tell_of(const char *text, int64 peak_bytes)
{
	PlhStatementPart part = part_of(text, peak_bytes);

	return plh_statement_entries_tell(&part);
}

static void
test_calls(void)
{
	PlhStatementPart part = part_of("SELECT 1", 3 * MB);
	PlhStatementEntry *entry;

	ok(plh_statement_entries_is_highest(&part) && plh_statement_entries_tell(&part),
	   "a call is told");
	entry = found(&part);
	ok(entry != NULL && entry->calls == 1 && entry->peak_sum == 3 * MB &&
	   entry->calls_beyond == 1, "it has an entry");
	ok(part.told.peak_bytes == 3 * MB, "what was told is noted");
	part.share.peak_bytes = 4 * MB;
	part.share.private_bytes = 100 * MB;
	plh_statement_entries_tell(&part);
	ok(entry->calls == 1 && entry->peak_sum == 4 * MB &&
	   entry->max_peak_bytes == 4 * MB && entry->calls_beyond == 1 &&
	   entry->max_private_bytes == 100 * MB, "a call that has grown is one call");
	tell_of("SELECT 2", 2 * MB);
	ok(entry->calls == 2 && entry->peak_sum == 6 * MB && entry->max_peak_bytes == 4 * MB,
	   "another call of the shape is of the same statement");
	ok(plh_peak_histogram_median(&entry->peaks, entry->max_peak_bytes).bytes >= 2 * MB &&
	   plh_peak_histogram_median(&entry->peaks, entry->max_peak_bytes).bytes < 3 * MB,
	   "the median of two is the lower one, and that of 3 MB is no call any more");
	ok(entry->calls_beyond == 1, "one that takes twice what it is allowed is not beyond that");
	ok(entry->sequence % 2 == 0, "an entry that does not change has an even number");
}

static void
test_workers(void)
{
	PlhStatementPart leader = part_of("SELECT parallel", 2 * MB);
	PlhStatementPart worker = leader;
	PlhStatementPart next = leader;
	PlhStatementEntry *entry;

	worker.share.peak_bytes = MB;
	plh_statement_entries_tell(&worker);
	plh_statement_entries_tell(&leader);
	entry = found(&leader);
	ok(entry->calls == 1 && entry->max_peak_bytes == 3 * MB && entry->peak_sum == 3 * MB,
	   "the peak of a worker is added to its leader's");
	next.query_id = 1;
	next.told = (PlhStatementShare)
	{
		0
	};
	leader.query_id = 2;
	plh_statement_entries_tell(&next);
	plh_statement_entries_tell(&leader);
	ok(found(&leader) != found(&next), "two statements of a message are told apart");
}

static void
test_eviction(void)
{
	char		text[32];
	int64		there = 0;
	int64		made = plh_statements_file->born;

	for (int i = 0; i < 3 * ENTRIES; i++)
	{
		snprintf(text, sizeof(text), "SELECT x%d", i);
		tell_of(text, MB);
		tell_of("SELECT 1", MB);
	}
	for (uint32 i = 0; i < plh_statements_file_reserved(); i++)
		there += plh_statements_file->entries[i].born != 0;
	ok(there == ENTRIES, "there are as many statements as may be");
	ok(plh_statements_file->evicted + there == plh_statements_file->born &&
	   plh_statements_file->born >= made + 3 * ENTRIES, "all others were counted");
	{
		PlhStatementPart part = part_of("SELECT 1", MB);

		ok(found(&part) != NULL, "a statement that is used stays");
	}
	ok(plh_statement_entries_reset(0, 6, 0) && plh_statement_entries_reset(11, 5, 0) &&
	   plh_statements_file->evicted > 0, "statements of others are reset");
	there = 0;
	for (uint32 i = 0; i < ENTRIES; i++)
		there += plh_statements_file->entries[i].born != 0;
	ok(there == ENTRIES, "and no others");
	plh_statement_entries_reset(0, 0, 0);
	for (uint32 i = 0; i < ENTRIES; i++)
		there -= plh_statements_file->entries[i].born == 0;
	ok(there == 0, "all are reset");
	ok(tell_of("SELECT 1", MB), "their room is used again");
}

static void
test_lock(void)
{
	pid_t		child = fork();

	if (child == 0)
		_exit(0);
	pg_atomic_write_u32(&plh_statements_file->holder, child);
	waitpid(child, NULL, 0);
	ok(tell_of("SELECT 1", MB), "a process that has died has the lock no longer");
	pg_atomic_write_u32(&plh_statements_file->holder, getppid());
	pauses = 0;
	ok(!tell_of("SELECT 1", MB) && pauses == PAUSES, "one that lives is waited for");
	ok(!tell_of("SELECT 1", MB) && pauses == PAUSES, "only once");
	plh_statements_file_break_lock();
	ok(tell_of("SELECT 1", MB), "the lock is broken after a crash");
}

/* Routines that a stack has: twice one that is there, another, and one that is not. */
static void
test_restored_routines(PlhStatementEntry *former, const PlhStatementModule *modules)
{
	PlhStatementPart part = part_of("SELECT restored", 0);
	const PlhStatementEntry *entry;
	Size		bytes;

	strcpy(former->routines + 8, "f(integer)");
	strcpy(former->routines + 40, "g()");
	memset(former->routines + PLH_STATEMENT_ROUTINE_BYTES - 8, 'x', 8);
	former->depth = 6;
	former->frames[1] = PLH_ROUTINE_FRAME(PLH_LANGUAGE_PLPGSQL, 7, 8);
	former->frames[2] = PLH_ROUTINE_FRAME(PLH_LANGUAGE_PLPGSQL, 9, 8);
	former->frames[3] = PLH_ROUTINE_FRAME(PLH_LANGUAGE_PLPGSQL, 1, PLH_STATEMENT_ROUTINE_BYTES - 8);
	former->frames[4] = PLH_ROUTINE_FRAME(PLH_LANGUAGE_PLPGSQL, 1, 1 << 20);
	former->frames[5] = PLH_ROUTINE_FRAME(PLH_LANGUAGE_SQL, 2, 40);
	ok(plh_statement_entries_reset(0, 0, 0), "a reset");
	plh_statement_entries_restore(former, modules, 2);
	entry = found(&part);
	ok(entry != NULL && entry->depth == 4, "frames of routines without names are left out");
	ok(PLH_ROUTINE_LINE(entry->frames[1]) == 7 && PLH_ROUTINE_LINE(entry->frames[2]) == 9 &&
	   PLH_ROUTINE_STRING(entry->frames[1]) == PLH_ROUTINE_STRING(entry->frames[2]) &&
	   strcmp(plh_statement_entries_routine(entry, entry->frames[1], &bytes), "f(integer)") == 0,
	   "a routine that calls itself has its name once");
	ok(PLH_ROUTINE_LANGUAGE(entry->frames[3]) == PLH_LANGUAGE_SQL &&
	   strcmp(plh_statement_entries_routine(entry, entry->frames[3], &bytes), "g()") == 0 && bytes == 3,
	   "another one has its own");
}

/* A chain of shared frames: of a module, of a routine, and some that are damaged. */
static void
test_restored_chain(PlhStatementEntry *former, const PlhStatementModule *modules)
{
	PlhStatementPart part = part_of("SELECT restored", 0);
	PlhSharedChain *chain = &former->shared;
	const PlhSharedChain *noted;
	const PlhStatementEntry *entry;
	Size		bytes;

	*chain = (PlhSharedChain)
	{
		.count = PG_UINT32_MAX,.percents =
		{
			99, 98, 97, 101, 96, 100
		},
			.frames =
		{
			PLH_FRAME(2, 0x1234), PLH_FRAME(3, 0x1234),
				PLH_ROUTINE_FRAME(PLH_LANGUAGE_PLPGSQL, 7, 8), PLH_FRAME(2, 0x5678),
				PLH_ROUTINE_FRAME(PLH_LANGUAGE_PLPGSQL, 1, 1 << 20), PLH_FRAME(2, 0x9abc)
		}
	};
	(void) plh_statement_entries_reset(0, 0, 0);
	plh_statement_entries_restore(former, modules, 2);
	entry = found(&part);
	noted = &entry->shared;
	ok(noted->count >= 3 && noted->count <= PLH_STATEMENT_SHARED &&
	   noted->percents[0] == 99 && noted->percents[1] == 97 && noted->percents[2] == 100,
	   "shared frames without a module, a name or a sound part are left out, the others stay");
	ok(PLH_FRAME_ADDRESS(noted->frames[0]) == 0x1234 &&
	   PLH_FRAME_MODULE(noted->frames[0]) == PLH_FRAME_MODULE(noted->frames[2]) &&
	   PLH_FRAME_ADDRESS(noted->frames[2]) == 0x9abc &&
	   strcmp(plh_statement_entries_routine(entry, noted->frames[1], &bytes), "f(integer)") == 0,
	   "with modules and names of the entry");
	chain->count = 0;
}

static void
test_restoring(void)
{
	static PlhStatementEntry former;
	static PlhStatementModule modules[PLH_STATEMENT_MODULES];
	PlhStatementPart part = part_of("SELECT restored", 0);
	PlhStatementEntry *entry;

	modules[1].record.path_bytes = 5;
	strcpy(modules[1].record.path, "/made");
	former.born = 1;
	former.database_oid = part.database_oid;
	former.role_oid = part.role_oid;
	former.calls = 7;
	former.max_peak_bytes = 5 * MB;
	former.peaks.calls[3] = 7;
	former.text_bytes = part.text_bytes;
	memcpy(former.text, part.text, part.text_bytes);
	former.depth = 2;
	former.frames[0] = PLH_FRAME(2, 0x1234);
	former.frames[1] = PLH_FRAME(2, 0x5678);
	plh_statement_entries_restore(&former, modules, 2);
	entry = found(&part);
	ok(entry != NULL && entry->calls == 7 && entry->max_peak_bytes == 5 * MB &&
	   entry->peaks.calls[3] == 7 && entry->depth == 2, "an entry of a former server is restored");
	ok(PLH_FRAME_ADDRESS(entry->frames[1]) == 0x5678 &&
	   strcmp(plh_statements_file->modules[PLH_FRAME_MODULE(entry->frames[1]) - 1].record.path, "/made") == 0,
	   "its frames are in the same modules");
	test_restored_routines(&former, modules);
	test_restored_chain(&former, modules);
	former.depth = 2;
	former.text[7] = 'x';
	former.frames[1] = PLH_FRAME(3, 0x5678);
	part = part_of("SELECT xestored", 0);
	plh_statement_entries_restore(&former, modules, 2);
	ok(found(&part) != NULL && found(&part)->depth == 0,
	   "a stack in a module that is not there is not known");
	former.depth = PG_UINT32_MAX;
	former.text[7] = 'y';
	plh_statement_entries_restore(&former, modules, PG_UINT32_MAX);
	former.text_bytes = PG_UINT32_MAX;
	plh_statement_entries_restore(&former, modules, PG_UINT32_MAX);
	part = part_of("SELECT yestored", 0);
	ok(found(&part) != NULL && found(&part)->depth == 0, "damaged entries do no harm");
}

static void
test_damage(void)
{
	PlhStatementPart part = part_of("SELECT 1", MB);

	tell_of("SELECT 1", MB);
	begin(false);
	ok(found(&part) != NULL, "another process finds the file");
	for (int i = 0; i < PLH_STATEMENT_BUCKETS; i++)
		plh_statements_file->buckets[i] = i % 2 == 0 ? 1 : PG_UINT32_MAX;
	plh_statements_file->entries[0].next = 1;
	plh_statements_file->entries[0].text_bytes = PG_UINT32_MAX;
	plh_statements_file->used_entries = PG_UINT32_MAX;
	plh_statements_file->hand = PG_UINT32_MAX;
	plh_statements_file->module_count = PG_UINT32_MAX;
	plh_statements_file->calls[3].entry = PG_UINT32_MAX;
	for (int i = 0; i < 3 * ENTRIES; i++)
	{
		char		text[32];

		snprintf(text, sizeof(text), "SELECT y%d", i);
		(void) tell_of(text, MB);
	}
	(void) plh_statement_entries_reset(0, 0, 0);
	ok(true, "damaged numbers lead nowhere");
	plh_statements_file->entry_bytes--;
	begin(false);
	ok(plh_statements_file == NULL, "a file of another layout is not used");
	begin(true);
	ok(plh_statements_file != NULL && found(&part) == NULL, "a server that starts makes a new one");
}

void
test_statement_entries(void)
{
	if (mkdtemp(directory) == NULL)
		abort();
	begin(true);
	ok(plh_statements_file != NULL, "a file of statements is made");
	test_calls();
	test_workers();
	test_eviction();
	test_lock();
	test_restoring();
	test_damage();
	plh_statements_file_unlink();
	ok(access(path, F_OK) != 0, "the file is removed");
	munmap(plh_statements_file, PLH_STATEMENTS_BYTES(mapped_entries));
	plh_statements_file = NULL;
	(void) rmdir(directory);
}

/*
 * test_server_accounts.c
 *	  What the memory of a control group consists of: parts that add up, whatever the figures are.
 */
#include "postgres.h"

#include "reader_tests.h"
#include "sound_profile.h"
#include "judge/server_account.h"

#undef MB
#define MB INT64CONST(1048576)

#define PROCESSES 30

static PlhServerProcess processes[PROCESSES];
static PlhSharedSegment segments[] = {
	{.inode = 1,.bytes = MB,.processes = 20},
	{.inode = 2,.bytes = 8 * MB,.processes = 3,.owner_pid = 1003},
	{.inode = 3,.bytes = 2 * MB,.processes = 3,.owner_pid = 1003}
};

/* A server of 30 processes with 4 MB each, in a group of its own. */
static PlhServerMemory
server(void)
{
	PlhServerMemory memory = {
		.process_count = PROCESSES,
		.processes = processes,
		.share_bytes = 120 * MB,
		.buffer_bytes = 64 * MB,
		.buffers_size = 128 * MB,
		.main_bytes = 6 * MB,
		.dynamic_bytes = 11 * MB,
		.segments = {lengthof(segments), segments, true},
		.profile_bytes = 2 * MB,
		.page_table_bytes = 5 * MB,
		.shm_size = 64 * MB,
		.machine_bytes = 4096 * MB,
		.has_use = true,
		.use = {
			.of_group = true,
			.used_bytes = 400 * MB,
			.private_bytes = 130 * MB,
			.shared_bytes = 90 * MB,
			.file_bytes = 150 * MB,
			.idle_file_bytes = 100 * MB,
			.kernel_bytes = 20 * MB,
			.slab_bytes = 3 * MB,
			.limit_bytes = 512 * MB
		}
	};

	for (int i = 0; i < PROCESSES; i++)
		processes[i] = (PlhServerProcess)
	{
		.pid = 1000 + i,.share_bytes = 4 * MB
	};
	return memory;
}

/* The only part of that name below one that is so called; NULL: there is none. */
static const PlhMemoryPart *
find(const List *parts, PlhMemoryPartId id)
{
	ListCell   *cell;

	foreach(cell, parts)
	{
		const PlhMemoryPart *part = lfirst(cell);

		if (part->id == id)
			return part;
	}
	return NULL;
}

static int64
bytes_of(const List *parts, PlhMemoryPartId id)
{
	const PlhMemoryPart *part = find(parts, id);

	return part == NULL ? 0 : part->bytes;
}

/* Is each part that has parts their sum, and is each told behind what it is in? */
static bool
do_parts_add_up(const List *parts)
{
	ListCell   *whole;

	foreach(whole, parts)
	{
		const PlhMemoryPart *sum = lfirst(whole);
		int64		bytes = 0;
		int			count = 0;
		ListCell   *cell;

		foreach(cell, parts)
		{
			const PlhMemoryPart *part = lfirst(cell);

			if (part->part_of != sum->number)
				continue;
			bytes += part->bytes;
			count++;
			if (part->number <= sum->number || part->level != sum->level + 1)
				return false;
		}
		if (count > 0 && bytes != sum->bytes)
			return false;
	}
	return parts != NIL;
}

/* A profile of a process that has counted 1 MB of one kind of contexts, and what malloc has. */
static const PlhProfileImage *
counted(int64 malloc_bytes, int64 free_bytes)
{
	PlhProfileHeader *header = make_profile(3, 1);
	PlhProfileImage *image = palloc0(sizeof(PlhProfileImage));
	const PlhContextRecord *record;
	uint32		position = 0;
	int			count = 0;

	header->census_at = 1000 * USECS_PER_SEC;
	header->context_bytes = MB;
	header->passing_bytes = 0;
	header->malloc_bytes = malloc_bytes;
	header->malloc_free_bytes = free_bytes;
	plh_profile_image_adopt(image, header, header->used_bytes);
	while ((record = plh_profile_image_next_context(image, &position)) != NULL)
	{
		PlhContextRecord *counted = unconstify(PlhContextRecord *, record);

		counted->instances = count++ == 0 ? 10 : 0;
		counted->bytes = MB;
	}
	return image;
}

static void
test_kernels_parts(void)
{
	PlhServerMemory memory = server();
	PlhServerAccount *account = plh_server_account_begin(&memory, true);
	const List *parts = plh_server_account_parts(account);
	const PlhMemoryPart *owner = find(parts, PLH_PART_OWNER);

	ok(do_parts_add_up(parts), "parts of a group add up");
	ok(bytes_of(parts, PLH_PART_USED_OF_GROUP) == 400 * MB &&
	   bytes_of(parts, PLH_PART_REST) == 10 * MB,
	   "what the kernel does not tell apart is a part");
	ok(bytes_of(parts, PLH_PART_SHARED_REST) == 7 * MB,
	   "so is shared memory that is not the server's");
	ok(bytes_of(parts, PLH_PART_OTHER_SESSIONS) + bytes_of(parts, PLH_PART_UNCOUNTED_SESSIONS) ==
	   120 * MB && bytes_of(parts, PLH_PART_PRIVATE_REST) == 10 * MB,
	   "processes that nobody has told of are counted, and those of others");
	ok(owner != NULL && owner->owner_pid == 1003 && owner->bytes == 10 * MB,
	   "segments are told by the session whose they are");
	ok(bytes_of(parts, PLH_PART_OWNERS) == MB, "and those of several together");
	ok(bytes_of(parts, PLH_PART_FILES_IDLE) == 100 * MB &&
	   bytes_of(parts, PLH_PART_FILES_RECENT) == 50 * MB, "page cache that goes first is told");
	ok(bytes_of(parts, PLH_PART_LIMIT) == 512 * MB && find(parts, PLH_PART_NO_PROMISES) != NULL &&
	   find(parts, PLH_PART_NO_PROMISES)->is_unknown, "limits stand behind the parts");
}

static void
test_processes(void)
{
	PlhServerMemory memory = server();
	PlhServerAccount *account = plh_server_account_begin(&memory, true);
	const List *parts;
	const PlhMemoryPart *kind;

	for (int i = 0; i < 10; i++)
		plh_server_account_add(account, 1000 + i, "client backend", "shop", counted(3 * MB / 2, 2 * MB));
	plh_server_account_add(account, 1000, "client backend", "shop", NULL);
	plh_server_account_add(account, 4711, "client backend", "late", NULL);
	parts = plh_server_account_parts(account);
	kind = find(parts, PLH_PART_SESSIONS);
	ok(do_parts_add_up(parts), "parts add up where processes have counted");
	ok(kind != NULL && strcmp(kind->title, "client backend") == 0 &&
	   strcmp(kind->application, "shop") == 0, "processes are told by type and application");
	ok(kind != NULL && kind->processes == 10 && kind->bytes == 40 * MB,
	   "none counts twice, and none that has started since");
	ok(bytes_of(parts, PLH_PART_FAMILY) == 10 * MB, "what contexts are for is told");
	ok(bytes_of(parts, PLH_PART_MALLOC) == 5 * MB && bytes_of(parts, PLH_PART_FREED) == 20 * MB &&
	   bytes_of(parts, PLH_PART_BESIDE) == 5 * MB, "so is malloc, and what it keeps, and the rest");
}

/* What was never written to is counted, but no memory. */
static void
test_unwritten(void)
{
	PlhServerMemory memory = server();
	PlhServerAccount *account = plh_server_account_begin(&memory, true);
	const List *parts;

	plh_server_account_add(account, 1000, "client backend", NULL, counted(100 * MB, 7 * MB));
	parts = plh_server_account_parts(account);
	ok(do_parts_add_up(parts), "parts add up where more was counted than takes memory");
	ok(bytes_of(parts, PLH_PART_FREED) == 0 && bytes_of(parts, PLH_PART_UNWRITTEN) == -96 * MB,
	   "the difference is told, and nothing freed is where there is no room for it");
}

/* Figures that the kernel has from several moments, or counts elsewhere. */
static void
test_odd_figures(void)
{
	PlhServerMemory memory = server();
	const List *parts;

	memory.use.private_bytes = 100 * MB;
	memory.use.shared_bytes = 60 * MB;
	memory.use.used_bytes = 300 * MB;
	memory.use.page_table_bytes = 4 * MB;
	parts = plh_server_account_parts(plh_server_account_begin(&memory, true));
	ok(do_parts_add_up(parts), "parts add up where they have more than the whole");
	ok(bytes_of(parts, PLH_PART_PRIVATE_TWICE) == -20 * MB &&
	   bytes_of(parts, PLH_PART_SHARED_ELSEWHERE) == -23 * MB &&
	   bytes_of(parts, PLH_PART_PAGE_TABLES) == 4 * MB, "and that is told");

	memory = server();
	memory.is_huge = true;
	memory.buffer_bytes = memory.buffers_size;
	parts = plh_server_account_parts(plh_server_account_begin(&memory, true));
	ok(do_parts_add_up(parts) && find(parts, PLH_PART_BUFFERS) == NULL &&
	   bytes_of(parts, PLH_PART_UNCOUNTED_MAIN) == 134 * MB,
	   "huge pages that the group does not count are beside its parts");
	memory.use.has_huge = true;
	memory.use.huge_bytes = 140 * MB;
	parts = plh_server_account_parts(plh_server_account_begin(&memory, true));
	ok(do_parts_add_up(parts) && bytes_of(parts, PLH_PART_HUGE_MAIN) == 134 * MB &&
	   bytes_of(parts, PLH_PART_HUGE_REST) == 6 * MB, "and those that it counts are a part");
}

static void
test_named_segments(void)
{
	PlhServerMemory memory = server();
	PlhNamedSegment segment = {"autoprewarm", "segment", 40 * MB};
	PlhServerAccount *account = plh_server_account_begin(&memory, true);
	const List *parts;

	plh_server_account_name_segments(account, lappend(NIL, &segment));
	parts = plh_server_account_parts(account);
	ok(do_parts_add_up(parts) && bytes_of(parts, PLH_PART_NAMED) == 40 * MB &&
	   find(parts, PLH_PART_NAMED)->part_of == 0 &&
	   strcmp(find(parts, PLH_PART_NAMED)->title, "segment \"autoprewarm\" of an extension") == 0,
	   "memory that extensions have by a name is within other parts, and none of the sum");
}

static void
test_other_groups(void)
{
	PlhServerMemory memory = server();
	const List *parts = plh_server_account_parts(plh_server_account_begin(&memory, false));

	ok(do_parts_add_up(parts) && find(parts, PLH_PART_BUFFERS) == NULL &&
	   find(parts, PLH_PART_OTHER_SESSIONS) == NULL &&
	   bytes_of(parts, PLH_PART_SHARED_REST) == 90 * MB,
	   "of a group without this server, only what the kernel tells is known");
	memory.has_use = false;
	ok(plh_server_account_parts(plh_server_account_begin(&memory, true)) == NIL,
	   "where the kernel tells nothing, there is no account");
}

void
test_server_accounts(void)
{
	test_kernels_parts();
	test_processes();
	test_unwritten();
	test_odd_figures();
	test_named_segments();
	test_other_groups();
}

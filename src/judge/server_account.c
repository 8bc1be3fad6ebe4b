/*
 * server_account.c
 *	  What the memory consists of that a control group, or the machine, uses.
 *
 * The kernel tells the whole and its largest parts.  What the server knows is put below these, and
 * what remains of each is a part as well, whatever its sign: so the parts add up, and what is not
 * known is seen.
 */
#include "postgres.h"

#include "judge/account.h"
#include "judge/memory_limits.h"
#include "judge/server_account.h"
#include "reader/database_text.h"

/* The most kinds of processes that are told apart, and owners of segments. */
#define MOST_KINDS 12
#define MOST_OWNERS 8

/* What is as large a part as this of what it is in has a row of its own. */
#define WORTH_PART 50

/* Of a kind of processes, the families of contexts that are told apart at first. */
#define MOST_FAMILIES 64

typedef struct FamilySum
{
	const char *title;
	int64		bytes;
	int			processes;
} FamilySum;

/* Processes of one type and application. */
typedef struct Kind
{
	const char *type;
	const char *application;
	int			processes;
	int64		bytes;
	int64		uncounted_bytes;
	int			uncounted;		/* processes */
	TimestampTz counted_at;		/* the oldest count; 0: none has counted */
	int64		malloc_bytes;
	int64		freed_bytes;
	int64		more_contexts_bytes;	/* beyond the most families */
	int			family_count;
	FamilySum	families[MOST_FAMILIES];
} Kind;

struct PlhServerAccount
{
	const PlhServerMemory *memory;
	bool		is_in_group;
	MemoryContext context;
	List	   *kinds;			/* of Kind */
	List	   *named_segments; /* of PlhNamedSegment */
	List	   *parts;			/* of PlhMemoryPart, so far */
	bool	   *is_told;		/* which of the server's processes */
};

PlhServerAccount *
plh_server_account_begin(const PlhServerMemory *memory, bool is_in_group)
{
	PlhServerAccount *account = palloc0(sizeof(PlhServerAccount));

	account->memory = memory;
	account->is_in_group = is_in_group;
	account->context = CurrentMemoryContext;
	account->is_told = palloc0(sizeof(bool) * Max(1, memory->process_count));
	return account;
}

/* The number of a process in the server's; -1: it has started since. */
static int
number_of(const PlhServerMemory *memory, int pid)
{
	for (int i = 0; i < memory->process_count; i++)
		if (memory->processes[i].pid == pid)
			return i;
	return -1;
}

static Kind *
kind_of(PlhServerAccount *account, const char *type, const char *application)
{
	Kind	   *kind;
	ListCell   *cell;

	foreach(cell, account->kinds)
	{
		kind = lfirst(cell);
		if (strcmp(kind->type, type) == 0 && strcmp(kind->application, application) == 0)
			return kind;
	}
	kind = palloc0(sizeof(Kind));
	kind->type = pstrdup(type);
	kind->application = pstrdup(application);
	account->kinds = lappend(account->kinds, kind);
	return kind;
}

static void
add_family(Kind *kind, const char *title, int64 bytes)
{
	FamilySum  *sum = kind->families;

	while (sum < kind->families + kind->family_count && strcmp(sum->title, title) != 0)
		sum++;
	if (sum == kind->families + MOST_FAMILIES)
	{
		kind->more_contexts_bytes += bytes;
		return;
	}
	if (sum == kind->families + kind->family_count)
	{
		kind->family_count++;
		sum->title = pstrdup(title);
	}
	sum->bytes += bytes;
	sum->processes++;
}

/* What contexts of a family are called, also in a list. */
static const char *
family_title(const PlhFamilyAccount *family, const PlhProfileImage *image)
{
	return family->family != NULL ? family->family->title :
		psprintf("contexts named %s", plh_account_name(family, image));
}

static void
note_count(Kind *kind, TimestampTz counted_at)
{
	if (counted_at != 0 && (kind->counted_at == 0 || counted_at < kind->counted_at))
		kind->counted_at = counted_at;
}

/*
 * What a process has counted.  Of what malloc has free, no more takes memory than the process has
 * beyond what it uses.
 */
static void
add_counted(Kind *kind, const PlhProfileImage *image, int64 own_bytes)
{
	PlhAccount *counted = plh_account_make(image);
	int64		used = counted->outside_bytes;

	for (int i = 0; i < counted->family_count; i++)
	{
		add_family(kind, family_title(&counted->families[i], image), counted->families[i].bytes);
		used += counted->families[i].bytes;
	}
	note_count(kind, image->header->census_at);
	kind->malloc_bytes += counted->outside_bytes;
	kind->freed_bytes += Max(0, Min(counted->freed_bytes, own_bytes - used));
}

void
plh_server_account_add(PlhServerAccount *account, int pid, const char *type,
					   const char *application, const PlhProfileImage *image)
{
	int			number = number_of(account->memory, pid);
	MemoryContext caller_context;
	Kind	   *kind;
	int64		own_bytes;

	if (number < 0 || account->is_told[number])
		return;
	account->is_told[number] = true;
	caller_context = MemoryContextSwitchTo(account->context);
	kind = kind_of(account, type == NULL ? "process" : type,
				   application == NULL ? "" : application);
	own_bytes = account->memory->processes[number].share_bytes;
	kind->processes++;
	kind->bytes += own_bytes;
	if (image != NULL && image->header->census_at != 0)
		add_counted(kind, image, own_bytes);
	else
	{
		kind->uncounted++;
		kind->uncounted_bytes += own_bytes;
	}
	MemoryContextSwitchTo(caller_context);
}

/* qsort comparator: the largest first. */
static int
compare_families(const void *a, const void *b)
{
	const FamilySum *left = a;
	const FamilySum *right = b;

	return left->bytes > right->bytes ? -1 : left->bytes < right->bytes;
}

/* The families of contexts of a kind that are worth a row, and the others together. */
static void
put_families(List **parts, Kind *kind, const PlhMemoryPart *whole, int64 server_bytes)
{
	int64		worth = Max(whole->bytes / WORTH_PART, server_bytes / (2 * WORTH_PART));
	int64		others = kind->more_contexts_bytes;
	bool		is_any_told = false;

	qsort(kind->families, kind->family_count, sizeof(FamilySum), compare_families);
	for (int i = 0; i < kind->family_count; i++)
	{
		const FamilySum *family = &kind->families[i];
		PlhMemoryPart *part;

		if (family->bytes < worth)
		{
			others += family->bytes;
			continue;
		}
		part = plh_memory_part_put(parts, PLH_PART_FAMILY, whole, family->bytes);
		part->title = family->title;
		part->processes = family->processes;
		is_any_told = true;
	}
	plh_memory_part_put_some(parts, is_any_told ? PLH_PART_FAMILIES : PLH_PART_CONTEXTS, whole,
							 others);
}

/* What a kind is as a part. */
static PlhMemoryPartId
part_of_kind(const Kind *kind)
{
	if (kind->type == NULL)
		return PLH_PART_OTHER_SESSIONS;
	return kind->uncounted < kind->processes ? PLH_PART_SESSIONS : PLH_PART_UNCOUNTED_SESSIONS;
}

static void
put_kind(PlhServerAccount *account, Kind *kind, const PlhMemoryPart *private)
{
	List	  **parts = &account->parts;
	PlhMemoryPart *part = plh_memory_part_put(parts, part_of_kind(kind), private, kind->bytes);

	part->title = kind->type;
	part->application = kind->application[0] == '\0' ? NULL : kind->application;
	part->processes = kind->processes;
	part->counted_at = kind->counted_at;
	if (kind->uncounted == kind->processes)
		return;
	put_families(parts, kind, part, account->memory->share_bytes);
	plh_memory_part_put_some(parts, PLH_PART_MALLOC, part, kind->malloc_bytes);
	plh_memory_part_put_some(parts, PLH_PART_FREED, part, kind->freed_bytes);
	if (kind->uncounted > 0)
		plh_memory_part_put(parts, PLH_PART_UNCOUNTED, part,
							kind->uncounted_bytes)->processes = kind->uncounted;
	plh_memory_part_put_rest(parts, part, PLH_PART_BESIDE, PLH_PART_UNWRITTEN);
}

/* list_sort comparator: the largest first. */
static int
compare_kinds(const ListCell *a, const ListCell *b)
{
	const Kind *left = lfirst(a);
	const Kind *right = lfirst(b);

	return left->bytes > right->bytes ? -1 : left->bytes < right->bytes;
}

/* Add a kind to another, which stands for several. */
static void
merge_kind(Kind *sum, const Kind *kind)
{
	for (int i = 0; i < kind->family_count; i++)
		add_family(sum, kind->families[i].title, kind->families[i].bytes);
	sum->processes += kind->processes;
	sum->bytes += kind->bytes;
	sum->uncounted += kind->uncounted;
	sum->uncounted_bytes += kind->uncounted_bytes;
	note_count(sum, kind->counted_at);
	sum->malloc_bytes += kind->malloc_bytes;
	sum->freed_bytes += kind->freed_bytes;
	sum->more_contexts_bytes += kind->more_contexts_bytes;
}

/* Processes that nobody has told of, such as one that has started just now. */
static void
add_untold(PlhServerAccount *account)
{
	for (int i = 0; i < account->memory->process_count; i++)
		if (account->memory->processes[i].share_bytes > 0)
			plh_server_account_add(account, account->memory->processes[i].pid, NULL, NULL, NULL);
}

static void
put_private(PlhServerAccount *account, const PlhMemoryPart *whole)
{
	PlhMemoryPart *private = plh_memory_part_put(&account->parts, PLH_PART_PRIVATE, whole,
												 account->memory->use.private_bytes);
	Kind		others = {.application = ""};
	ListCell   *cell;

	list_sort(account->kinds, compare_kinds);
	foreach(cell, account->kinds)
	{
		Kind	   *kind = lfirst(cell);

		if (foreach_current_index(cell) < MOST_KINDS &&
			kind->bytes >= account->memory->share_bytes / WORTH_PART)
			put_kind(account, kind, private);
		else
			merge_kind(&others, kind);
	}
	if (others.processes > 0)
		put_kind(account, &others, private);
	plh_memory_part_put_rest(&account->parts, private, PLH_PART_PRIVATE_REST,
							 PLH_PART_PRIVATE_TWICE);
}

/* What the segments of an owner are together; 0: it was added up before. */
static int64
bytes_of_owner(const PlhSharedSegments *segments, int first)
{
	int			owner = segments->segments[first].owner_pid;
	int64		bytes = 0;

	for (int i = 0; i < segments->count; i++)
	{
		if (segments->segments[i].owner_pid != owner)
			continue;
		if (i < first)
			return 0;
		bytes += segments->segments[i].bytes;
	}
	return bytes;
}

/* Segments by owner: those of several sessions first, then in their order. */
static void
put_segments(PlhServerAccount *account, const PlhMemoryPart *shared)
{
	const PlhSharedSegments *segments = &account->memory->segments;
	PlhMemoryPart *whole;
	int			owners = 0;

	if (segments->count == 0)
		return;
	whole = plh_memory_part_put(&account->parts, PLH_PART_SEGMENTS, shared,
								account->memory->dynamic_bytes);
	for (int i = 0; i < segments->count; i++)
	{
		int			owner = segments->segments[i].owner_pid;
		int64		bytes = bytes_of_owner(segments, i);
		PlhMemoryPart *part;

		if (bytes == 0 || (owner != 0 && (bytes < whole->bytes / WORTH_PART ||
										  owners++ >= MOST_OWNERS)))
			continue;
		part = plh_memory_part_put(&account->parts, owner == 0 ? PLH_PART_OWNERS : PLH_PART_OWNER,
								   whole, bytes);
		part->owner_pid = owner;
		part->processes = segments->segments[i].processes;
	}
	plh_memory_part_put_rest(&account->parts, whole, PLH_PART_OWNERS_REST, PLH_PART_OWNERS_REST);
}

static void
put_shared(PlhServerAccount *account, const PlhMemoryPart *whole)
{
	const PlhServerMemory *memory = account->memory;
	PlhMemoryPart *shared = plh_memory_part_put(&account->parts, PLH_PART_SHARED, whole,
												memory->use.shared_bytes);

	if (account->is_in_group)
	{
		if (!memory->is_huge && memory->buffer_bytes >= 0)
		{
			plh_memory_part_put(&account->parts, PLH_PART_BUFFERS, shared, memory->buffer_bytes);
			plh_memory_part_put(&account->parts, PLH_PART_MAIN, shared, memory->main_bytes);
		}
		put_segments(account, shared);
		plh_memory_part_put_some(&account->parts, PLH_PART_PROFILES, shared, memory->profile_bytes);
	}
	plh_memory_part_put_rest(&account->parts, shared, PLH_PART_SHARED_REST,
							 PLH_PART_SHARED_ELSEWHERE);
}

static void
put_files(PlhServerAccount *account, const PlhMemoryPart *whole)
{
	const PlhMemoryUse *use = &account->memory->use;
	PlhMemoryPart *files = plh_memory_part_put(&account->parts, PLH_PART_FILES, whole,
											   use->file_bytes);

	plh_memory_part_put(&account->parts, PLH_PART_FILES_IDLE, files, use->idle_file_bytes);
	plh_memory_part_put_rest(&account->parts, files, PLH_PART_FILES_RECENT, PLH_PART_FILES_RECENT);
}

static void
put_kernel(PlhServerAccount *account, const PlhMemoryPart *whole)
{
	const PlhMemoryUse *use = &account->memory->use;
	PlhMemoryPart *kernel = plh_memory_part_put(&account->parts, PLH_PART_KERNEL, whole,
												use->kernel_bytes);
	int64		most = use->page_table_bytes > 0 ? use->page_table_bytes : use->kernel_bytes;

	if (account->is_in_group)
		plh_memory_part_put_some(&account->parts, PLH_PART_PAGE_TABLES, kernel,
								 Min(most, account->memory->page_table_bytes));
	plh_memory_part_put_some(&account->parts, PLH_PART_SLAB, kernel, use->slab_bytes);
	plh_memory_part_put_rest(&account->parts, kernel, PLH_PART_KERNEL_REST, PLH_PART_KERNEL_REST);
}

static void
put_huge(PlhServerAccount *account, const PlhMemoryPart *whole)
{
	const PlhServerMemory *memory = account->memory;
	PlhMemoryPart *huge;

	if (!memory->use.has_huge || memory->use.huge_bytes == 0)
		return;
	huge = plh_memory_part_put(&account->parts, PLH_PART_HUGE, whole, memory->use.huge_bytes);
	if (account->is_in_group && memory->is_huge)
		plh_memory_part_put(&account->parts, PLH_PART_HUGE_MAIN, huge,
							memory->buffers_size + memory->main_bytes);
	plh_memory_part_put_rest(&account->parts, huge, PLH_PART_HUGE_REST, PLH_PART_HUGE_REST);
}

/* Memory that extensions have registered by a name. */
static void
put_named(PlhServerAccount *account)
{
	ListCell   *cell;

	foreach(cell, account->named_segments)
	{
		const PlhNamedSegment *segment = lfirst(cell);

		plh_memory_part_put(&account->parts, PLH_PART_NAMED, NULL, segment->bytes)->title =
			psprintf("%s \"%s\" of an extension", segment->type, segment->name);
	}
}

/* What takes memory, and is not counted by the group, or is within other parts. */
static void
put_beside(PlhServerAccount *account)
{
	const PlhServerMemory *memory = account->memory;

	if (account->is_in_group && memory->is_huge && !memory->use.has_huge)
		plh_memory_part_put(&account->parts, PLH_PART_UNCOUNTED_MAIN, NULL,
							memory->buffers_size + memory->main_bytes);
	plh_memory_part_put_some(&account->parts, PLH_PART_SWAPPED, NULL, memory->use.swapped_bytes);
	if (account->is_in_group)
		put_named(account);
}

/* The whole, and its parts. */
static void
put_used(PlhServerAccount *account)
{
	const PlhMemoryUse *use = &account->memory->use;
	PlhMemoryPart *whole;

	whole = plh_memory_part_put(&account->parts, use->of_group ? PLH_PART_USED_OF_GROUP :
								PLH_PART_USED_OF_MACHINE, NULL, use->used_bytes);
	if (account->is_in_group)
	{
		add_untold(account);
		put_private(account, whole);
	}
	else
		plh_memory_part_put(&account->parts, PLH_PART_PRIVATE, whole, use->private_bytes);
	put_shared(account, whole);
	put_files(account, whole);
	put_kernel(account, whole);
	put_huge(account, whole);
	plh_memory_part_put_rest(&account->parts, whole, PLH_PART_REST, PLH_PART_REST);
	put_beside(account);
}

void
plh_server_account_name_segments(PlhServerAccount *account, List *segments)
{
	account->named_segments = segments;
}

const PlhServerMemory *
plh_server_account_memory(const PlhServerAccount *account)
{
	return account->memory;
}

const List *
plh_server_account_parts(PlhServerAccount *account)
{
	MemoryContext caller_context = MemoryContextSwitchTo(account->context);

	if (account->parts == NIL && account->memory->has_use)
	{
		put_used(account);
		plh_memory_limits_put(&account->parts, account->memory);
	}
	MemoryContextSwitchTo(caller_context);
	return account->parts;
}

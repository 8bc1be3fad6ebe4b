/*
 * memory_account.c
 *	  What a server takes beside the private memory of its processes, who counts it, and what
 *	  limits it, in sentences and for programs.
 *
 * The parts that are told add up to the whole: what the kernel does not tell apart is one of them.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "judge/course.h"
#include "judge/suspect.h"
#include "reader/server_processes.h"
#include "report/json.h"
#include "report/words.h"
#include "telling/memory_account.h"
#include "telling/part_words.h"

/* What remains, or differs, is told where it is this part of the whole. */
#define TOLD_PART 50

/* So many kinds of processes are told, and of each what has most, at least that part of it. */
#define TOLD_KINDS 3
#define TOLD_CONTENTS 4
#define CONTENT_PART 10

/* Is what remains of a whole, or differs from it, worth a word? */
static bool
is_told(int64 bytes, int64 whole)
{
	return bytes >= Max(PLH_COURSE_NOISE_BYTES, whole / TOLD_PART);
}

/* Append a phrase to a list. */
static void
append_phrase(StringInfo list, const char *phrase)
{
	appendStringInfo(list, "%s%s", list->len == 0 ? "" : ", ", phrase);
}

/* A part of a list, and its phrase. */
typedef struct Part
{
	PlhSentence phrase;
	int64		bytes;
} Part;

/* Append the parts that are not next to nothing.  Returns the sum of these. */
static int64
append_parts(StringInfo list, const Part *parts, int count)
{
	PlhFields	fields = {NULL};
	int64		sum = 0;

	for (int i = 0; i < count; i++)
	{
		if (parts[i].bytes < PLH_COURSE_NOISE_BYTES)
			continue;
		fields.bytes = plh_words_size(parts[i].bytes);
		append_phrase(list, plh_sentences_phrase(parts[i].phrase, true, &fields));
		sum += parts[i].bytes;
	}
	return sum;
}

/* What the group or the machine uses, by parts. */
static void
say_use(PlhSaid *said, const PlhMemoryUse *use)
{
	const Part	parts[] = {
		{PLH_SAYS_memory_private, use->private_bytes},
		{PLH_SAYS_memory_shared, use->shared_bytes},
		{PLH_SAYS_memory_files, use->file_bytes},
		{PLH_SAYS_memory_kernel, use->kernel_bytes},
		{PLH_SAYS_memory_huge, use->huge_bytes}
	};
	StringInfoData list;
	int64		rest;

	initStringInfo(&list);
	rest = use->used_bytes - append_parts(&list, parts, lengthof(parts));
	if (is_told(rest, use->used_bytes))
		append_phrase(&list, PLH_PHRASE(true, memory_rest,.bytes = plh_words_size(rest)));
	plh_sentences_line(said, use->of_group ? PLH_SAYS_memory_of_group :
					   PLH_SAYS_memory_of_machine, true,
					   PLH_FIELDS(.bytes = plh_words_size(use->used_bytes),
								  .limit = plh_words_size(use->limit_bytes),.list = list.data));
	if (is_told(use->changed_bytes, use->used_bytes))
		PLH_SAY(said, true, memory_changed,.bytes = plh_words_size(use->changed_bytes));
}

/* What limits a group. */
static void
say_limits(PlhSaid *said, const PlhMemoryUse *use)
{
	if (!use->of_group)
		return;
	if (use->limit_bytes > 0)
		PLH_SAY(said, true, memory_limit,.limit = plh_words_size(use->limit_bytes));
	if (use->slow_bytes > 0)
		PLH_SAY(said, true, memory_slow,.limit = plh_words_size(use->slow_bytes));
	if (use->outer_limit_bytes > 0)
		PLH_SAY(said, true, memory_outer_limit,.limit = plh_words_size(use->outer_limit_bytes));
	if (use->limit_bytes == 0 && use->outer_limit_bytes == 0)
		PLH_SAY(said, true, memory_unlimited);
}

/* Private memory in the group that is not the server's. */
static void
say_others(PlhSaid *said, const PlhServerMemory *memory)
{
	int64		others = memory->use.private_bytes - memory->share_bytes;

	if (memory->use.of_group && is_told(others, memory->use.used_bytes))
		PLH_SAY(said, true, memory_others,.bytes = plh_words_size(others));
}

/* Shared memory of the server, each kind once. */
static void
say_shared(PlhSaid *said, const PlhServerMemory *memory)
{
	const Part	parts[] = {
		{PLH_SAYS_shared_main, memory->main_bytes},
		{PLH_SAYS_shared_dynamic, memory->dynamic_bytes},
		{PLH_SAYS_shared_profiles, memory->profile_bytes}
	};
	int64		sum = Max(0, memory->buffer_bytes) + memory->main_bytes +
		memory->dynamic_bytes + memory->profile_bytes;
	int64		more = memory->use.shared_bytes - sum;
	StringInfoData list;

	if (memory->buffer_bytes < 0)
		return;
	initStringInfo(&list);
	append_phrase(&list, PLH_PHRASE(true, shared_buffers,
									.bytes = plh_words_size(memory->buffer_bytes),
									.total = plh_words_size(memory->buffers_size)));
	append_parts(&list, parts, lengthof(parts));
	PLH_LINE(said, true, memory_shared_kinds,.list = list.data);
	if (memory->is_huge)
		plh_sentences_say(said, memory->has_use && !memory->use.has_huge ?
						  PLH_SAYS_shared_huge_uncounted : PLH_SAYS_shared_huge, true,
						  PLH_FIELDS(NULL));
	else if (memory->has_use && memory->use.of_group && is_told(more, memory->use.used_bytes))
		PLH_SAY(said, true, shared_others,.bytes = plh_words_size(more));
	if (memory->shm_used >= memory->shm_size / 2 && memory->shm_size > 0)
		PLH_SAY(said, true, shared_room,.bytes = plh_words_size(memory->shm_used),
				.total = plh_words_size(memory->shm_size));
}

/* Do huge pages help, as most entries of page tables are of shared memory in small pages? */
static bool
do_huge_pages_help(const PlhServerMemory *memory)
{
	return !memory->is_huge && memory->page_table_bytes >= PLH_SUSPECT_LARGE_BYTES &&
		plh_server_processes_entries(memory->touched_bytes) >= memory->page_table_bytes / 2;
}

/* What belongs to processes beside their private memory: page tables, and what is in swap. */
static void
say_beside(PlhSaid *said, const PlhServerMemory *memory)
{
	if (memory->page_table_bytes >= PLH_SUSPECT_LARGE_BYTES)
		PLH_LINE(said, true, page_tables,.bytes = plh_words_size(memory->page_table_bytes));
	if (do_huge_pages_help(memory))
	{
		PLH_SAY(said, true, page_tables_shared);
		if (memory->huge_pages_needed > 0)
			PLH_SAY(said, true, huge_pages,.count = memory->huge_pages_needed);
	}
	if (is_told(memory->swapped_bytes, memory->private_bytes))
		PLH_LINE(said, true, swapped,.bytes = plh_words_size(memory->swapped_bytes));
}

/* The largest kinds of contexts and the like that a kind of processes has, as a list. */
static const char *
contents_of(const List *parts, const PlhMemoryPart *kind)
{
	StringInfoData list;
	int			told = 0;
	ListCell   *cell;

	initStringInfo(&list);
	foreach(cell, parts)
	{
		const PlhMemoryPart *part = lfirst(cell);

		if (part->part_of != kind->number || part->id == PLH_PART_UNCOUNTED ||
			told == TOLD_CONTENTS || part->bytes < kind->bytes / CONTENT_PART)
			continue;
		told++;
		append_phrase(&list, PLH_PHRASE(true, memory_content,.bytes = plh_words_size(part->bytes),
										.title = plh_part_words_title(part)));
	}
	return list.data;
}

/* Which kinds of processes have most of the private memory, and what for. */
static void
say_kinds(PlhSaid *said, const List *parts, const PlhMemoryUse *use)
{
	int			told = 0;
	ListCell   *cell;

	foreach(cell, parts)
	{
		const PlhMemoryPart *kind = lfirst(cell);
		const char *contents;

		if ((kind->id != PLH_PART_SESSIONS && kind->id != PLH_PART_UNCOUNTED_SESSIONS) ||
			!is_told(kind->bytes, use->used_bytes) || told++ == TOLD_KINDS)
			continue;
		contents = contents_of(parts, kind);
		plh_sentences_line(said, contents[0] == '\0' ? PLH_SAYS_memory_kind :
						   PLH_SAYS_memory_kind_contents, true,
						   PLH_FIELDS(.count = kind->processes,
									  .bytes = plh_words_size(kind->bytes),
									  .name = plh_part_words_title(kind),.list = contents));
	}
}

void
plh_memory_account_say(PlhSaid *said, PlhServerAccount *account)
{
	const PlhServerMemory *memory = plh_server_account_memory(account);

	if (memory->has_use)
	{
		say_use(said, &memory->use);
		say_limits(said, &memory->use);
		say_others(said, memory);
		say_kinds(said, plh_server_account_parts(account), &memory->use);
	}
	say_shared(said, memory);
	say_beside(said, memory);
}

static void
put_use(StringInfo json, const PlhMemoryUse *use)
{
	plh_json_put_flag(json, "control_group", use->of_group);
	plh_json_put_number(json, "used_bytes", use->used_bytes);
	plh_json_put_number(json, "used_private_bytes", use->private_bytes);
	plh_json_put_number(json, "used_shared_bytes", use->shared_bytes);
	plh_json_put_number(json, "page_cache_bytes", use->file_bytes);
	plh_json_put_number(json, "kernel_bytes", use->kernel_bytes);
	plh_json_put_if(json, "huge_bytes", use->has_huge, use->huge_bytes);
	plh_json_put_if(json, "limit_bytes", use->limit_bytes > 0, use->limit_bytes);
	plh_json_put_if(json, "outer_limit_bytes", use->outer_limit_bytes > 0,
					use->outer_limit_bytes);
}

/* A part, as a row of pg_leakhunt_memory. */
static void
put_part(StringInfo json, const PlhMemoryPart *part)
{
	plh_json_open(json, '{');
	plh_json_put_number(json, "number", part->number);
	plh_json_put_if(json, "part_of", part->part_of != 0, part->part_of);
	plh_json_put_text(json, "part", plh_part_words_name(part));
	plh_json_put_text(json, "title", plh_part_words_title(part));
	plh_json_put_if(json, "bytes", !part->is_unknown, part->bytes);
	plh_json_put_if(json, "processes", part->processes != 0, part->processes);
	plh_json_put_text(json, "detail", plh_part_words_detail(part, GetCurrentTimestamp()));
	plh_json_close(json, '}');
}

void
plh_memory_account_put(StringInfo json, PlhServerAccount *account)
{
	const PlhServerMemory *memory = plh_server_account_memory(account);
	ListCell   *cell;

	plh_json_put_open(json, "memory", '{');
	plh_json_put_number(json, "private_bytes", memory->private_bytes);
	plh_json_put_number(json, "page_table_bytes", memory->page_table_bytes);
	plh_json_put_number(json, "swapped_bytes", memory->swapped_bytes);
	plh_json_put_if(json, "buffer_bytes", memory->buffer_bytes >= 0, memory->buffer_bytes);
	plh_json_put_number(json, "buffers_size", memory->buffers_size);
	plh_json_put_flag(json, "in_huge_pages", memory->is_huge);
	plh_json_put_if(json, "main_segment_bytes", memory->buffer_bytes >= 0, memory->main_bytes);
	plh_json_put_number(json, "dynamic_segment_bytes", memory->dynamic_bytes);
	plh_json_put_number(json, "profile_bytes", memory->profile_bytes);
	if (memory->has_use)
		put_use(json, &memory->use);
	plh_json_put_open(json, "parts", '[');
	foreach(cell, plh_server_account_parts(account))
		put_part(json, lfirst(cell));
	plh_json_close(json, ']');
	plh_json_close(json, '}');
}

/*
 * heap_kinds.c
 *	  What a chunk looks like, by its bytes: a guess where nothing proves it.
 */
#include "postgres.h"

#include "heap/heap_kinds.h"

/* A shorter one may be anything. */
#define LEAST_TEXT_BYTES 8

/* Of a long one, so much is looked at. */
#define MOST_TEXT_BYTES 64

/* Of larger chunks, so much tells whether they consist of zeros. */
#define ZERO_BYTES 64

/* A List: tag, length and room as int32, and the address of its elements. */
#define LIST_LENGTH 4
#define LIST_ROOM 8
#define LIST_ELEMENTS 16
#define LIST_BYTES 24

/*
 * A hash table: its context is the seventh word until 18, and one beside that in later releases;
 * its name's address follows.
 */
#define TABLE_FIRST_CONTEXT 32
#define TABLE_LAST_CONTEXT 64
#define TABLE_BYTES 80

typedef struct Content
{
	const char *bytes;
	Size		length;
	uintptr_t	address;
} Content;

static uint64
word_of(const Content *content, Size offset)
{
	uint64		word;

	memcpy(&word, content->bytes + offset, sizeof(word));
	return word;
}

static uint32
half_word_of(const Content *content, Size offset)
{
	uint32		word;

	memcpy(&word, content->bytes + offset, sizeof(word));
	return word;
}

/* How many printable bytes there are, if then a NUL or the end comes; else 0. */
static Size
printable_bytes(const char *bytes, Size room)
{
	for (Size i = 0; i < room; i++)
	{
		unsigned char c = bytes[i];

		if (c == '\0')
			return i;
		if (c < ' ' && c != '\n' && c != '\t' && c != '\r')
			return 0;
	}
	return room;
}

static bool
is_zero(const Content *content)
{
	for (Size at = 0; at < Min(content->length, ZERO_BYTES); at++)
		if (content->bytes[at] != 0)
			return false;
	return true;
}

static bool
is_list(const PlhHeapTags *tags, const Content *content)
{
	uint32		tag = half_word_of(content, 0);
	uint64		elements;

	if (content->length < LIST_BYTES ||
		(tag != tags->lists[0] && tag != tags->lists[1] && tag != tags->lists[2] &&
		 (tag != tags->lists[3] || tag == 0)))
		return false;
	elements = word_of(content, LIST_ELEMENTS);
	return half_word_of(content, LIST_LENGTH) <= half_word_of(content, LIST_ROOM) &&
		half_word_of(content, LIST_ROOM) < (1 << 28) && elements % 8 == 0 && elements != 0;
}

/* The text within a chunk that an address leads to, behind a table. */
static bool
read_table_name(const Content *content, uint64 name, PlhHeapLook *look)
{
	if (name < content->address + TABLE_LAST_CONTEXT || name >= content->address + content->length)
		return false;
	look->text = content->bytes + (name - content->address);
	look->text_bytes = printable_bytes(look->text, content->address + content->length - name);
	return look->text_bytes > 0;
}

/* Its name stands behind it in the same chunk. */
static bool
is_hash_table(const PlhHeapContexts *contexts, const PlhHeapChunk *chunk, const Content *content,
			  PlhHeapLook *look)
{
	const PlhHeapContext *context = &contexts->list[chunk->block->context];

	if (content->length < TABLE_BYTES || context->flags & PLH_HEAP_MALLOC)
		return false;
	for (int at = TABLE_FIRST_CONTEXT; at <= TABLE_LAST_CONTEXT; at += sizeof(uint64))
		if (word_of(content, at) == context->address &&
			read_table_name(content, word_of(content, at + sizeof(uint64)), look))
			return true;
	return false;
}

static bool
is_text(const Content *content, PlhHeapLook *look)
{
	look->text = content->bytes;
	look->text_bytes = printable_bytes(content->bytes, Min(content->length, MOST_TEXT_BYTES));
	return look->text_bytes >= LEAST_TEXT_BYTES;
}

static bool
is_code(const PlhHeapContexts *contexts, uint64 word)
{
	const PlhHeapMemory *memory = contexts->memory;
	uint32		low = 0;
	uint32		high = memory->count;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (memory->segments[middle].end <= word)
			low = middle + 1;
		else
			high = middle;
	}
	return low < memory->count && word >= memory->segments[low].start &&
		(memory->segments[low].flags & (PLH_HEAP_CODE | PLH_HEAP_RUNS));
}

PlhHeapLook
plh_heap_kinds_look(const PlhHeapContexts *contexts, const PlhHeapTags *tags,
					const PlhHeapChunk *chunk)
{
	Content		content = {
		chunk->block->bytes + (chunk->start - chunk->block->start),
		chunk->end - chunk->start, chunk->start
	};
	PlhHeapLook look = {PLH_HEAP_CHUNK_OTHER};

	if (content.length < sizeof(uint64))
		return look;
	look.tag = half_word_of(&content, 0);
	if (is_list(tags, &content))
		look.kind = PLH_HEAP_CHUNK_LIST;
	else if (is_hash_table(contexts, chunk, &content, &look))
		look.kind = PLH_HEAP_CHUNK_HASH_TABLE;
	else if (is_text(&content, &look))
		look.kind = PLH_HEAP_CHUNK_TEXT;
	else if (is_zero(&content))
		look.kind = PLH_HEAP_CHUNK_ZEROS;
	else if (is_code(contexts, word_of(&content, 0)))
		look.kind = PLH_HEAP_CHUNK_FUNCTION;
	else if (look.tag > 0 && look.tag < tags->end)
		look.kind = PLH_HEAP_CHUNK_NODE;
	return look;
}

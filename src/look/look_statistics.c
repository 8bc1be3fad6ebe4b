/*
 * look_statistics.c
 *	  The statistics of memory contexts that were walked, as the server itself would log them.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "look/look_statistics.h"

/* The server shows so much of what a context is of. */
#define IDENT_BYTES 100
#define NAME_BYTES 64

/* What the blocks of a context have. */
typedef struct Blocks
{
	uint32		count;
	uint32		free_chunks;
	Size		free_bytes;
} Blocks;

typedef struct Writing
{
	const PlhHeapContexts *contexts;
	PlhLogReading *reading;
	Blocks	   *blocks;			/* by number of the context */
	uint32	   *first_child;	/* likewise; 0: none */
	StringInfoData line;
} Writing;

static void
count_block(Blocks *blocks, const PlhHeapIndex *index, const PlhHeapBlock *block)
{
	PlhHeapChunk chunk;

	/* a header that lies by itself is no block */
	if (block->whole_end == block->start && block->flags & PLH_HEAP_KEEPER)
		return;
	blocks->count++;
	blocks->free_bytes += block->whole_end - block->end;
	if (block->flags & PLH_HEAP_UNSURE)
		return;
	for (uintptr_t at = block->start; plh_heap_index_next(index, block, at, &chunk);
		 at = chunk.start + 8)
		if (plh_heap_index_is_found(index, &chunk))
		{
			blocks->free_chunks++;
			blocks->free_bytes += chunk.end - chunk.start + block->chunk_header;
		}
}

static void
count_blocks(Writing *writing)
{
	const PlhHeapIndex *index = writing->contexts->index;

	writing->blocks = palloc0(writing->contexts->count * sizeof(Blocks));
	for (uint32 i = 0; i < index->count; i++)
		count_block(&writing->blocks[index->blocks[i].context], index, &index->blocks[i]);
}

/* The children of a context are a part of the list. */
static void
find_children(Writing *writing)
{
	const PlhHeapContexts *contexts = writing->contexts;

	writing->first_child = palloc0(contexts->count * sizeof(uint32));
	for (uint32 i = contexts->count; i-- > 1;)
		writing->first_child[contexts->list[i].parent] = i;
}

/* A text of the process, in one line. */
static void
append_text(Writing *writing, uintptr_t address, Size room)
{
	char		text[IDENT_BYTES + 1];

	(void) plh_heap_memory_text(writing->contexts->memory, address, text, room);
	for (char *c = text; *c != '\0'; c++)
		if ((unsigned char) *c < ' ')
			*c = ' ';
	appendStringInfoString(&writing->line, text);
}

static void
hand_on(Writing *writing)
{
	appendStringInfoChar(&writing->line, '\n');
	plh_log_reading_add(writing->reading, writing->line.data, writing->line.len);
	resetStringInfo(&writing->line);
}

static void
append_figures(Writing *writing, Size bytes, const Blocks *blocks, const char *unit)
{
	Size		free_bytes = Min(blocks->free_bytes, bytes);

	appendStringInfo(&writing->line, "%zu %s in %u blocks; %zu free (%u chunks); %zu used",
					 bytes, unit, blocks->count, free_bytes, blocks->free_chunks,
					 bytes - free_bytes);
}

/* A hash table's context has the name of its table, as in the server's own statistics. */
static void
write_context(Writing *writing, uint32 number, int level)
{
	const PlhHeapContext *context = &writing->contexts->list[number];
	char		name[NAME_BYTES];
	bool		is_table;

	(void) plh_heap_memory_text(writing->contexts->memory, context->name, name, sizeof(name));
	is_table = strcmp(name, "dynahash") == 0 && context->ident != 0;
	appendStringInfo(&writing->line, "LOG:  level: %d; ", level);
	append_text(writing, is_table ? context->ident : context->name, NAME_BYTES);
	appendStringInfoString(&writing->line, ": ");
	append_figures(writing, context->bytes, &writing->blocks[number], "total");
	if (context->ident != 0 && !is_table)
	{
		appendStringInfoString(&writing->line, ": ");
		append_text(writing, context->ident, IDENT_BYTES + 1);
	}
	hand_on(writing);
}

/* The next context that is not below one: a sibling, or that of one above.  0: there is none. */
static uint32
next_behind(const PlhHeapContexts *contexts, uint32 number, int *level)
{
	for (; number != 0; number = contexts->list[number].parent, --*level)
		if (number + 1 < contexts->count &&
			contexts->list[number + 1].parent == contexts->list[number].parent)
			return number + 1;
	return 0;
}

/* From the top downward, each context in front of those below it. */
static void
write_tree(Writing *writing)
{
	uint32		number = 0;
	int			level = 0;

	do
	{
		write_context(writing, number, level);
		if (writing->first_child[number] != 0)
		{
			number = writing->first_child[number];
			level++;
		}
		else
			number = next_behind(writing->contexts, number, &level);
	} while (number != 0);
}

static void
write_total(Writing *writing)
{
	Blocks		all = {0};
	Size		bytes = 0;

	for (uint32 i = 0; i < writing->contexts->count; i++)
	{
		bytes += writing->contexts->list[i].bytes;
		all.count += writing->blocks[i].count;
		all.free_chunks += writing->blocks[i].free_chunks;
		all.free_bytes += writing->blocks[i].free_bytes;
	}
	appendStringInfoString(&writing->line, "LOG:  Grand total: ");
	append_figures(writing, bytes, &all, "bytes");
	hand_on(writing);
}

void
plh_look_statistics_read(const PlhHeapContexts *contexts, int pid, PlhLogReading *reading)
{
	Writing		writing = {.contexts = contexts,.reading = reading};

	initStringInfo(&writing.line);
	count_blocks(&writing);
	find_children(&writing);
	appendStringInfo(&writing.line, "LOG:  logging memory contexts of PID %d", pid);
	hand_on(&writing);
	write_tree(&writing);
	write_total(&writing);
	plh_log_reading_end(reading);
}

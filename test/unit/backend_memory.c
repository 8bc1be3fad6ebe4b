/*
 * backend_memory.c
 *	  The palloc family for tests of readers.
 *
 * A memory context is a list of what was malloc'd for it.
 */
#include "postgres.h"

#include "lib/ilist.h"
#include "nodes/memnodes.h"
#include "utils/memutils.h"

#include "backend.h"
#include "server.h"

/* What precedes each chunk, a multiple of the strictest alignment. */
typedef struct Chunk
{
	dlist_node	node;			/* in the list of its context */
	struct TestContext *context;
	Size		bytes;
} Chunk;

StaticAssertDecl(sizeof(Chunk) % 16 == 0, "chunks are not aligned");

typedef struct TestContext
{
	MemoryContextData base;
	dlist_head	chunks;
} TestContext;

static TestContext test_context = {
	.chunks = DLIST_STATIC_INIT(test_context.chunks)
};

MemoryContext CurrentMemoryContext = (MemoryContext) &test_context;

Size		palloced_bytes;
Size		palloced_peak;

static Chunk *
chunk_of(void *pointer)
{
	return (Chunk *) pointer - 1;
}

static void
check_size(Size size, bool huge)
{
	if (huge ? !AllocHugeSizeIsValid(size) : !AllocSizeIsValid(size))
		elog(ERROR, "invalid memory alloc request size %zu", size);
}

static void *
allocate(MemoryContext context, Size size, bool huge)
{
	Chunk	   *chunk;

	check_size(size, huge);
	chunk = malloc(sizeof(Chunk) + size);
	if (chunk == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	chunk->context = (TestContext *) context;
	chunk->bytes = size;
	dlist_push_head(&chunk->context->chunks, &chunk->node);
	palloced_bytes += size;
	palloced_peak = Max(palloced_peak, palloced_bytes);
	return chunk + 1;
}

static void *
allocate_zeroed(MemoryContext context, Size size, bool huge)
{
	return memset(allocate(context, size, huge), 0, size);
}

void
pfree(void *pointer)
{
	Chunk	   *chunk = chunk_of(pointer);

	dlist_delete(&chunk->node);
	palloced_bytes -= chunk->bytes;
	free(chunk);
}

/* Always moves, so that what still points to the old place is found out. */
static void *
reallocate(void *pointer, Size size, bool huge)
{
	Chunk	   *chunk = chunk_of(pointer);
	void	   *moved = allocate((MemoryContext) chunk->context, size, huge);

	memcpy(moved, pointer, Min(size, chunk->bytes));
	pfree(pointer);
	return moved;
}

void *
palloc(Size size)
{
	return allocate(CurrentMemoryContext, size, false);
}

void *
palloc0(Size size)
{
	return allocate_zeroed(CurrentMemoryContext, size, false);
}

void *
palloc_extended(Size size, int flags)
{
	return MemoryContextAllocExtended(CurrentMemoryContext, size, flags);
}

void *
repalloc(void *pointer, Size size)
{
	return reallocate(pointer, size, false);
}

void *
repalloc_huge(void *pointer, Size size)
{
	return reallocate(pointer, size, true);
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return allocate(context, size, false);
}

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return allocate_zeroed(context, size, false);
}

void *
MemoryContextAllocHuge(MemoryContext context, Size size)
{
	return allocate(context, size, true);
}

void *
MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	bool		huge = (flags & MCXT_ALLOC_HUGE) != 0;

	return (flags & MCXT_ALLOC_ZERO) != 0 ?
		allocate_zeroed(context, size, huge) : allocate(context, size, huge);
}

char *
MemoryContextStrdup(MemoryContext context, const char *text)
{
	Size		bytes = strlen(text) + 1;

	return memcpy(allocate(context, bytes, false), text, bytes);
}

char *
pstrdup(const char *text)
{
	return MemoryContextStrdup(CurrentMemoryContext, text);
}

char *
pnstrdup(const char *text, Size bytes)
{
	Size		length = strnlen(text, bytes);
	char	   *copy = palloc(length + 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name,
							  Size min_bytes, Size first_bytes,
							  Size max_bytes)
{
	TestContext *context = malloc(sizeof(TestContext));

	memset(context, 0, sizeof(*context));
	dlist_init(&context->chunks);
	return &context->base;
}

void
MemoryContextReset(MemoryContext context)
{
	dlist_head *chunks = &((TestContext *) context)->chunks;

	reset_context(context);
	while (!dlist_is_empty(chunks))
		pfree(dlist_container(Chunk, node, dlist_head_node(chunks)) + 1);
}

void
MemoryContextDelete(MemoryContext context)
{
	MemoryContextReset(context);
	free(context);
}

/*
 * Free all that is palloc'd, but in contexts that a test has made.
 */
void
forget_memory(void)
{
	CurrentMemoryContext = &test_context.base;
	MemoryContextReset(CurrentMemoryContext);
	palloced_peak = palloced_bytes;
}

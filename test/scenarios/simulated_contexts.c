/*
 * simulated_contexts.c
 *	  The memory contexts of a simulated process: shells, which have a size.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "simulated_state.h"

/* A context is larger than its chunks by this part, and has this at least. */
#define CONTEXT_PART 0.03
#define CONTEXT_BYTES 1024

/*
 * What a census looks at is chosen by the addresses of contexts: so that these are the
 * same in each run, of each build, the first ones lie at a place where nothing else is.
 */
#define PLACES 65536
#define PLACES_ADDRESS ((void *) UINT64CONST(0x200000000000))

/* As large in each version of PostgreSQL. */
typedef union Place
{
	Shell		shell;
	char		bytes[256];
} Place;

static Place *places;
static int	place_count;
static Shell *free_place;		/* linked by their parents */

/* What is free in a context. */
static void
stats_of(MemoryContext context, MemoryStatsPrintFunc print, void *arg,
		 MemoryContextCounters *totals, bool print_to_stderr)
{
	totals->freespace += shell_of(context)->free_bytes;
}

static const MemoryContextMethods methods = {.stats = stats_of};

/* Let a context be as large as its chunks make it. */
void
simulated_note_size(MemoryContext context)
{
	Size		bytes = CONTEXT_BYTES +
		(Size) (shell_of(context)->chunk_bytes * (1.0 + CONTEXT_PART)) +
		shell_of(context)->free_bytes;

	simulated.context_bytes += (int64) bytes - (int64) context->mem_allocated;
	context->mem_allocated = bytes;
}

static void
reserve_places(void)
{
	places = mmap(PLACES_ADDRESS, sizeof(Place) * PLACES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (places == MAP_FAILED)
		abort();
}

/* Empty, where one was before if there is such a place. */
static Shell *
new_shell(void)
{
	Shell	   *shell = free_place;

	if (shell != NULL)
	{
		free_place = shell_of(shell->data.parent);
		return memset(shell, 0, sizeof(Shell));
	}
	if (places == NULL)
		reserve_places();
	return place_count < PLACES ? &places[place_count++].shell : calloc(1, sizeof(Shell));
}

static void
free_shell(Shell *shell)
{
	if ((Place *) shell >= places && (Place *) shell < places + PLACES)
	{
		shell->data.parent = (MemoryContext) free_place;
		free_place = shell;
	}
	else
		free(shell);
}

MemoryContext
context_create(const char *name, MemoryContext parent)
{
	Shell	   *shell = new_shell();
	MemoryContext context = &shell->data;

	context->type = T_AllocSetContext;
	context->methods = &methods;
	context->name = name;
	context->parent = parent;
	shell->samples = -1;
	if (parent != NULL)
	{
		context->nextchild = parent->firstchild;
		if (parent->firstchild != NULL)
			parent->firstchild->prevchild = context;
		parent->firstchild = context;
	}
	simulated.contexts++;
	simulated_note_size(context);
	return context;
}

void
context_reset(MemoryContext context)
{
	while (context->firstchild != NULL)
		context_delete(context->firstchild);
	simulated_drop_samples(context);
	shell_of(context)->chunk_bytes = 0;
	shell_of(context)->free_bytes = 0;
	simulated_note_size(context);
}

void
context_delete(MemoryContext context)
{
	context_reset(context);
	if (context->prevchild != NULL)
		context->prevchild->nextchild = context->nextchild;
	else if (context->parent != NULL)
		context->parent->firstchild = context->nextchild;
	if (context->nextchild != NULL)
		context->nextchild->prevchild = context->prevchild;
	simulated.contexts--;
	simulated.context_bytes -= context->mem_allocated;
	free_shell(shell_of(context));
}

void
context_has_free(MemoryContext context, int64 bytes)
{
	shell_of(context)->free_bytes = bytes;
	simulated_note_size(context);
}

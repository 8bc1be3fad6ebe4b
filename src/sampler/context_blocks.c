/*
 * context_blocks.c
 *	  Tells apart what memory contexts take from malloc, and what others do.
 *
 * What is in the blocks of contexts is sampled when it is allocated there, and must not be counted
 * twice.  Which functions of the server get these blocks is learned by driving a context of each
 * type, while all calls of malloc are noted: their symbols are static, and the ones that are not
 * lie between others.  Each return address is widened to its function by the tables for unwinding,
 * which a stripped server has, too.  Only functions of the server are meant: a profiler behind us
 * may allocate for itself when it is called, and does so by functions that others use, such as
 * operator new.
 *
 * If the compiler has inlined such a function into another one that calls malloc for something
 * else, that is left out as well.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/compat.h"
#include "base/fork.h"
#include "base/page_layout.h"
#include "sampler/context_blocks.h"
#include "stack/modules.h"
#include "stack/unwind.h"

/*
 * Contexts of these sizes are not taken from the lists of those that were deleted, which are for
 * the usual ones.
 */
#define FIRST_BLOCK_BYTES 2048
#define MAX_BLOCK_BYTES 8192

/* This number of chunks takes several blocks; a large one has a block of its own. */
#define CHUNK_BYTES 100
#define CHUNKS 300
#define LARGE_BYTES 100000

/* There are 7 such functions in 15, and 12 in 17 and 18. */
#define MAX_FUNCTIONS 64

static PLH_SET_AT_LOAD PLH_LARGE PlhCodeRange functions[MAX_FUNCTIONS];
static PLH_SET_AT_LOAD int function_count;

/* The code of the server itself. */
static PLH_SET_AT_LOAD PlhCodeRange server;

/*
 * Is that an address in a function that gets blocks for contexts?  A return address may be just
 * behind the last instruction of its function.
 */
bool
plh_context_blocks_has(const void *caller)
{
	uintptr_t	address = (uintptr_t) caller - 1;

	for (int i = 0; i < function_count; i++)
	{
		if (plh_code_range_has(&functions[i], address))
			return true;
	}
	return false;
}

/*
 * Note that malloc was called from there while contexts were probed.  If too many functions have
 * called it, there is no room: then some blocks will be shown as malloc's.
 */
void
plh_context_blocks_note(const void *caller)
{
	uintptr_t	address = (uintptr_t) caller - 1;

	if (plh_code_range_has(&server, address) &&
		!plh_context_blocks_has(caller) && function_count < MAX_FUNCTIONS &&
		plh_unwind_function_of(address, &functions[function_count]))
		function_count++;
}

/* Returns how many functions there are. */
int
plh_context_blocks_count(void)
{
	return function_count;
}

/* Let a context take all kinds of blocks that there are, and give them back. */
static void
probe(MemoryContext context, Size chunk_bytes, bool has_large, bool has_realloc)
{
	for (int i = 0; i < CHUNKS; i++)
		(void) MemoryContextAlloc(context, chunk_bytes);
	if (has_large)
	{
		void	   *large = MemoryContextAlloc(context, LARGE_BYTES);

		if (has_realloc)
			pfree(repalloc(large, 2 * LARGE_BYTES));
	}
	MemoryContextDelete(context);
}

/* Probe a context of each type. */
void
plh_context_blocks_probe(void)
{
	const PlhModule *module = plh_modules_find((uintptr_t) MemoryContextAlloc);

	if (module == NULL)
		return;
	server.start = module->text_start;
	server.end = module->text_end;
	probe(AllocSetContextCreate(TopMemoryContext, "pg_leakhunt scratch",
								0, FIRST_BLOCK_BYTES, MAX_BLOCK_BYTES),
		  CHUNK_BYTES, true, true);
	probe(GenerationContextCreate(TopMemoryContext, "pg_leakhunt scratch",
								  0, FIRST_BLOCK_BYTES, MAX_BLOCK_BYTES),
		  CHUNK_BYTES, true, true);
	probe(SlabContextCreate(TopMemoryContext, "pg_leakhunt scratch", MAX_BLOCK_BYTES, CHUNK_BYTES),
		  CHUNK_BYTES, false, false);
#if PLH_HAVE_BUMP
	probe(BumpContextCreate(TopMemoryContext, "pg_leakhunt scratch",
							0, FIRST_BLOCK_BYTES, MAX_BLOCK_BYTES),
		  CHUNK_BYTES, true, false);
#endif
}

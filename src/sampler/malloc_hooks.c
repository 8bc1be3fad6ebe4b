/*
 * malloc_hooks.c
 *	  What is called when malloc allocates and frees, where pg_leakhunt_malloc.so is preloaded.
 *
 * Everything here but installing runs inside malloc or free, and by the rules of method_hooks.c.
 * Besides: other threads may free what was sampled, and get no further than malloc_samples.c.  So
 * does a signal handler that frees while the guard is held.
 *
 * What comes from malloc is of the context "[malloc]", and of the lifetime "process".
 *
 * What is in the blocks of memory contexts is sampled when it is allocated there, and must not be
 * counted twice.  Which functions of the server get these blocks is learned by driving a context of
 * each type, while all calls of malloc are noted: their symbols are static, and the ones that are
 * not lie between others.  Each return address is widened to its function by the tables for
 * unwinding, which a stripped server has, too.  Only functions of the server are meant: a profiler
 * behind us may allocate for itself when it is called, and does so by functions that others use,
 * such as operator new.
 *
 * If the compiler has inlined such a function into another one that calls malloc for something
 * else, that is left out as well.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "preload/malloc_hook.h"
#include "profile/profile_counters.h"
#include "sampler/countdown.h"
#include "sampler/current_site.h"
#include "sampler/malloc_hooks.h"
#include "sampler/malloc_samples.h"
#include "sampler/otel_memory.h"
#include "sampler/owner.h"
#include "sampler/plan_nodes.h"
#include "sampler/statement_peaks.h"
#include "sampler/upkeep.h"
#include "stack/modules.h"
#include "stack/unwind.h"

static PLH_SET_AT_LOAD PlhMallocHook *hook; /* NULL: nothing is sampled */

/* The child draws its gap anew (countdown.c), and plh_malloc_hooks_forget moves it. */
static PLH_SURVIVES_FORK PlhCountdown countdown;

static uint32 malloc_name;		/* of "[malloc]" in the profile; 0: not yet */

/* Contexts are probed, to see which functions call malloc for them. */
static PLH_SET_AT_LOAD bool learning;

/* Where jemalloc's code is, if that is the allocator behind us; else 0. */
static PLH_SET_AT_LOAD PlhCodeRange jemalloc;

/* Contexts of unusual sizes are not taken from the lists of those that were deleted. */
#define FIRST_BLOCK_BYTES 2048
#define MAX_BLOCK_BYTES 8192

/* This number of chunks takes several blocks; a large one has a block of its own. */
#define CHUNK_BYTES 100
#define CHUNKS 300
#define LARGE_BYTES 100000

/* The functions that get blocks for contexts: 7 in 15, and 12 in 17 and 18. */
#define MAX_FUNCTIONS 64
static PLH_SET_AT_LOAD PLH_LARGE PlhCodeRange functions[MAX_FUNCTIONS];
static PLH_SET_AT_LOAD int function_count;

/* The code of the server itself. */
static PLH_SET_AT_LOAD PlhCodeRange server;

/* Is that an address in a function that gets blocks for contexts? */
static bool
is_for_context(uintptr_t address)
{
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
static void
note_function(uintptr_t address)
{
	if (plh_code_range_has(&server, address) &&
		!is_for_context(address) && function_count < MAX_FUNCTIONS &&
		plh_unwind_function_of(address, &functions[function_count]))
		function_count++;
}

/* Let a context take all kinds of blocks that there are, and give them back. */
static void
probe(MemoryContext context, bool has_large, bool has_realloc)
{
	for (int i = 0; i < CHUNKS; i++)
		(void) MemoryContextAlloc(context, CHUNK_BYTES);
	if (has_large)
	{
		void	   *large = MemoryContextAlloc(context, LARGE_BYTES);

		if (has_realloc)
			pfree(repalloc(large, 2 * LARGE_BYTES));
	}
	MemoryContextDelete(context);
}

/* Probe a context of each type. */
static void
probe_contexts(void)
{
	const PlhModule *module = plh_modules_find((uintptr_t) MemoryContextAlloc);

	if (module == NULL)
		return;
	server.start = module->text_start;
	server.end = module->text_end;
	probe(AllocSetContextCreate(TopMemoryContext, "pg_leakhunt scratch",
								0, FIRST_BLOCK_BYTES, MAX_BLOCK_BYTES), true, true);
	probe(GenerationContextCreate(TopMemoryContext, "pg_leakhunt scratch",
								  0, FIRST_BLOCK_BYTES, MAX_BLOCK_BYTES), true, true);
	probe(SlabContextCreate(TopMemoryContext, "pg_leakhunt scratch", MAX_BLOCK_BYTES, CHUNK_BYTES),
		  false, false);
#if PLH_HAVE_BUMP
	probe(BumpContextCreate(TopMemoryContext, "pg_leakhunt scratch",
							0, FIRST_BLOCK_BYTES, MAX_BLOCK_BYTES), true, false);
#endif
}

/* Subtract a sample, whose block is gone, from the counters. */
static void
end_sample(uint32 number)
{
	const void *block = plh_malloc_samples_block(number);
	PlhMallocSampled sampled = plh_malloc_samples_remove(number);

	plh_profile_counters_subtract(sampled.site, sampled.size, sampled.draw, sampled.tick);
	plh_otel_memory_freed(block);
	if (unlikely(plh_plan_nodes_are_watched))
		plh_plan_nodes_subtract(sampled.part, sampled.size, sampled.draw);
}

/* Inlined into plh_malloc_hooks_reap, it would have a commit set up a frame. */
static pg_noinline void
reap(void)
{
	uint32		number;

	while ((number = plh_malloc_samples_next_left()) != PLH_NO_MALLOC_SAMPLE)
		end_sample(number);
}

/* End the samples whose blocks others have freed; under the guard. */
PLH_EVERY_PROCESS void
plh_malloc_hooks_reap(void)
{
	if (hook != NULL)
		reap();
}

/* Keep a sample, or count it as lost. */
static pg_attribute_always_inline void
record_sample(void *block, Size size, uint32 interval)
{
	PlhMallocSampled sampled = {
		.size = size,
		.draw = plh_countdown_draw(size, interval)
	};
	PlhMallocSampled *kept;
	PlhStack	stack;

	if (CritSectionCount > 0)
	{
		plh_profile_counters_count_lost(PLH_LOSS_CRITICAL, size, sampled.draw);
		return;
	}
	if (plh_profile == NULL && !plh_owner_begin_profile())
	{
		plh_profile_counters_count_lost(PLH_LOSS_LIVE_TABLE, size, sampled.draw);
		return;
	}
	plh_current_stack(&stack, interval);
	if (malloc_name == 0)
		malloc_name = plh_profile_string(PLH_MALLOC_NAME, PLH_CONTEXT_NAME_MAX);
	sampled.site = plh_current_site(&stack, malloc_name, PLH_LIFETIME_PROCESS);
	kept = plh_malloc_samples_insert(block, &sampled);
	if (kept != NULL)
	{
		kept->tick = plh_profile_counters_add(sampled.site, size, 0, sampled.draw);
		plh_otel_memory_allocated(block, size, sampled.draw);
		if (unlikely(plh_plan_nodes_are_watched))
			kept->part = plh_plan_nodes_add(sampled.site, size, sampled.draw, NULL);
		plh_statement_peaks_sampled();
	}
	else
		plh_profile_counters_count_lost(PLH_LOSS_LIVE_TABLE, size, sampled.draw);
	plh_upkeep_run(PLH_UPKEEP_SAMPLE_KEPT, plh_profile_counters_held.at_us);
}

/*
 * jemalloc has operators of C++ of its own.  Some call its public functions to allocate, which come
 * by here, and others of its own to free, which do not.
 */
static void
find_jemalloc(void)
{
	const PlhModule *module = plh_modules_find((uintptr_t) dlsym(RTLD_DEFAULT, "mallocx"));

	if (module == NULL)
		return;
	jemalloc.start = module->text_start;
	jemalloc.end = module->text_end;
}

/* PlhMallocCalls.take */
static uint32
take(size_t size, const void *caller)
{
	uintptr_t	address = (uintptr_t) caller - 1;	/* in the call itself */
	uint32		interval;

	if (learning)
	{
		note_function(address);
		return 0;
	}
	interval = plh_countdown_take(&countdown, size);
	return interval != 0 && (is_for_context(address) || plh_code_range_has(&jemalloc, address)) ?
		0 : interval;
}

/* PlhMallocCalls.record */
static void
record(void *block, size_t size, uint32 interval)
{
	int			saved_errno = errno;

	if (plh_guard_held)
		return;
	plh_guard_held = true;
	plh_malloc_hooks_reap();
	record_sample(block, size, interval);
	plh_guard_held = false;
	errno = saved_errno;
}

/* PlhMallocCalls.moved, in the thread that is sampled; errno is not touched */
static void
moved(uint32 number, bool is_gone)
{
	if (!is_gone)
		plh_malloc_samples_unclaim(number);
	else if (plh_guard_held)
		plh_malloc_samples_leave(number);
	else
	{
		plh_guard_held = true;
		end_sample(number);
		plh_guard_held = false;
	}
}

/* PlhMallocCalls.free_block */
static void
free_block(void *block, bool sampled_thread)
{
	uint32		number = plh_malloc_samples_claim(block);

	if (number == PLH_NO_MALLOC_SAMPLE)
		return;
	if (sampled_thread)
		moved(number, true);
	else
		plh_malloc_samples_leave(number);
}

/*
 * PlhMallocCalls.moving.  In another thread the sample ends now: once the block is gone, its
 * address may be that of another sample.  If there is no memory to move it to, one sample is
 * counted too few.
 */
static uint32
moving(void *block, bool sampled_thread)
{
	uint32		number = plh_malloc_samples_claim(block);

	if (number == PLH_NO_MALLOC_SAMPLE || sampled_thread)
		return number;
	plh_malloc_samples_leave(number);
	return 0;
}

static const PlhMallocCalls calls = {
	.take = take,.record = record,.free_block = free_block,.moving = moving,.moved = moved
};

/* Let the preloaded library call us, or nobody. */
static void
set_calls(const PlhMallocCalls *to_call)
{
	__atomic_store_n(&hook->calls, to_call, __ATOMIC_RELEASE);
}

/* Learn which functions get blocks.  As the countdown stays at 0, each call takes the slow path. */
static void
learn(void)
{
	learning = true;
	*hook->sampled_countdown = 0;
	set_calls(&calls);
	PG_TRY();
	{
		probe_contexts();
	}
	PG_CATCH();
	{
		set_calls(NULL);
		PG_RE_THROW();
	}
	PG_END_TRY();
	learning = false;
}

/*
 * Begin to sample what malloc allocates in this process and its children.  Returns NULL, also where
 * the library is not preloaded, or a sentence that says why it is impossible.
 */
const char *
plh_malloc_hooks_install(void)
{
	PlhMallocHook *found = dlsym(RTLD_DEFAULT, PLH_MALLOC_HOOK_NAME);

	if (found == NULL)
		return NULL;
	if (found->version != PLH_MALLOC_HOOK_VERSION || found->bytes != sizeof(PlhMallocHook))
		return "The preloaded pg_leakhunt_malloc.so and pg_leakhunt have different versions.";
	hook = found;
	hook->sampled_countdown = hook->countdown();
	plh_unwind_skip_text_of((const void *) hook->countdown);
	find_jemalloc();
	plh_malloc_samples_start(plh_load_settings.max_live_samples, hook->filter);
	learn();
	if (function_count == 0)
	{
		set_calls(NULL);
		hook = NULL;
		return "pg_leakhunt_malloc.so does not see calls of malloc: another allocator comes before it in LD_PRELOAD.";
	}
	plh_countdown_start(&countdown, PLH_COUNTED_MALLOC, hook->sampled_countdown);
	plh_owner_note_malloc(&hook->other_bytes);
	return NULL;
}

/* Is what the calling thread gets from malloc sampled?  Any thread may ask. */
bool
plh_malloc_hooks_samples_thread(void)
{
	return hook != NULL && hook->countdown() == hook->sampled_countdown;
}

/* Forget the parent's samples in a forked child, which has one thread. */
PLH_EVERY_PROCESS void
plh_malloc_hooks_forget(void)
{
	if (hook == NULL)
		return;
	memset(&malloc_name, 0, sizeof(malloc_name));
	plh_malloc_samples_forget();
	hook->other_bytes = 0;
	hook->sampled_countdown = hook->countdown();
	countdown.left = hook->sampled_countdown;
}

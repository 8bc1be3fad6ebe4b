/*
 * malloc_hooks.c
 *	  What is called when malloc allocates and frees, where pg_leakhunt_malloc.so is preloaded.
 *
 * Everything here but installing runs inside malloc or free, and by the rules of method_hooks.c.
 * Besides: other threads may free what was sampled, and get no further than malloc_samples.c.  So
 * does a signal handler that frees while the guard is held.
 *
 * What comes from malloc is of the context "[malloc]", and of the lifetime "process", unless a
 * memory context took it.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "miscadmin.h"

#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "preload/malloc_hook.h"
#include "profile/profile_counters.h"
#include "sampler/context_blocks.h"
#include "sampler/countdown.h"
#include "sampler/current_site.h"
#include "sampler/malloc_hooks.h"
#include "sampler/malloc_samples.h"
#include "sampler/owner.h"
#include "sampler/plan_nodes.h"
#include "sampler/statement_peaks.h"
#include "sampler/upkeep.h"
#include "stack/modules.h"
#include "stack/unwind.h"

static PLH_SET_AT_LOAD PlhMallocHook *hook; /* NULL: nothing is sampled */

/* The child draws its gap anew (countdown.c), and plh_malloc_hooks_forget moves it. */
static PLH_SURVIVES_FORK PlhCountdown countdown;

static struct
{
	uint32		name;			/* of malloc's context, as an offset in the
								 * profile; 0: not there yet */
}			state;

/* Contexts are probed, to see which functions call malloc for them. */
static PLH_SET_AT_LOAD bool learning;

/* Where jemalloc's code is, if that is the allocator behind us; else 0. */
static PLH_SET_AT_LOAD PlhCodeRange jemalloc;

/* Subtract a sample, whose block is gone, from the counters. */
static void
end_sample(uint32 number)
{
	PlhMallocSampled sampled = plh_malloc_samples_remove(number);

	plh_profile_counters_subtract(sampled.site, sampled.size, sampled.draw, sampled.tick);
	if (unlikely(plh_plan_nodes_are_watched))
		plh_plan_nodes_subtract(sampled.part, sampled.size, sampled.draw);
}

/* No part of plh_malloc_hooks_reap, so that a commit needs no frame for it. */
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
	if (state.name == 0)
		state.name = plh_profile_string(PLH_MALLOC_NAME, PLH_CONTEXT_NAME_MAX);
	sampled.site = plh_current_site(&stack, state.name, PLH_LIFETIME_PROCESS);
	kept = plh_malloc_samples_insert(block, &sampled);
	if (kept != NULL)
	{
		kept->tick = plh_profile_counters_add(sampled.site, size, sampled.draw);
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
	uint32		interval;

	if (learning)
	{
		plh_context_blocks_note(caller);
		return 0;
	}
	interval = plh_countdown_take(&countdown, size);
	if (interval != 0 &&
		(plh_context_blocks_has(caller) ||
		 plh_code_range_has(&jemalloc, (uintptr_t) caller)))
		return 0;
	return interval;
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
	.take = take,
	.record = record,
	.free_block = free_block,
	.moving = moving,
	.moved = moved
};

/* Let the preloaded library call us, or nobody. */
static void
set_calls(const PlhMallocCalls *to_call)
{
	__atomic_store_n(&hook->calls, to_call, __ATOMIC_RELEASE);
}

/*
 * Learn which functions call malloc for contexts.  Meanwhile each call takes the slow path, as the
 * countdown stays at 0.
 */
static void
learn(void)
{
	learning = true;
	*hook->sampled_countdown = 0;
	set_calls(&calls);
	PG_TRY();
	{
		plh_context_blocks_probe();
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
 * Begin to sample what malloc allocates in this process and in those that it forks.  Returns NULL
 * if that is possible, or not wanted, as the library is not preloaded; else a sentence that says
 * why it is impossible.
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
	if (plh_context_blocks_count() == 0)
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
	memset(&state, 0, sizeof(state));
	plh_malloc_samples_forget();
	hook->other_bytes = 0;
	hook->sampled_countdown = hook->countdown();
	countdown.left = hook->sampled_countdown;
}

/*
 * method_hooks.c
 *	  The functions that stand in the place of memory context methods.
 *
 * Everything here but installing runs inside palloc.  These are the rules: the original method
 * comes first, as it may throw; nothing pallocs, mallocs, locks, reports or uses stdio; errno stays
 * as it was; nothing recurses; in a critical section only counters change.  The one exception is an
 * allocation that a limit refuses (process_limit.c), or a test (planned_failure.c): it fails as the
 * original would.
 *
 * A palloc passes the countdown (a subtraction and a test; near_code.c has it, too) and, once in an
 * interval, alloc_slow -> countdown; record_sample -> lifetime, current_site, profile,
 * live_samples.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_file.h"
#include "sampler/chunk_mark.h"
#include "sampler/context_name.h"
#include "sampler/countdown.h"
#include "sampler/current_site.h"
#include "sampler/errands.h"
#include "sampler/lifetime.h"
#include "sampler/live_samples.h"
#include "sampler/method_hooks.h"
#include "sampler/method_patch.h"
#include "sampler/near_code.h"
#include "sampler/otel_memory.h"
#include "sampler/owner.h"
#include "sampler/plan_nodes.h"
#include "sampler/planned_failure.h"
#include "sampler/process_limit.h"
#include "sampler/sample_filter.h"
#include "sampler/statement_peaks.h"
#include "sampler/upkeep.h"

/*
 * The allocation that brings this to 0 or below takes the slow path.  A forked child draws its gap
 * anew (countdown.c).
 */
static PLH_SURVIVES_FORK uint64 own_countdown_left = PLH_COUNTDOWN_MAX;
static PLH_SET_AT_LOAD uint64 *countdown_left = &own_countdown_left;
static PLH_SURVIVES_FORK PlhCountdown countdown;

static PLH_SET_AT_LOAD PlhMethods originals[PLH_CONTEXT_TYPES];

/*
 * From here to the hooks everything is inlined into one function, as libunwind has to step over
 * each frame of ours at each sample.
 */
#define INLINE static pg_attribute_always_inline

/* Returns the name of a context, as an offset in the profile; 0: no room. */
INLINE uint32
name_of(MemoryContext context, PlhWatchedContext *watched)
{
	uint32		name = watched->name;

	if (name == 0)
	{
		name = plh_profile_string(plh_context_name(context), PLH_CONTEXT_NAME_MAX);
		if (plh_context_has_final_name(context))
			watched->name = name;
	}
	return name;
}

/* If a chunk can't be freed by itself, it has no header to mark, and ends with its context. */
INLINE bool
is_freed_singly(PlhContextType type)
{
#if PLH_HAVE_BUMP
	return type != PLH_BUMP;
#else
	return true;
#endif
}

/* Returns the lifetime of a context, which may be watched. */
INLINE PlhLifetime
lifetime_of(MemoryContext context, PlhWatchedContext *watched)
{
	PlhLifetime lifetime;

	if (watched != NULL && plh_lifetime_is_known(&watched->lifetime, context))
		return watched->lifetime.lifetime;
	lifetime = plh_lifetime_of(context);
	if (watched != NULL)
		plh_lifetime_note(&watched->lifetime, context, lifetime);
	return lifetime;
}

/*
 * Is that all there is to do about a sample of that interval: to count it, as it is out of scope?
 * Where each palloc of a query is such a sample, this is what most of them take.  It needs neither
 * the chunk nor the guard, so it may come before the original.
 */
static inline bool
only_counts(MemoryContext context, uint32 interval)
{
	if (plh_countdown_scope != PLH_SCOPE_LONG_LIVED ||
		plh_lifetime_of(context) == PLH_LIFETIME_SESSION || plh_upkeep_counts(interval))
		return false;
	plh_profile_counters_out_of_scope();
	return true;
}

static pg_noinline void
sample_not_kept(void)
{
	plh_upkeep_run(PLH_UPKEEP_SAMPLE_NOT_KEPT, plh_clock_us(CLOCK_MONOTONIC_COARSE));
}

/* What a chunk takes beyond its size.  One of a Bump context does not know; nor has it a header. */
static inline Size
spare_of(void *pointer, Size size, PlhContextType type)
{
	Size		space;

#if PLH_HAVE_BUMP
	if (type == PLH_BUMP)
		return MAXALIGN(size) - size;
#endif
	space = GetMemoryChunkSpace(pointer);
	return space > size ? space - size : 0;
}

/* Keep a sample, or count it as lost or out of scope. */
INLINE void
record_sample(MemoryContext context, void *pointer, Size size, uint32 interval, PlhContextType type)
{
	PlhDraw		draw;
	PlhWatchedContext *watched;
	PlhLifetime lifetime;
	PlhStack	stack;
	PlhLiveSample *sample;
	uint32		site;

	Assert(plh_guard_held);
	Assert(interval != 0);
	if (CritSectionCount > 0)
	{
		plh_profile_counters_count_lost(PLH_LOSS_CRITICAL, size,
										plh_countdown_draw(size, interval));
		return;
	}

	watched = plh_live_samples_watched(context);
	lifetime = lifetime_of(context, watched);
	if (plh_countdown_scope == PLH_SCOPE_LONG_LIVED && lifetime != PLH_LIFETIME_SESSION)
	{
		plh_profile_counters_out_of_scope();
		sample_not_kept();
		return;
	}
	interval = plh_countdown_thin(size, interval, lifetime);
	if (interval == 0)
	{
		sample_not_kept();
		return;
	}
	draw = plh_countdown_draw(size, interval);
	if ((plh_profile == NULL && !plh_owner_begin_profile()) ||
		(watched == NULL && (watched = plh_live_samples_watch(context, lifetime)) == NULL))
	{
		plh_profile_counters_count_lost(PLH_LOSS_LIVE_TABLE, size, draw);
		return;
	}

	plh_current_stack(&stack, interval);
	site = plh_current_site(&stack, name_of(context, watched), lifetime);
	sample = plh_live_samples_insert(watched, pointer, size, draw, site);
	if (sample != NULL)
	{
		sample->tick = plh_profile_counters_add(site, size, spare_of(pointer, size, type), draw);
		plh_otel_memory_allocated(pointer, size, draw);
		if (is_freed_singly(type))
			plh_chunk_mark(pointer);
		if (unlikely(plh_plan_nodes_are_watched))
			plh_plan_nodes_add_chunk(plh_live_samples_index(sample), site, size, draw, context);
		plh_statement_peaks_sampled();
	}
	else
		plh_profile_counters_count_lost(PLH_LOSS_LIVE_TABLE, size, draw);
	plh_upkeep_run(PLH_UPKEEP_SAMPLE_KEPT, plh_profile_counters_held.at_us);
}

INLINE void
record_guarded(MemoryContext context, void *pointer, Size size,
			   uint32 interval, PlhContextType type)
{
	int			saved_errno = errno;

	Assert(!plh_guard_held);
	plh_guard_held = true;
	record_sample(context, pointer, size, interval, type);
	plh_guard_held = false;
	errno = saved_errno;
}

/* Is the allocation to fail, which has taken the slow path, and adds so much to the process? */
static inline bool
is_to_fail(MemoryContext context, Size size, Size added, uint32 interval)
{
	return plh_process_limit_refuses(context, added, interval) ||
		plh_planned_failure_is_due(context, size);
}

static void
remove_guarded(const void *pointer)
{
	if (plh_guard_held)
		return;
	plh_guard_held = true;
	plh_live_samples_remove(pointer);
	plh_guard_held = false;
}

static pg_noinline PLH_EVERY_PROCESS void *
alloc_slow(PLH_ALLOC_PARAMETERS, PlhContextType type)
{
	uint32		interval = plh_countdown_take(&countdown, size);
	void	   *pointer;

	if (unlikely(plh_errands_changed(PLH_ERRAND_COUNT)))
		plh_upkeep_if_asked();
	if (is_to_fail(context, size, size, interval))
		return PLH_ALLOC_FAILURE(context);
	if (interval == 0 || only_counts(context, interval))
		return originals[type].alloc(PLH_ALLOC_ARGUMENTS);
	pointer = originals[type].alloc(PLH_ALLOC_ARGUMENTS);
	if (pointer != NULL)
		record_guarded(context, pointer, size, interval, type);
	return pointer;
}

static pg_noinline void
free_slow(PLH_FREE_PARAMETERS, PlhContextType type)
{
	bool		may_be_sample = plh_chunk_may_be_sample(pointer);

	plh_chunk_unmark(pointer);
	originals[type].free_p(PLH_FREE_ARGUMENTS);
	if (may_be_sample)
		remove_guarded(pointer);
}

/* If the original fails, by throwing or by returning NULL, the old chunk is still a sample. */
static void *
realloc_sample(PLH_REALLOC_PARAMETERS, PlhContextType type)
{
	void	   *volatile new_pointer = NULL;

	if (!PLH_MARKS_CHUNKS)
		return originals[type].realloc(PLH_REALLOC_ARGUMENTS);

	plh_chunk_unmark(pointer);
	PG_TRY();
	{
		new_pointer = originals[type].realloc(PLH_REALLOC_ARGUMENTS);
	}
	PG_CATCH();
	{
		plh_chunk_mark(pointer);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (new_pointer == NULL)
		plh_chunk_mark(pointer);
	return new_pointer;
}

/*
 * What a realloc adds to the process, which a limit asks for: a large chunk of AllocSet has a block
 * of its own, which grows in place.
 */
static inline Size
added_by_realloc(void *pointer, Size size, PlhContextType type)
{
	Size		had = plh_process_limit_is_set() && type == PLH_ALLOCSET ?
		GetMemoryChunkSpace(pointer) : 0;

	return size > had ? size - had : 0;
}

/* A realloc counts as a free and an allocation of the new size. */
static pg_noinline void *
realloc_slow(PLH_REALLOC_PARAMETERS, PlhContextType type)
{
	bool		may_be_sample = plh_chunk_may_be_sample(pointer);
	uint32		interval = 0;
	void	   *new_pointer;

	/* a signal handler may have allocated within the step that led here */
	if (*countdown_left > PLH_COUNTDOWN_MAX || plh_countdown_step_is_over(countdown_left, size))
	{
		MemoryContext context = GetMemoryChunkContext(pointer);

		interval = plh_countdown_take(&countdown, size);
		if (is_to_fail(context, size, added_by_realloc(pointer, size, type), interval))
			return PLH_ALLOC_FAILURE(context);
	}

	new_pointer = may_be_sample ? realloc_sample(PLH_REALLOC_ARGUMENTS, type) :
		originals[type].realloc(PLH_REALLOC_ARGUMENTS);
	if (new_pointer == NULL)
		return NULL;

	/* the old sample goes first, as the new chunk may lie where it lay */
	if (may_be_sample)
		remove_guarded(pointer);
	if (interval != 0)
	{
		MemoryContext context = GetMemoryChunkContext(new_pointer);

		if (!only_counts(context, interval))
			record_guarded(context, new_pointer, size, interval, type);
	}
	return new_pointer;
}

/*
 * These are the hooks: the fast path, or else a tail call.  Each type has a set of its own, so that
 * the original method is at a constant address.  Where chunks are marked, the free hook is called
 * for marked ones only.
 *
 * Where the fast path is code near the server's (near_code.h), that takes the place of the hooks
 * for alloc and free, and goes on to name##_alloc_over, when it has counted, and name##_free_found.
 */
#define DEFINE_ALLOC_HOOK(name, type) \
static PLH_EVERY_PROCESS void * \
name##_alloc(PLH_ALLOC_PARAMETERS) \
{ \
	if (unlikely(plh_countdown_step_is_over(countdown_left, size))) \
		return alloc_slow(PLH_ALLOC_ARGUMENTS, type); \
	return originals[type].alloc(PLH_ALLOC_ARGUMENTS); \
} \
static PLH_EVERY_PROCESS void * \
name##_alloc_over(PLH_ALLOC_PARAMETERS) \
{ \
	*countdown_left += size; \
	return alloc_slow(PLH_ALLOC_ARGUMENTS, type); \
}

#define DEFINE_HOOKS(name, type) \
DEFINE_ALLOC_HOOK(name, type) \
static PLH_EVERY_PROCESS void \
name##_free(PLH_FREE_PARAMETERS) \
{ \
	if (PLH_MARKS_CHUNKS || unlikely(plh_chunk_is_near_sample(pointer))) \
		free_slow(PLH_FREE_ARGUMENTS, type); \
	else \
		originals[type].free_p(PLH_FREE_ARGUMENTS); \
} \
static void \
name##_free_found(PLH_FREE_PARAMETERS) \
{ \
	free_slow(PLH_FREE_ARGUMENTS, type); \
} \
static PLH_EVERY_PROCESS void * \
name##_realloc(PLH_REALLOC_PARAMETERS) \
{ \
	if (unlikely(plh_chunk_is_near_sample(pointer)) || \
		unlikely(plh_countdown_step_is_over(countdown_left, size))) \
		return realloc_slow(PLH_REALLOC_ARGUMENTS, type); \
	return originals[type].realloc(PLH_REALLOC_ARGUMENTS); \
}

DEFINE_HOOKS(allocset, PLH_ALLOCSET)
DEFINE_HOOKS(generation, PLH_GENERATION)
DEFINE_HOOKS(slab, PLH_SLAB)
#if PLH_HAVE_BUMP
DEFINE_ALLOC_HOOK(bump, PLH_BUMP)
#endif

static const PlhMethods hooks[PLH_CONTEXT_TYPES] = {
	[PLH_ALLOCSET] = {allocset_alloc, allocset_free, allocset_realloc},
	[PLH_GENERATION] = {generation_alloc, generation_free, generation_realloc},
	[PLH_SLAB] = {slab_alloc, slab_free, slab_realloc},
#if PLH_HAVE_BUMP
	[PLH_BUMP] = {bump_alloc, NULL, NULL}
#endif
};

/* What comes after near code that has found something to do. */
static const PlhMethods slow_paths[PLH_CONTEXT_TYPES] = {
	[PLH_ALLOCSET] = {allocset_alloc_over, allocset_free_found, NULL},
	[PLH_GENERATION] = {generation_alloc_over, generation_free_found, NULL},
	[PLH_SLAB] = {slab_alloc_over, slab_free_found, NULL},
#if PLH_HAVE_BUMP
	[PLH_BUMP] = {bump_alloc_over, NULL, NULL}
#endif
};

/*
 * Write the fast paths of the hooks for alloc, and of those for free that each free passes, as code
 * near the server's, and use its counter.  Returns false, and nothing has changed, where that can't
 * be done.
 */
static bool
write_near_hooks(PlhMethods *near_hooks)
{
	uint64	   *left = plh_near_code_begin(originals[PLH_ALLOCSET].alloc);

	if (left == NULL)
		return false;
	for (int type = 0; type < PLH_CONTEXT_TYPES; type++)
	{
		near_hooks[type] = hooks[type];
		near_hooks[type].alloc =
			plh_near_code_count_down(originals[type].alloc, slow_paths[type].alloc);
		if (!PLH_MARKS_CHUNKS && hooks[type].free_p != NULL)
			near_hooks[type].free_p =
				plh_near_code_ask_filter(PLH_FREE_POINTER, plh_sample_filter,
										 originals[type].free_p, slow_paths[type].free_p);
	}
	if (!plh_near_code_end())
		return false;
	countdown_left = left;
	return true;
}

/*
 * This reset callback belongs to the contexts that have samples.  If the guard is held, we are in a
 * signal handler that interrupted us and will exit, and the tables may be halfway between two
 * states.
 */
static void
context_reset(void *arg)
{
	if (plh_guard_held)
		return;
	plh_guard_held = true;
	plh_live_samples_drop_context(arg);
	plh_guard_held = false;
}

/* Begin to sample, here and in children.  Returns NULL, or a sentence that says why not. */
const char *
plh_method_hooks_install(void)
{
	PlhMethods	near_hooks[PLH_CONTEXT_TYPES];
	const char *refusal;
	bool		are_near;

	plh_live_samples_start(plh_load_settings.max_live_samples, context_reset);
	refusal = plh_method_patch_find(originals);
	if (refusal != NULL)
		return refusal;
	are_near = write_near_hooks(near_hooks);
	plh_countdown_start(&countdown, PLH_COUNTED_CONTEXTS, countdown_left);
	return plh_method_patch_install(are_near ? near_hooks : hooks);
}

/*
 * method_hooks.c
 *	  The functions that stand in the place of memory context methods.
 *
 * Everything here but installing runs inside palloc.  These are the rules: the
 * original method comes first, as it may throw; nothing pallocs, mallocs,
 * locks, reports or uses stdio; errno stays as it was; nothing recurses; in a
 * critical section only counters change.
 *
 * A palloc passes the countdown (a subtraction and a test) and, once in an
 * interval, alloc_slow -> record_sample -> unwind, lifetime, statement,
 * profile, live_samples.
 */
#include "postgres.h"

#include <errno.h>
#include <time.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "base/guard.h"
#include "base/sampling.h"
#include "base/settings.h"
#include "base/unwind.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_file.h"
#include "sampler/chunk_mark.h"
#include "sampler/context_name.h"
#include "sampler/control.h"
#include "sampler/lifetime.h"
#include "sampler/live_samples.h"
#include "sampler/method_hooks.h"
#include "sampler/method_patch.h"
#include "sampler/owner.h"
#include "sampler/statement.h"

/* A process looks at requests of others at least once in this many bytes. */
#define POLL_BYTES (1024 * 1024)

/*
 * What a process of the server allocates first fills its caches.  So many bytes
 * go without samples at such intervals, as the first unwinding costs 100 us,
 * because libunwind knows none of the frames yet: a short connection would pay
 * that for a sample or two.  Within the first milliseconds it is several times as
 * much: a connection that is over by then has run a few statements.
 */
#define START_BYTES (2 * 1024 * 1024)
#define START_INTERVAL (256 * 1024)
#define START_STRETCHES 4
#define START_US 20000

/*
 * The allocation that brings the countdown to 0 or below takes the slow path.
 * The countdown is unsigned, as sizes are, so that a garbage size, such as
 * that of a corrupt varlena, can't count up.
 */
static uint64 countdown = POLL_BYTES;

/* The gap to the next sample ends this many bytes after the countdown. */
static uint64 gap_left;

/* The current interval, for which the gap was drawn (0: off), and scope. */
static uint32 armed_interval;
static int	armed_scope;

/* Sample every allocation, whatever settings and requests say. */
static bool all_tracked;

/* Draw the countdown anew before it is used. */
static bool rearm_wanted = true;

/* The process has just been forked; it is within one of its first START_BYTES. */
static bool just_forked;
static bool starting;
static int64 forked_at_us;		/* by the coarse monotonic clock */
static int	start_stretches;	/* of START_BYTES that have begun */

static pg_prng_state prng;
static bool prng_seeded;

static PlhMethods originals[PLH_CONTEXT_TYPES];

/* Seed the random numbers as no other process does. */
static void
seed_prng(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	pg_prng_seed(&prng, ((uint64) MyProcPid << 32) ^
				 ((uint64) now.tv_sec << 30) ^ (uint64) now.tv_nsec);
	prng_seeded = true;
}

/* Take over the current settings and requests. */
static void
rearm(void)
{
	int			saved_errno = errno;
	PlhControlWish wish;

	if (!prng_seeded)
		seed_prng();
	rearm_wanted = false;
	armed_interval = plh_enabled ? plh_sample_interval : 0;
	armed_scope = plh_scope;
	plh_control_poll(&wish);
	if (wish.present)
	{
		armed_interval = !wish.sampling ? 0 :
			wish.sample_interval != 0 ? wish.sample_interval :
			plh_sample_interval;
		if (wish.scope >= 0)
			armed_scope = wish.scope;
	}
	if (all_tracked)
	{
		armed_interval = 1;
		armed_scope = PLH_SCOPE_LONG_LIVED;
	}
	starting = just_forked && !wish.present && armed_interval >= START_INTERVAL;
	start_stretches = starting;
	just_forked = false;
	plh_owner_settings_changed(armed_interval, armed_scope);
	errno = saved_errno;
}

/*
 * Start the countdown to the end of a gap, or to the next look at requests.
 * While the process starts, each chunk of an interval or more takes the slow
 * path.
 */
static inline void
count_down(uint64 gap)
{
	countdown = Min(gap, starting ? START_INTERVAL : POLL_BYTES);
	gap_left = gap - countdown;
	Assert(countdown <= POLL_BYTES && countdown + gap_left == gap);
}

/* Draw the next gap. */
static inline void
draw_gap(void)
{
	if (starting)
		count_down(START_BYTES);
	else if (armed_interval == 0)
		count_down(POLL_BYTES);
	else if (armed_interval == 1)
		count_down(0);
	else
		count_down(plh_sampling_gap(&prng, armed_interval));
}

/*
 * From here to the hooks everything is inlined into one function, as libunwind
 * has to step over each frame of ours at each sample.
 */
#define INLINE static pg_attribute_always_inline

/*
 * Is a chunk of an interval or more, which no cache begins with, a sample?  A
 * gap of its own decides, so that the countdown stays as it is.
 */
INLINE bool
is_large_sample(Size size)
{
	return size >= (uint64) plh_sampling_gap(&prng, armed_interval);
}

/*
 * Does a process go on starting, when it has allocated START_BYTES?
 */
INLINE bool
goes_on_starting(void)
{
	return start_stretches++ < START_STRETCHES &&
		plh_clock_us(CLOCK_MONOTONIC_COARSE) - forked_at_us < START_US;
}

/*
 * Decide, when the countdown is over, if an allocation is a sample.  Returns
 * the interval with which it is sampled, or 0.  The countdown starts anew in
 * any case, before the original method can throw.
 */
INLINE uint32
take_sample(Size size)
{
	bool		was_starting;

	if (plh_guard_held)
		return 0;
	if (unlikely(rearm_wanted || plh_control_changed()))
	{
		rearm();
		draw_gap();
	}
	if (unlikely(starting && size >= armed_interval))
		return is_large_sample(size) ? armed_interval : 0;
	if (size < countdown + gap_left)
	{
		count_down(countdown + gap_left - size);
		return 0;
	}
	was_starting = starting;
	starting = starting && goes_on_starting();
	draw_gap();
	return was_starting ? 0 : armed_interval;
}

/* Returns the site of an allocation in that context. */
INLINE uint32
current_site(MemoryContext context, PlhWatchedContext *watched,
			 PlhLifetime lifetime)
{
	PlhSiteKey	key;
	PlhStack	stack;
	int			captured = plh_unwind_capture(&stack, plh_fixed.max_stack_depth);

	plh_unwind_trim(&stack, captured, plh_fixed.max_stack_depth);
	key.stack = plh_profile_stack(&stack);
	key.context_name = watched->name;
	if (key.context_name == 0)
	{
		key.context_name = plh_profile_string(plh_context_name(context),
											  PLH_CONTEXT_NAME_MAX);
		if (plh_context_has_final_name(context))
			watched->name = key.context_name;
	}
	key.lifetime = lifetime;
	key.statement = plh_statement_current();
	if (key.stack == 0 || key.context_name == 0)
		return plh_profile->catch_all_site;
	return plh_profile_site(&key);
}

/*
 * Can a chunk of that type be freed by itself?  If not, it has no header to
 * mark, and ends with its context.
 */
INLINE bool
is_freed_singly(PlhContextType type)
{
#if PLH_HAVE_BUMP
	return type != PLH_BUMP;
#else
	return true;
#endif
}

/* Keep a sample, or count it as lost or out of scope. */
INLINE void
record_sample(MemoryContext context, void *pointer, Size size,
			  uint32 interval, PlhContextType type)
{
	PlhDraw		draw = plh_sampling_draw(&prng, size, interval);
	PlhWatchedContext *watched;
	PlhLifetime lifetime;
	uint32		site;

	Assert(plh_guard_held);
	Assert(interval != 0);
	if (CritSectionCount > 0)
	{
		plh_profile_counters_lose(PLH_LOSS_CRITICAL, size, draw);
		return;
	}

	lifetime = plh_lifetime_of(context);
	if (armed_scope == PLH_SCOPE_LONG_LIVED && lifetime != PLH_LIFETIME_SESSION)
	{
		plh_profile_counters_out_of_scope();
		plh_owner_sampled_out_of_scope();
		return;
	}
	if ((plh_profile == NULL &&
		 !plh_owner_begin_profile(interval, armed_scope)) ||
		(watched = plh_live_samples_watch(context)) == NULL)
	{
		plh_profile_counters_lose(PLH_LOSS_LIVE_TABLE, size, draw);
		return;
	}

	site = current_site(context, watched, lifetime);
	if (plh_live_samples_insert(watched, pointer, size, draw, site))
	{
		plh_profile_counters_add(site, size, draw);
		if (is_freed_singly(type))
			plh_chunk_mark(pointer);
	}
	else
		plh_profile_counters_lose(PLH_LOSS_LIVE_TABLE, size, draw);
	plh_owner_sampled();
}

/* Call record_sample under the guard. */
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

/* Call plh_live_samples_remove under the guard. */
static void
remove_guarded(const void *pointer)
{
	if (plh_guard_held)
		return;
	plh_guard_held = true;
	plh_live_samples_remove(pointer);
	plh_guard_held = false;
}

static pg_noinline void *
alloc_slow(PLH_ALLOC_PARAMETERS, PlhContextType type)
{
	uint32		interval = take_sample(size);
	void	   *pointer = originals[type].alloc(PLH_ALLOC_ARGUMENTS);

	if (interval != 0 && pointer != NULL)
		record_guarded(context, pointer, size, interval, type);
	return pointer;
}

static pg_noinline void
free_slow(PLH_FREE_PARAMETERS, PlhContextType type)
{
	plh_chunk_unmark(pointer);
	originals[type].free_p(PLH_FREE_ARGUMENTS);
	remove_guarded(pointer);
}

/*
 * Call the original realloc for a chunk that may be a sample.  If realloc
 * fails, by throwing or by returning NULL, the old chunk is still there, and
 * still a sample.
 */
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
 * A realloc counts as a free and an allocation of the new size.
 */
static pg_noinline void *
realloc_slow(PLH_REALLOC_PARAMETERS, PlhContextType type)
{
	bool		may_be_sample = plh_chunk_may_be_sample(pointer);
	uint32		interval = 0;
	void	   *new_pointer;

	if (size >= countdown)
		interval = take_sample(size);
	else
		countdown -= size;

	if (may_be_sample)
		new_pointer = realloc_sample(PLH_REALLOC_ARGUMENTS, type);
	else
		new_pointer = originals[type].realloc(PLH_REALLOC_ARGUMENTS);
	if (new_pointer == NULL)
		return NULL;

	/* the old sample goes first, as the new chunk may lie where it lay */
	if (may_be_sample)
		remove_guarded(pointer);
	if (interval != 0)
		record_guarded(GetMemoryChunkContext(new_pointer), new_pointer, size,
					   interval, type);
	return new_pointer;
}

/*
 * These are the hooks: the fast path, or else a tail call.  Each type has a
 * set of its own, so that the original method is at a constant address.  Where
 * chunks are marked, the free hook is called for marked ones only.
 */
#define DEFINE_ALLOC_HOOK(name, type) \
static void * \
name##_alloc(PLH_ALLOC_PARAMETERS) \
{ \
	if (unlikely(size >= countdown)) \
		return alloc_slow(PLH_ALLOC_ARGUMENTS, type); \
	countdown -= size; \
	return originals[type].alloc(PLH_ALLOC_ARGUMENTS); \
}

#define DEFINE_HOOKS(name, type) \
DEFINE_ALLOC_HOOK(name, type) \
static void \
name##_free(PLH_FREE_PARAMETERS) \
{ \
	if (PLH_MARKS_CHUNKS || unlikely(plh_chunk_may_be_sample(pointer))) \
		free_slow(PLH_FREE_ARGUMENTS, type); \
	else \
		originals[type].free_p(PLH_FREE_ARGUMENTS); \
} \
static void * \
name##_realloc(PLH_REALLOC_PARAMETERS) \
{ \
	if (unlikely(size >= countdown || plh_chunk_may_be_sample(pointer))) \
		return realloc_slow(PLH_REALLOC_ARGUMENTS, type); \
	countdown -= size; \
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

/*
 * This reset callback belongs to the contexts that have samples.  If the guard
 * is held, we are in a signal handler that interrupted us and will exit, and
 * the tables may be halfway between two states.
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

/*
 * Begin to sample in this process and in those that it forks.  Returns NULL,
 * or a sentence that says why sampling is impossible.
 */
const char *
plh_method_hooks_install(void)
{
	plh_live_samples_start(plh_fixed.max_live_samples, context_reset);
	return plh_method_patch_install(hooks, originals);
}

/*
 * Let the next allocation draw a new gap, as the sampling is about to change.
 */
void
plh_method_hooks_rearm(void)
{
	rearm_wanted = true;
	countdown = 0;
	gap_left = 0;
}

/*
 * Call a function under the guard, unless the guard is held already.
 */
void
plh_method_hooks_call_guarded(void (*function) (void))
{
	if (plh_guard_held)
		return;
	plh_guard_held = true;
	function();
	plh_guard_held = false;
}

/*
 * If on, sample each allocation in session-long contexts from the next one on,
 * whatever settings and requests say.  If off, follow these again.
 */
void
plh_method_hooks_track_all(bool on)
{
	all_tracked = on;
	plh_method_hooks_rearm();
}

/*
 * Forget the parent's samples in a forked child, and don't repeat its random
 * numbers.
 */
void
plh_method_hooks_forget(void)
{
	plh_live_samples_forget();
	plh_guard_held = false;
	prng_seeded = false;
	all_tracked = false;
	just_forked = true;
	forked_at_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);
	plh_method_hooks_rearm();
}

/*
 * Record nothing from now on, as the process exits.
 */
void
plh_method_hooks_stop(void)
{
	plh_guard_held = true;
	countdown = PG_UINT64_MAX;
}

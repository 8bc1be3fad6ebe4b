/*
 * pg_leakhunt_malloc.c
 *	  The library that the dynamic linker preloads, so that pg_leakhunt.so gets to know what is
 *	  allocated by malloc.
 *
 * Each function that allocates or frees passes on to its next definition (src/preload/README), in
 * any program and thread, and in signal handlers.  So errno is what the next function left.  A call
 * within another one of the same thread is nothing special, as no state is held over a call of the
 * next function.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "preload/block_filter.h"
#include "preload/countdown_step.h"
#include "preload/malloc_hook.h"

#define EXPORTED __attribute__((visibility("default")))
#define IN_CACHE_LINE __attribute__((aligned(64)))
/* Each begins a cache line, and what is called most needs no other. */
#define DEFINES EXPORTED IN_CACHE_LINE
#define OUT_OF_LINE __attribute__((noinline))
#define IS_RARE(condition) __builtin_expect(condition, 0)

/* For this address the function that is asked for continues when we are done. */
#define CALLER __builtin_return_address(0)

/* The bytes that a thread allocates before it asks again whether there is anybody to call. */
#define IDLE_STEP (16 * PLH_MALLOC_OTHER_STEP)

static IN_CACHE_LINE uint8_t filter[PLH_FILTER_BYTES];

/*
 * The bytes that the thread may allocate before it takes the slow path.  When there is somebody to
 * call, it starts from PLH_MALLOC_OTHER_STEP each time, unless the thread is the sampled one.
 */
static _Thread_local uint64_t countdown = PLH_MALLOC_OTHER_STEP;

static uint64_t *
own_countdown(void)
{
	return &countdown;
}

/*
 * Others look it up by the name that it is exported under.  We do not: should the library be loaded
 * twice, only the one that they find has something to do.
 */
static PlhMallocHook hook = {
	.version = PLH_MALLOC_HOOK_VERSION,
	.bytes = sizeof(PlhMallocHook),
	.countdown = own_countdown,
	.filter = filter,
};
extern EXPORTED PlhMallocHook pg_leakhunt_malloc_hook __attribute__((alias("hook")));

/*
 * The next definitions.  Each pointer starts with a function that looks all of them up, so that
 * calls need not ask whether that was done.  Threads may do it at the same time, with the same
 * result.
 */
typedef struct NextFunctions
{
	/* called most, and so in one cache line */
	void	   *(*malloc) (size_t);
	void		(*free) (void *);
	void	   *(*calloc) (size_t, size_t);
	void	   *(*realloc) (void *, size_t);

	void	   *(*memalign) (size_t, size_t);
	void	   *(*aligned_alloc) (size_t, size_t);
	int			(*posix_memalign) (void **, size_t, size_t);
	void	   *(*valloc) (size_t);
	void	   *(*pvalloc) (size_t);
} NextFunctions;

static IN_CACHE_LINE NextFunctions next;

#define NEXT(function) __atomic_load_n(&next.function, __ATOMIC_RELAXED)

/* A function that is nowhere defined stays a failing one. */
#define FIND_NEXT(function) \
	do { \
		void	   *found = dlsym(RTLD_NEXT, #function); \
		if (found != NULL) \
			__atomic_store_n(&next.function, (__typeof__(next.function)) found, __ATOMIC_RELAXED); \
	} while (0)

static _Thread_local bool is_finding;

/*
 * Look up the next definitions, unless it is dlsym that asks: then there is none yet.  That of free
 * comes first, as what dlsym frees must not get lost.
 */
static void
find_next_functions(void)
{
	int			saved_errno = errno;

	if (is_finding)
		return;
	is_finding = true;
	FIND_NEXT(free);
	FIND_NEXT(malloc);
	FIND_NEXT(calloc);
	FIND_NEXT(realloc);
	FIND_NEXT(memalign);
	FIND_NEXT(aligned_alloc);
	FIND_NEXT(posix_memalign);
	FIND_NEXT(valloc);
	FIND_NEXT(pvalloc);
	is_finding = false;
	errno = saved_errno;
}

/* The answer to dlsym, too, which knows what to do then. */
static void *
no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

/* Defines what next.function starts with, with these parameters and arguments in parentheses. */
#define DEFINE_FIRST(function, parameters, arguments) \
	static void * \
	first_##function parameters \
	{ \
		find_next_functions(); \
		return NEXT(function) == first_##function ? no_memory() : NEXT(function) arguments; \
	}

DEFINE_FIRST(malloc, (size_t size), (size))
DEFINE_FIRST(calloc, (size_t count, size_t each), (count, each))
DEFINE_FIRST(realloc, (void *block, size_t size), (block, size))
DEFINE_FIRST(memalign, (size_t alignment, size_t size), (alignment, size))
DEFINE_FIRST(aligned_alloc, (size_t alignment, size_t size), (alignment, size))
DEFINE_FIRST(valloc, (size_t size), (size))
DEFINE_FIRST(pvalloc, (size_t size), (size))

static void
first_free(void *block)
{
	find_next_functions();
	if (NEXT(free) != first_free)
		NEXT(free) (block);
}

static int
first_posix_memalign(void **block, size_t alignment, size_t size)
{
	find_next_functions();
	return NEXT(posix_memalign) == first_posix_memalign ? ENOMEM :
		NEXT(posix_memalign) (block, alignment, size);
}

static IN_CACHE_LINE NextFunctions next = {
	.malloc = first_malloc,
	.free = first_free,
	.calloc = first_calloc,
	.realloc = first_realloc,
	.memalign = first_memalign,
	.aligned_alloc = first_aligned_alloc,
	.posix_memalign = first_posix_memalign,
	.valloc = first_valloc,
	.pvalloc = first_pvalloc,
};

/* What an allocation on the slow path needs to know when the block is there. */
typedef struct Allocation
{
	const PlhMallocCalls *calls;	/* NULL if nobody wants to know */
	bool		is_sampled_thread;
	uint32_t	taken;			/* as PlhMallocCalls.take said */
	size_t		size;
} Allocation;

static inline const PlhMallocCalls *
current_calls(void)
{
	return __atomic_load_n(&hook.calls, __ATOMIC_ACQUIRE);
}

static inline bool
is_sampled_thread(void)
{
	return &countdown == __atomic_load_n(&hook.sampled_countdown, __ATOMIC_RELAXED);
}

static void
add_other_bytes(uint64_t bytes)
{
	__atomic_fetch_add(&hook.other_bytes, bytes, __ATOMIC_RELAXED);
}

/* Before the next function allocates, on the slow path. */
static Allocation
begin_allocation(size_t size, const void *caller)
{
	Allocation	allocation = {.size = size};

	allocation.calls = current_calls();
	if (allocation.calls == NULL)
	{
		countdown = IDLE_STEP;
		return allocation;
	}
	allocation.is_sampled_thread = is_sampled_thread();
	if (allocation.is_sampled_thread)
	{
		allocation.taken = allocation.calls->take(size, caller);
		return allocation;
	}
	/* It may have had more to count down, when there was nobody to call. */
	if (countdown < PLH_MALLOC_OTHER_STEP)
		add_other_bytes(PLH_MALLOC_OTHER_STEP - countdown);
	countdown = PLH_MALLOC_OTHER_STEP;
	return allocation;
}

/* After it did.  A block that could not be had is NULL, and not counted. */
static void
end_allocation(const Allocation *allocation, void *block)
{
	if (allocation->calls == NULL || block == NULL)
		return;
	if (!allocation->is_sampled_thread)
		add_other_bytes(allocation->size);
	else if (allocation->taken != 0)
		allocation->calls->record(block, allocation->size, allocation->taken);
}

static inline bool
may_be_sample(const void *block)
{
	return block != NULL && plh_filter_has(filter, block);
}

#define LIST(...) __VA_ARGS__

/* Defines a function that allocates "size" bytes; its slow path has "caller" besides. */
#define DEFINE_ALLOCATION(function, parameters, arguments) \
	static OUT_OF_LINE void * \
	slow_##function(LIST parameters, const void *caller) \
	{ \
		Allocation	allocation = begin_allocation(size, caller); \
		void	   *block = NEXT(function) arguments; \
		end_allocation(&allocation, block); \
		return block; \
	} \
	DEFINES void * \
	function parameters \
	{ \
		if (IS_RARE(plh_countdown_step_is_over(&countdown, size))) \
			return slow_##function(LIST arguments, CALLER); \
		return NEXT(function) arguments; \
	}

DEFINE_ALLOCATION(malloc, (size_t size), (size))
DEFINE_ALLOCATION(memalign, (size_t alignment, size_t size), (alignment, size))
DEFINE_ALLOCATION(aligned_alloc, (size_t alignment, size_t size), (alignment, size))
DEFINE_ALLOCATION(valloc, (size_t size), (size))
DEFINE_ALLOCATION(pvalloc, (size_t size), (size))

static OUT_OF_LINE void *
slow_calloc(size_t count, size_t each, const void *caller)
{
	Allocation	allocation = begin_allocation(count * each, caller);
	void	   *block = NEXT(calloc) (count, each);

	end_allocation(&allocation, block);
	return block;
}

DEFINES void *
calloc(size_t count, size_t each)
{
	size_t		size;

	/* The next function refuses what cannot be multiplied. */
	if (IS_RARE(!__builtin_mul_overflow(count, each, &size) &&
				plh_countdown_step_is_over(&countdown, size)))
		return slow_calloc(count, each, CALLER);
	return NEXT(calloc) (count, each);
}

static OUT_OF_LINE void
slow_free(void *block)
{
	const PlhMallocCalls *calls = current_calls();

	if (calls != NULL && may_be_sample(block))
		calls->free_block(block, is_sampled_thread());
	NEXT(free) (block);
}

DEFINES void
free(void *block)
{
	if (IS_RARE(plh_filter_is_near(filter, block)))
		slow_free(block);
	else
		NEXT(free) (block);
}

/*
 * C23 has these, and headers and libc may not.  They need do no more than free; it may be the one
 * of another allocator, as for reallocarray.
 */
extern EXPORTED void free_sized(void *block, size_t size);
extern EXPORTED void free_aligned_sized(void *block, size_t alignment, size_t size);

void
free_sized(void *block, size_t size)
{
	(void) size;
	free(block);
}

void
free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void) alignment;
	(void) size;
	free(block);
}

/*
 * A reallocation is a free and an allocation of the new size, even if the block stays where it is.
 */
typedef struct Reallocation
{
	const PlhMallocCalls *calls;	/* NULL if the block is no sample */
	uint32_t	moving;			/* as PlhMallocCalls.moving said */
	bool		is_free;		/* to 0 bytes */
	Allocation	allocation;
} Reallocation;

static Reallocation
begin_reallocation(void *block, size_t size, const void *caller)
{
	Reallocation reallocation = {.is_free = size == 0};

	if (may_be_sample(block))
		reallocation.calls = current_calls();
	if (reallocation.calls != NULL)
		reallocation.moving = reallocation.calls->moving(block, is_sampled_thread());
	/* a signal handler may have allocated within the step that led here */
	if (countdown > IDLE_STEP || plh_countdown_step_is_over(&countdown, size))
		reallocation.allocation = begin_allocation(size, caller);
	return reallocation;
}

/*
 * The old block stays only where there was no memory for the new one: to reallocate to 0 bytes is
 * to free, and returns NULL, too.
 */
static void
end_reallocation(const Reallocation *reallocation, void *block)
{
	if (reallocation->moving != 0)
		reallocation->calls->moved(reallocation->moving, block != NULL || reallocation->is_free);
	end_allocation(&reallocation->allocation, block);
}

static OUT_OF_LINE void *
slow_realloc(void *block, size_t size, const void *caller)
{
	Reallocation reallocation = begin_reallocation(block, size, caller);
	void	   *moved = NEXT(realloc) (block, size);

	end_reallocation(&reallocation, moved);
	return moved;
}

DEFINES void *
realloc(void *block, size_t size)
{
	if (IS_RARE(plh_filter_is_near(filter, block)) ||
		IS_RARE(plh_countdown_step_is_over(&countdown, size)))
		return slow_realloc(block, size, CALLER);
	return NEXT(realloc) (block, size);
}

/*
 * libc's own calls realloc, and so would come by twice.  This one calls it, too: the one that
 * others call, which is not ours if another allocator was preloaded before us.
 */
DEFINES void *
reallocarray(void *block, size_t count, size_t each)
{
	size_t		size;

	if (__builtin_mul_overflow(count, each, &size))
		return no_memory();
	return realloc(block, size);
}

static OUT_OF_LINE int
slow_posix_memalign(void **block, size_t alignment, size_t size, const void *caller)
{
	Allocation	allocation = begin_allocation(size, caller);
	int			error = NEXT(posix_memalign) (block, alignment, size);

	/* After an error, the pointer is what it was before. */
	end_allocation(&allocation, error == 0 ? *block : NULL);
	return error;
}

DEFINES int
posix_memalign(void **block, size_t alignment, size_t size)
{
	if (IS_RARE(plh_countdown_step_is_over(&countdown, size)))
		return slow_posix_memalign(block, alignment, size, CALLER);
	return NEXT(posix_memalign) (block, alignment, size);
}

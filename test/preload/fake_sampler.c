/*
 * fake_sampler.c
 *	  What stands for pg_leakhunt.so in the tests.
 *
 * Samples lie in a hash table that is never made larger; one that is freed leaves
 * its entry to the next one that passes.  An entry is changed by compare and swap,
 * so that two threads that free one block are found out.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake_sampler.h"

#define ENTRIES (1 << 20)
#define FREED 1

typedef struct Sample
{
	uintptr_t	block;			/* 0: never used, FREED: to be used again */
	size_t		size;
} Sample;

static Sample samples[ENTRIES];
static Seen seen;
static uint64_t gap;
static int	dawdle_rounds;
static PlhMallocHook *hook;

/* Signal handlers read it. */
static _Thread_local volatile bool is_busy;

#define ADD(counter, n) __atomic_fetch_add(&seen.counter, n, __ATOMIC_RELAXED)

PlhMallocHook *
fake_find_hook(void)
{
	hook = dlsym(RTLD_DEFAULT, PLH_MALLOC_HOOK_NAME);
	return hook;
}

bool
fake_is_busy(void)
{
	return is_busy;
}

void
fake_dawdle(int rounds)
{
	dawdle_rounds = rounds;
}

/* What each of our functions begins with; false within another one. */
static bool
enter(void)
{
	if (is_busy)
		return false;
	is_busy = true;
	for (volatile int i = 0; i < dawdle_rounds; i++)
		;
	return true;
}

static void
leave(void)
{
	is_busy = false;
}

static Sample *
first_entry(const void *block)
{
	return &samples[(uintptr_t) block * UINT64_C(0x9E3779B97F4A7C15) >> 44];
}

static Sample *
next_entry(Sample *entry)
{
	return entry + 1 < samples + ENTRIES ? entry + 1 : samples;
}

static Sample *
find_sample(const void *block)
{
	for (Sample *entry = first_entry(block);; entry = next_entry(entry))
	{
		uintptr_t	here = __atomic_load_n(&entry->block, __ATOMIC_ACQUIRE);

		if (here == (uintptr_t) block)
			return entry;
		if (here == 0)
			return NULL;
	}
}

static void
add_sample(void *block, size_t size)
{
	Sample	   *entry = first_entry(block);
	uint32_t	bit = plh_filter_bit(block);

	/* Only this thread adds samples, so a free entry stays one. */
	while (__atomic_load_n(&entry->block, __ATOMIC_RELAXED) > FREED)
		entry = next_entry(entry);
	entry->size = size;
	__atomic_store_n(&entry->block, (uintptr_t) block, __ATOMIC_RELEASE);
	__atomic_fetch_or(&hook->filter[bit / 8], 1 << bit % 8, __ATOMIC_RELAXED);
	ADD(net_bytes, (int64_t) size);
}

/* Remove a sample, if the block is one; returns whether it was, and its size. */
static bool
remove_sample(void *block, size_t *size)
{
	Sample	   *entry = find_sample(block);
	uintptr_t	expected = (uintptr_t) block;

	if (entry == NULL)
		return false;
	*size = entry->size;
	if (!__atomic_compare_exchange_n(&entry->block, &expected, FREED, false,
									 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	ADD(net_bytes, -(int64_t) * size);
	return true;
}

/*
 * Is that jemalloc's own code?  Some of its operators of C++ allocate by functions
 * that come by, and free by others that don't: pg_leakhunt leaves them out, too.
 */
static bool
is_in_jemalloc(const void *caller)
{
	static void *jemalloc;
	static bool is_known;
	Dl_info		info;

	if (!is_known)
		jemalloc = dlsym(RTLD_DEFAULT, "mallocx");
	is_known = true;
	if (jemalloc == NULL || dladdr(jemalloc, &info) == 0)
		return false;
	jemalloc = info.dli_fbase;
	return dladdr(caller, &info) != 0 && info.dli_fbase == jemalloc;
}

static uint32_t
take(size_t size, const void *caller)
{
	*hook->countdown() = gap;
	if (!enter())
		return 0;
	if (is_in_jemalloc(caller))
	{
		leave();
		return 0;
	}
	ADD(taken, 1);
	seen.size = size;
	seen.caller = caller;
	leave();
	return 1;
}

static void
record(void *block, size_t size, uint32_t taken)
{
	if (!enter() || taken != 1)
		abort();
	if (find_sample(block) != NULL)
		ADD(recorded_twice, 1);
	ADD(recorded, 1);
	seen.block = block;
	seen.size = size;
	add_sample(block, size);
	leave();
}

static void
count_free(void *block, bool sampled_thread)
{
	size_t		size;

	if (block == NULL)
		ADD(nulls, 1);
	if (!remove_sample(block, &size))
		return;
	ADD(freed, 1);
	if (!sampled_thread)
		ADD(freed_elsewhere, 1);
}

static void
free_block(void *block, bool sampled_thread)
{
	bool		entered = enter();

	ADD(questions, 1);
	count_free(block, sampled_thread);
	if (entered)
		leave();
}

/* The block that the sampled thread moves, in case that it stays. */
static void *moving_block;
static size_t moving_size;

static uint32_t
moving(void *block, bool sampled_thread)
{
	bool		entered = enter();
	uint32_t	number = 0;

	ADD(questions, 1);
	if (sampled_thread && remove_sample(block, &moving_size))
	{
		moving_block = block;
		number = 17;
	}
	else if (!sampled_thread)
		count_free(block, false);
	if (entered)
		leave();
	return number;
}

static void
moved(uint32_t number, bool is_gone)
{
	if (number != 17)
		abort();
	if (is_gone)
		ADD(freed, 1);
	else
	{
		ADD(restored, 1);
		add_sample(moving_block, moving_size);
	}
}

static const PlhMallocCalls calls = {take, record, free_block, moving, moved};

void
fake_adopt(void)
{
	*hook->countdown() = gap;
	__atomic_store_n(&hook->sampled_countdown, hook->countdown(), __ATOMIC_RELAXED);
}

void
fake_start(uint64_t wanted_gap)
{
	gap = wanted_gap;
	fake_adopt();
	__atomic_store_n(&hook->calls, &calls, __ATOMIC_RELEASE);
}

void
fake_stop(void)
{
	__atomic_store_n(&hook->calls, NULL, __ATOMIC_RELEASE);
}

void
fake_watch(void)
{
	seen = (Seen)
	{
		.taken = 0
	};
}

Seen
fake_seen(void)
{
	return seen;
}

uint64_t
fake_other_bytes(void)
{
	return __atomic_load_n(&hook->other_bytes, __ATOMIC_RELAXED);
}

/*
 * test_functions.c
 *	  Each function that the library defines: comes by once, with the right size and
 *	  caller, and does what it did without.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake_sampler.h"
#include "preload_tests.h"
#include "tap.h"

/* C23 has these, but our headers may not. */
extern void free_sized(void *block, size_t size) __attribute__((weak));
extern void free_aligned_sized(void *block, size_t alignment, size_t size) __attribute__((weak));

/* Functions to call from: exported, so that dladdr knows their names. */
extern void *calls_malloc(void *block, size_t size);
extern void *calls_calloc(void *block, size_t size);
extern void *calls_realloc(void *block, size_t size);
extern void *calls_reallocarray(void *block, size_t size);
extern void *calls_memalign(void *block, size_t size);
extern void *calls_aligned_alloc(void *block, size_t size);
extern void *calls_posix_memalign(void *block, size_t size);
extern void *calls_valloc(void *block, size_t size);
extern void *calls_pvalloc(void *block, size_t size);

void *
calls_malloc(void *block, size_t size)
{
	(void) block;
	return malloc(size);
}

void *
calls_calloc(void *block, size_t size)
{
	(void) block;
	return calloc(size / 8, 8);
}

void *
calls_realloc(void *block, size_t size)
{
	return realloc(block, size);
}

void *
calls_reallocarray(void *block, size_t size)
{
	return reallocarray(block, size / 8, 8);
}

void *
calls_memalign(void *block, size_t size)
{
	(void) block;
	return memalign(256, size);
}

void *
calls_aligned_alloc(void *block, size_t size)
{
	(void) block;
	return aligned_alloc(64, size);
}

void *
calls_posix_memalign(void *block, size_t size)
{
	return posix_memalign(&block, 512, size) == 0 ? block : NULL;
}

void *
calls_valloc(void *block, size_t size)
{
	(void) block;
	return valloc(size);
}

void *
calls_pvalloc(void *block, size_t size)
{
	(void) block;
	return pvalloc(size);
}

typedef struct Function
{
	const char *name;			/* of the function that calls it */
	void	   *(*call) (void *block, size_t size);
	size_t		alignment;
	bool		takes_block;
} Function;

static const Function functions[] = {
	{"calls_malloc", calls_malloc, 16, false},
	{"calls_calloc", calls_calloc, 16, false},
	{"calls_realloc", calls_realloc, 16, true},
	{"calls_reallocarray", calls_reallocarray, 16, true},
	{"calls_memalign", calls_memalign, 256, false},
	{"calls_aligned_alloc", calls_aligned_alloc, 64, false},
	{"calls_posix_memalign", calls_posix_memalign, 512, false},
	{"calls_valloc", calls_valloc, 4096, false},
	{"calls_pvalloc", calls_pvalloc, 4096, false},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* jemalloc has no pvalloc: then it is glibc's, whose blocks jemalloc cannot free. */
static bool
is_usable(const Function *function)
{
	return function->call != calls_pvalloc || !is_jemalloc();
}

static bool
is_within(const void *address, const char *function)
{
	Dl_info		found;

	return dladdr(address, &found) != 0 && found.dli_sname != NULL &&
		strcmp(found.dli_sname, function) == 0;
}

static void
test_function(const Function *function, size_t size)
{
	void	   *block;
	Seen		after;

	fake_watch();
	block = function->call(NULL, size);
	after = fake_seen();
	memset(block, 1, size);
	free(block);
	ok(after.taken == 1 && after.recorded == 1, "%s of %zu bytes comes by once", function->name, size);
	ok(after.size == size && after.block == block, "%s of %zu bytes comes by with size and block",
	   function->name, size);
	ok(is_within(after.caller, function->name), "%s of %zu bytes comes by for its caller", function->name, size);
	ok((uintptr_t) block % function->alignment == 0, "%s of %zu bytes is aligned", function->name, size);
	after = fake_seen();
	ok(after.freed == 1 && after.net_bytes == 0 && after.nulls == 0, "%s of %zu bytes is freed once", function->name, size);
}

/* What is reallocated is freed, and allocated in its new size. */
static void
test_reallocation(const Function *function, size_t from, size_t to)
{
	char	   *block = malloc(from);
	char	   *in_between = malloc(64);
	Seen		after;

	memset(block, 'x', from);
	fake_watch();
	block = function->call(block, to);
	after = fake_seen();
	ok(after.taken == 1 && after.recorded == 1 && after.freed == 1 && after.restored == 0,
	   "%s from %zu to %zu bytes is a free and an allocation", function->name, from, to);
	ok(after.size == to && after.block == block && after.net_bytes == (long) to - (long) from,
	   "%s from %zu to %zu bytes comes by with the new size", function->name, from, to);
	ok(is_within(after.caller, function->name), "%s from %zu to %zu bytes comes by for its caller", function->name, from, to);
	ok(block[0] == 'x' && block[(from < to ? from : to) - 1] == 'x', "%s from %zu to %zu bytes keeps what the block had", function->name, from, to);
	fake_watch();
	free(block);
	is(fake_seen().freed, 1, "a block that was reallocated is freed once");
	free(in_between);
}

static void
test_sized_free(void)
{
	fake_watch();
	if (free_sized != NULL)
		free_sized(malloc(100), 100);
	if (free_aligned_sized != NULL)
		free_aligned_sized(aligned_alloc(64, 128), 64, 128);
	is(fake_seen().freed, 2, "free_sized and free_aligned_sized free");
}

void
test_functions(void)
{
	fake_start(0);
	for (unsigned i = 0; i < FUNCTIONS; i++)
	{
		if (!is_usable(&functions[i]))
		{
			skip(functions[i].name, "it is not of the allocator that frees");
			continue;
		}
		test_function(&functions[i], 192);
		test_function(&functions[i], 1 << 20);
		if (!functions[i].takes_block)
			continue;
		test_reallocation(&functions[i], 64, 1 << 16);
		test_reallocation(&functions[i], 1 << 16, 64);
		test_reallocation(&functions[i], 64, 72);
		test_reallocation(&functions[i], 1 << 20, 1 << 22);
	}
	test_sized_free();
	fake_stop();
}

/* What is freed by a reallocation, or left by one that fails. */
static void
test_failing_realloc(void)
{
	char	   *block = malloc(100);

	fake_watch();
	errno = 0;
	/* jemalloc's does not say why */
	ok(realloc(block, SIZE_MAX / 2 - 100) == NULL && (errno == ENOMEM || is_jemalloc()),
	   "realloc to too many bytes fails");
	ok(fake_seen().restored == 1 && fake_seen().net_bytes == 0 && fake_seen().recorded == 0,
	   "a block stays a sample when its realloc fails");
	ok(reallocarray(block, SIZE_MAX / 2, 4) == NULL && errno == ENOMEM, "reallocarray of too many bytes fails");
	ok(fake_seen().taken == 1 && fake_seen().freed == 0, "reallocarray of too many bytes is not looked at");
	free(block);
	is(fake_seen().freed, 1, "a block whose realloc failed is freed once");
}

static void
test_realloc_to_nothing(void)
{
	void	   *block = malloc(100);

	fake_watch();
	block = realloc(block, 0);
	/* glibc frees, jemalloc returns a block */
	ok(fake_seen().freed == 1 && fake_seen().recorded == (block != NULL), "realloc to 0 bytes frees");
	free(block);
	is(fake_seen().net_bytes, -100, "realloc to 0 bytes leaves nothing");
}

/* Their bit may be set, as the one of any block may. */
static void
test_null(void)
{
	PlhMallocHook *hook = fake_find_hook();

	__atomic_fetch_or(&hook->filter[0], 1, __ATOMIC_RELAXED);
	fake_watch();
	free(NULL);
	free(realloc(NULL, 10));
	free(reallocarray(NULL, 10, 10));
	is(fake_seen().nulls, 0, "NULL is never looked up");
	ok(fake_seen().recorded == 2 && fake_seen().freed == 2, "realloc of NULL is an allocation");
}

/* The questions that are asked about a block that is freed, if these bits are set. */
static long
questions_about_free(bool by_realloc, bool own_bit, bool other_bits)
{
	PlhMallocHook *hook = fake_find_hook();
	void	   *block = malloc(100);
	uint32_t	bit = plh_filter_bit(block);
	uint8_t    *byte = &hook->filter[bit / 8];
	uint8_t		before = *byte;
	uint8_t		own = 1 << bit % 8;
	Seen		after;

	__atomic_store_n(byte, (own_bit ? own : 0) | (other_bits ? ~own : 0), __ATOMIC_RELAXED);
	fake_watch();
	if (by_realloc)
		block = realloc(block, 3000);
	else
		free(block);
	after = fake_seen();
	__atomic_store_n(byte, before, __ATOMIC_RELAXED);
	if (by_realloc)
		free(block);
	return after.questions;
}

/* The fast path looks at a byte of the filter, which has bits of other blocks, too. */
void
test_filter(void)
{
	fake_start(UINT64_C(1) << 40);
	for (int by_realloc = 0; by_realloc < 2; by_realloc++)
	{
		const char *function = by_realloc ? "realloc" : "free";

		ok(questions_about_free(by_realloc, false, false) == 0, "%s of a block whose byte in the filter is empty asks nothing", function);
		ok(questions_about_free(by_realloc, false, true) == 0, "%s of a block with others only in its byte of the filter asks nothing", function);
		ok(questions_about_free(by_realloc, true, false) == 1, "%s of a block that is in the filter asks once", function);
		ok(questions_about_free(by_realloc, true, true) == 1, "%s of a block that is in the filter beside others asks once", function);
	}
	fake_stop();
}

void
test_failures(void)
{
	void	   *block = &block;
	void	   *unchanged = &block;

	fake_start(0);
	fake_watch();
	errno = 0;
	ok(malloc(SIZE_MAX / 2 + 1) == NULL && errno == ENOMEM, "malloc of too many bytes fails");
	is(fake_seen().recorded, 0, "malloc of too many bytes is not recorded");
	fake_watch();
	errno = 0;
	ok(calloc(SIZE_MAX / 2, 4) == NULL && errno == ENOMEM, "calloc of a product that is too large fails");
	is(fake_seen().taken, 0, "calloc of a product that is too large is not looked at");
	errno = 0;
	is(posix_memalign(&block, 3, 100), EINVAL, "posix_memalign to an alignment of 3 fails");
	ok(block == unchanged && errno == 0, "posix_memalign to an alignment of 3 leaves the pointer and errno");
	is(posix_memalign(&block, 64, SIZE_MAX / 2 + 1), ENOMEM, "posix_memalign of too many bytes fails");
	ok(block == unchanged && fake_seen().recorded == 0, "posix_memalign of too many bytes is not recorded");
	free(malloc(0));
	ok(fake_seen().recorded == 1 && fake_seen().freed == 1, "malloc of 0 bytes is an allocation");
	test_failing_realloc();
	test_realloc_to_nothing();
	test_null();
	fake_stop();
}

void
test_errno(void)
{
	void	   *block;
	int			wrong = 0;

	for (int gap = 0; gap < 2; gap++)
	{
		fake_start((uint64_t) gap << 40);
		errno = 77;
		block = realloc(calloc(10, 10), 1000);
		wrong += errno != 77;
		free(block);
		wrong += errno != 77;
	}
	is(wrong, 0, "errno stays as it was, on either path");
	fake_stop();
}

/* A block of each slot is of the value that the slot has. */
#define SLOTS 500

static bool
is_intact(const unsigned char *block, size_t size, unsigned char value)
{
	return size == 0 || (block[0] == value && block[size / 2] == value && block[size - 1] == value);
}

static bool
mix_functions(int operations, uint64_t gap)
{
	unsigned char *blocks[SLOTS] = {NULL};
	size_t		sizes[SLOTS] = {0};
	bool		intact = true;

	fake_start(gap);
	for (int i = 0; i < operations; i++)
	{
		int			slot = rand() % SLOTS;
		const Function *function = &functions[rand() % FUNCTIONS];
		size_t		size = (size_t) 8 << rand() % (rand() % 100 == 0 ? 18 : 9);

		if (!is_usable(function))
			continue;
		if (blocks[slot] != NULL)
			intact = intact && is_intact(blocks[slot], sizes[slot], slot % 251);
		if (!function->takes_block)
		{
			free(blocks[slot]);
			blocks[slot] = NULL;
		}
		blocks[slot] = function->call(blocks[slot], size);
		sizes[slot] = size;
		memset(blocks[slot], slot % 251, size);
	}
	for (int slot = 0; slot < SLOTS; slot++)
		free(blocks[slot]);
	fake_stop();
	return intact;
}

void
test_mixture(void)
{
	static const uint64_t gaps[] = {0, 1000, 100000};

	for (unsigned i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++)
	{
		Seen		after;

		fake_watch();
		ok(mix_functions(100000, gaps[i]), "a mixture, sampled each %d bytes, keeps what it had", (int) gaps[i]);
		after = fake_seen();
		ok(after.recorded > 100 && after.net_bytes == 0, "%ld samples of a mixture come and go", after.recorded);
		is(after.freed, after.recorded, "each sample of a mixture is freed once");
		is(after.recorded_twice + after.nulls, 0, "no free of a mixture is missed");
	}
}

/* Without anybody to call, though blocks may still be in the filter. */
void
test_idle(void)
{
	Seen		after;

	fake_start(0);
	free(malloc(100));
	fake_stop();
	fake_watch();
	mix_functions(0, 0);
	fake_stop();
	for (unsigned i = 0; i < FUNCTIONS; i++)
		if (is_usable(&functions[i]))
			for (int j = 0; j < 10000; j++)
				free(functions[i].call(NULL, 80));
	after = fake_seen();
	is(after.taken + after.recorded + after.freed, 0, "no hook is called where there is none");
}

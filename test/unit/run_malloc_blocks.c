/*
 * run_malloc_blocks.c
 *	  Tests of heap_malloc.c: which of glibc's blocks are lost, exactly, by a model of who
 *	  holds them.  Built without sanitizers, which bring a malloc of their own.
 *
 * Addresses of what is planted are hidden from the search: nothing but the words that
 * the model knows of may lead to a block.  Each search runs in a forked child, as its own
 * memory is full of addresses.
 */
#include "postgres.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap/heap_malloc.h"
#include "heap/heap.h"
#include "heap/heap_roots.h"
#include "tap.h"

#define HIDING UINT64CONST(0xA5A5A5A5A5A5A5A5)
#define MAX_PLANTED 200000

/* Who holds a block that is no other block. */
#define BY_NOBODY -1
#define BY_VARIABLE -2

/* MADV_GUARD_INSTALL, which older headers do not have. */
#define MADV_GUARD 102

/* How a word leads to a block. */
typedef enum Way
{
	TO_START,
	TO_MIDDLE,
	TO_END,
	WITH_TAG,
	WAYS
} Way;

typedef struct Planted
{
	uint64		hidden;			/* address */
	Size		bytes;			/* as requested */
	int			holder;
	Size		place;			/* of the word that leads to it, in its holder */
	bool		is_aligned;
	bool		is_free;
} Planted;

static Planted planted[MAX_PLANTED];
static int	count;

/* What holds blocks: the only variable that has their addresses. */
static uintptr_t held[MAX_PLANTED];

/* What a child has found. */
typedef struct Result
{
	PlhHeapMallocState state;
	bool		is_marked;
	int			wrong;			/* the first planted block that is not as the
								 * model says, plus one */
	int64		lost;			/* of all of malloc's blocks */
	Size		lost_bytes;
	int			other_contexts;
} Result;

static Result *result;

/* An address that variables of no thread are near. */
static bool has_no_thread;

static uint64 random_state;

static uint32
next_random(uint32 limit)
{
	random_state = random_state * UINT64CONST(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % limit;
}

static pg_noinline uintptr_t
address_of(int number)
{
	return planted[number].hidden ^ HIDING;
}

static uintptr_t
word_to(uintptr_t address, Size bytes, Way way)
{
	switch (way)
	{
		case TO_MIDDLE:
			return address + bytes / 2;
		case TO_END:
			return address + bytes;
		case WITH_TAG:
			return address | 3 | UINT64CONST(0xABCD) << 48;
		default:
			return address;
	}
}

static uintptr_t *
place_of(int number)
{
	if (planted[number].holder == BY_VARIABLE)
		return &held[number];
	if (planted[number].holder == BY_NOBODY || planted[planted[number].holder].is_free)
		return NULL;
	return (uintptr_t *) (address_of(planted[number].holder) + planted[number].place);
}

/* Plant a block that the caller has allocated.  What was in it is stale, and becomes zeros. */
static pg_noinline int
plant_block(void *block, Size bytes, int holder, Size place, Way way)
{
	uintptr_t  *word;

	if (block == NULL || count == MAX_PLANTED)
		abort();
	memset(block, 0, malloc_usable_size(block));
	planted[count] = (Planted)
	{
		(uintptr_t) block ^ HIDING, bytes, holder, place
	};
	word = place_of(count);
	if (word != NULL)
		*word = word_to((uintptr_t) block, bytes, way);
	return count++;
}

static pg_noinline int
plant(Size bytes, int holder)
{
	return plant_block(malloc(bytes), bytes, holder, 32, TO_START);
}

/* Free a block.  The word that leads to it is erased, but not those that it has. */
static pg_noinline void
release(int number)
{
	uintptr_t  *word = place_of(number);

	if (word != NULL)
		*word = 0;
	planted[number].is_free = true;
	free((void *) address_of(number));
}

static bool
is_reached(int number)
{
	while (number >= 0 && !planted[number].is_free)
		number = planted[number].holder;
	return number == BY_VARIABLE;
}

static void
ignore_found(void *arg, const PlhHeapFound *found)
{
}

/* Is a block that was planted as the model says? */
static bool
is_right(const PlhHeapIndex *index, int number)
{
	uintptr_t	address = address_of(number);
	const PlhHeapBlock *block = plh_heap_index_block(index, address);
	PlhHeapChunk chunk;

	if (planted[number].is_free)
		return true;
	if (block == NULL || !plh_heap_index_chunk(index, block, address, &chunk))
		return false;

	/*
	 * a mapping is one block as a whole, even if what is aligned begins
	 * further inside
	 */
	return address - chunk.start < (planted[number].is_aligned ? 4096 : 1) &&
		chunk.end >= address + planted[number].bytes &&
		plh_heap_index_is_found(index, &chunk) == is_reached(number);
}

static void
compare_with_model(const PlhHeapIndex *index)
{
	for (uint32 i = 0; i < index->count; i++)
	{
		PlhHeapChunk chunk;

		for (uintptr_t at = index->blocks[i].start;
			 plh_heap_index_next(index, &index->blocks[i], at, &chunk); at = chunk.start + 8)
			if (!plh_heap_index_is_found(index, &chunk))
			{
				result->lost++;
				result->lost_bytes += chunk.end - chunk.start;
			}
	}
	for (int i = 0; i < count && result->wrong == 0; i++)
		if (!is_right(index, i))
			result->wrong = i + 1;
}

static pg_noinline void
search(void)
{
	PlhHeapMemory memory;
	PlhHeapIndex index;
	PlhHeapContexts contexts = {.memory = &memory,.index = &index,.room = 4};
	PlhHeapMark mark = {.found = ignore_found};

	contexts.list = plh_heap_reserve(contexts.room * sizeof(PlhHeapContext));
	if (!plh_heap_memory_own(&memory) ||
		!plh_heap_memory_exclude(&memory, (uintptr_t) contexts.list,
								 (uintptr_t) (contexts.list + contexts.room)) ||
		!plh_heap_index_start(&index, plh_heap_memory_root_bytes(&memory)))
		return;
	result->state = plh_heap_malloc_walk(&contexts, has_no_thread ? (uintptr_t) planted :
										 (uintptr_t) pthread_self());
	result->other_contexts = contexts.count;
	if (!plh_heap_mark_start(&mark, &contexts) ||
		plh_heap_roots_mark(&mark, (uintptr_t) __builtin_frame_address(0)) == NULL)
		return;
	result->is_marked = true;
	compare_with_model(&index);
}

/* Search in a child, and say what it has found. */
static void
look(void)
{
	pid_t		child;

	memset(result, 0, sizeof(*result));
	fflush(stdout);
	child = fork();
	if (child == 0)
	{
		search();
		_exit(0);
	}
	(void) waitpid(child, NULL, 0);
}

static int64
lost_of_model(void)
{
	int64		lost = 0;

	for (int i = 0; i < count; i++)
		lost += !planted[i].is_free && !is_reached(i);
	return lost;
}

/* All is as the model says, and no other block is lost. */
static void
check(const char *name)
{
	look();
	if (result->wrong != 0)
		printf("# block %d of %zu bytes, holder %d, free %d\n", result->wrong - 1,
			   planted[result->wrong - 1].bytes, planted[result->wrong - 1].holder,
			   planted[result->wrong - 1].is_free);
	if (result->lost != lost_of_model())
		printf("# %lld lost, not %lld\n", (long long) result->lost, (long long) lost_of_model());
	ok(result->state == PLH_HEAP_MALLOC_PROVEN && result->is_marked && result->wrong == 0 &&
	   result->lost == lost_of_model(), name);
}

static const Size sizes[] = {1, 24, 40, 100, 1000, 1033, 5000, 60000, 127000, 200000, 1000000};

static void
plant_sizes(int times)
{
	for (int i = 0; i < lengthof(sizes); i++)
		for (int time = 0; time < times; time++)
		{
			int			first = plant(Max(sizes[i], 40), BY_VARIABLE);
			int			second = plant(Max(sizes[i], 40), first);

			plant(sizes[i], second);
			plant(sizes[i], BY_NOBODY);
			plant(sizes[i], plant(100, BY_NOBODY));
		}
}

static void
test_ways(void)
{
	for (int i = 0; i < lengthof(sizes); i++)
		for (Way way = 0; way < WAYS; way++)
		{
			(void) plant_block(malloc(sizes[i]), sizes[i], BY_VARIABLE, 0, way);
			(void) plant(sizes[i], BY_NOBODY);
		}
	check("a word that leads to the start, middle or end of a block, or has a tag, holds it");
}

/* A free block is in the list of its thread, a fast bin, another bin, or a part of the rest. */
static void
test_free_blocks(void)
{
	static const Size freed[] = {72, 100, 1000, 1100, 3000, 100000, 300000};

	for (int i = 0; i < lengthof(freed); i++)
	{
		int			first = count;

		for (int number = 0; number < 20; number++)
		{
			int			holder = plant(freed[i], BY_VARIABLE);

			(void) plant(50, holder);
			(void) plant(freed[i], BY_NOBODY);
		}
		for (int number = first; number < first + 60; number += 3)
			release(number);
	}
	check("what was freed holds nothing, whatever it still says");
}

static void
test_alignment(void)
{
	for (Size alignment = 32; alignment <= 4096; alignment *= 2)
		for (int i = 0; i < lengthof(sizes); i++)
		{
			void	   *block = NULL;

			if (posix_memalign(&block, alignment, sizes[i]) != 0)
				abort();
			planted[plant_block(block, sizes[i], i % 2 == 0 ? BY_VARIABLE : BY_NOBODY, 0,
								TO_START)].is_aligned = true;
		}
	check("blocks with an alignment");
}

static void *
plant_in_thread(void *argument)
{
	plant_sizes(1);

	/* more than one heap of an arena */
	for (int i = 0; i < 1500; i++)
	{
		int			number = plant(70000, i % 2 == 0 ? BY_VARIABLE : BY_NOBODY);

		if (i % 3 == 0)
			release(number);
	}
	return NULL;
}

/* The stack of a thread has addresses of blocks, and is gone with it here. */
static void
test_threads(void)
{
	Size		stack_bytes = 1024 * 1024;

	for (int i = 0; i < 2; i++)
	{
		void	   *stack = mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE,
								 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pthread_attr_t attributes;
		pthread_t	thread;

		pthread_attr_init(&attributes);
		pthread_attr_setstack(&attributes, stack, stack_bytes);
		if (pthread_create(&thread, &attributes, plant_in_thread, NULL) != 0)
			abort();
		pthread_join(thread, NULL);
		pthread_attr_destroy(&attributes);
		munmap(stack, stack_bytes);
	}
	check("blocks in arenas of threads that have ended");
}

static Size
random_size(void)
{
	return 1 + next_random(1 << (4 + next_random(15)));
}

static int
random_holder(Size *place)
{
	int			holder = count == 0 ? BY_VARIABLE : (int) next_random(count);

	*place = 0;
	if (next_random(3) == 0 || holder < 0)
		return next_random(3) == 0 ? BY_NOBODY : BY_VARIABLE;
	if (planted[holder].is_free || planted[holder].bytes < 64)
		return BY_NOBODY;
	*place = 32 + 8 * next_random((planted[holder].bytes - 32) / 8);
	return holder;
}

/* Two words at one place would be one. */
static bool
is_taken(int holder, Size place)
{
	return holder >= 0 && *(uintptr_t *) (address_of(holder) + place) != 0;
}

static void
test_random(uint64 seed)
{
	random_state = seed;
	for (int i = 0; i < 10000; i++)
	{
		int			number = next_random(count);
		Size		place;
		int			holder;

		if (next_random(5) < 2 && !planted[number].is_free)
			release(number);
		holder = random_holder(&place);
		if (!is_taken(holder, place))
		{
			Size		bytes = random_size();

			(void) plant_block(malloc(bytes), bytes, holder, place, TO_START);
		}
	}
	check("10,000 steps at random");
}

/* Nothing is lost, and nothing is said of any block. */
static bool
is_held(void)
{
	look();
	return result->state == PLH_HEAP_MALLOC_UNKNOWN && result->is_marked && result->lost == 0;
}

/* Compilers leave out what is written to a block that nobody could look at. */
static pg_noinline void
make_known(uint64 **block)
{
	__asm__ volatile ("":"+m" (*block)::"memory");
}

static void
test_unknown(void)
{
	uint64	   *block;
	uint64	   *kept;
	uint64		head;
	uint64 volatile hidden;

	has_no_thread = true;
	ok(is_held(), "all is held where the lists of the thread can't be found");
	has_no_thread = false;

	block = malloc(500);
	kept = malloc(600);
	make_known(&block);
	make_known(&kept);
	head = block[-1];
	block[-1] = head + 16;
	ok(is_held(), "all is held where a block's size is not what it must be");
	block[-1] = head & ~UINT64CONST(1);
	ok(is_held(), "all is held where a block says wrongly that the one before it is free");
	block[-1] = head;

	/* the key stays in its place until the block is given out again */
	hidden = (uintptr_t) block ^ HIDING;
	free(block);
	kept[1] = ((uint64 *) (hidden ^ HIDING))[1];
	ok(is_held(), "all is held where a block in use looks like one that waits");
	kept[1] = 0;
	look();
	ok(result->state == PLH_HEAP_MALLOC_PROVEN && result->other_contexts == 1,
	   "and no more where all is well again");
	free(kept);
}

/*
 * A page within a mapping that can't be read: from Linux 6.13 on, glibc makes guard pages of stacks
 * so.  Where the kernel has none, one of a mapping beside it does for that.
 */
static void
test_guard_page(void)
{
	char	   *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		abort();
	memset(pages, 0, 3 * 4096);
	if (madvise(pages + 4096, 4096, MADV_GUARD) != 0)
		(void) mprotect(pages + 4096, 4096, PROT_NONE);
	check("a page that can't be read stops nothing");
}

int
main(void)
{
	result = mmap(NULL, sizeof(Result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (result == MAP_FAILED)
		return 1;
	/* malloc begins with the first block */
	release(plant(1000, BY_VARIABLE));
	check("nothing is lost at first");
	plant_sizes(3);
	check("blocks of all sizes, held by a variable, by blocks, or by nobody");
	test_ways();
	test_free_blocks();
	test_alignment();
	for (int i = 0; i < rounds(2); i++)
		test_random(i);
	test_threads();
	test_guard_page();
	test_random(4711);
	test_unknown();
	return tests_end();
}

/*
 * test_near_code.c
 *	  Machine code near the server's: what it does, and where there is none.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "preload/block_filter.h"
#include "unit_tests.h"

static bool is_refused;

pg_attribute_unused()
static int	change_protection(void *start, size_t bytes, int protection);

pg_attribute_unused()
static void *map_near(void *start, size_t bytes, int protection, int flags,
					  int fd, off_t offset);

#define mprotect change_protection
#define mmap map_near
#include "sampler/near_code.c"
#undef mmap
#undef mprotect

/* Systems that are told so make no memory executable that could be written to. */
static int
change_protection(void *start, size_t bytes, int protection)
{
	if (is_refused)
	{
		errno = EACCES;
		return -1;
	}
	return mprotect(start, bytes, protection);
}

/* A place is taken, or all are: a system says so, or gives another one, if it is old. */
static uintptr_t taken_place;
static bool are_all_taken;
static bool is_old_system;
static void *other_place;

static void *
map_near(void *start, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	if (!are_all_taken && taken_place != (uintptr_t) start)
		return mmap(start, bytes, protection, flags, fd, offset);
	if (is_old_system)
		return other_place = mmap(NULL, bytes, protection,
								  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = EEXIST;
	return MAP_FAILED;
}

#ifdef __x86_64__

typedef void *(*Function) (void *first, uintptr_t second, int third);

/* What was called last, with what. */
static enum
{
	NOTHING, NEXT, ELSEWHERE
}			called;
static void *first_seen;
static uintptr_t second_seen;
static int	third_seen;

static void *
note_call(int function, void *first, uintptr_t second, int third)
{
	called = function;
	first_seen = first;
	second_seen = second;
	third_seen = third;
	return &called;
}

static pg_noinline void *
next_function(void *first, uintptr_t second, int third)
{
	return note_call(NEXT, first, second, third);
}

static pg_noinline void *
elsewhere(void *first, uintptr_t second, int third)
{
	return note_call(ELSEWHERE, first, second, third);
}

/* Does a call get to that function, with its arguments, and bring its answer back? */
static bool
gets_to(int function, void *code, void *first, uintptr_t second)
{
	called = NOTHING;
	return ((Function) code) (first, second, 42) == &called &&
		called == function && first_seen == first && second_seen == second &&
		third_seen == 42;
}

static void
unmap_pages(void)
{
	(void) munmap(pages, 2 * page_bytes);
	pages = NULL;
}

static void
test_count_down(void)
{
	uint64	   *left = plh_near_code_begin(next_function);
	void	   *code = plh_near_code_count_down(next_function, elsewhere);
	void	   *context = &left;

	ok(left != NULL && plh_near_code_end(), "there is code near the program's");
	*left = 100;
	ok(gets_to(NEXT, code, context, 99) && *left == 1, "code near the program counts down, and goes on");
	ok(gets_to(NEXT, code, context, 0) && *left == 1, "code near the program goes on if there is nothing to count");
	ok(gets_to(ELSEWHERE, code, context, 1) && *left == 0, "code near the program goes elsewhere at the end of the count");
	*left = 100;
	ok(gets_to(ELSEWHERE, code, context, 101) && *left == (uint64) -1,
	   "code near the program goes elsewhere beyond the end of the count");
	*left = 100;
	ok(gets_to(ELSEWHERE, code, context, UINTPTR_MAX) && *left == 101,
	   "code near the program goes elsewhere for garbage");
	ok(protection_of_memory(code, (char *) code + 1) == (PROT_READ | PROT_EXEC),
	   "code near the program cannot be written to");
	ok(protection_of_memory(left, left + 1) == (PROT_READ | PROT_WRITE),
	   "the counter cannot be executed");
	unmap_pages();
}

static void
test_ask_filter(void)
{
	static uint8 filter[PLH_FILTER_BYTES];
	void	   *of_first;
	void	   *of_second;
	const char *broken = NULL;

	(void) plh_near_code_begin(next_function);
	of_first = plh_near_code_ask_filter(1, filter, next_function, elsewhere);
	of_second = plh_near_code_ask_filter(2, filter, next_function, elsewhere);
	ok(plh_near_code_end(), "several functions can be near the program");
	for (int i = 0; i < 1000; i++)
	{
		void	   *pointer = (char *) filter + 16 * 997 * i;
		uint8	   *bits = filter + plh_filter_bit(pointer) / 8;

		REQUIRE(broken, gets_to(NEXT, of_first, pointer, 0));
		REQUIRE(broken, gets_to(NEXT, of_second, NULL, (uintptr_t) pointer));
		*bits = 1 << i % 8;
		REQUIRE(broken, gets_to(ELSEWHERE, of_first, pointer, 0));
		REQUIRE(broken, gets_to(ELSEWHERE, of_second, NULL, (uintptr_t) pointer));
		*bits = 0;
	}
	ok_unbroken(broken, "each function near the program finds what the filter has, and nothing else");
	unmap_pages();
}

static bool
is_mapped(const void *place)
{
	return protection_of_memory(place, (const char *) place + 1) != -1;
}

/* Where the first places are taken, the next will do. */
static void
test_taken_places(void)
{
	uintptr_t	next;

	(void) plh_near_code_begin(next_function);
	taken_place = (uintptr_t) pages;
	next = taken_place - PLACE_STEP;
	unmap_pages();
	ok(plh_near_code_begin(next_function) != NULL && (uintptr_t) pages == next,
	   "code is in the next place where the first is taken");
	unmap_pages();
	is_old_system = true;
	ok(plh_near_code_begin(next_function) != NULL && (uintptr_t) pages == next &&
	   !is_mapped(other_place), "a place that was not asked for is given back");
	unmap_pages();
	is_old_system = false;
	are_all_taken = true;
	ok(plh_near_code_begin(next_function) == NULL, "there is no code where all places are taken");
	are_all_taken = false;
	taken_place = 0;
}

static void
test_refusals(void)
{
	uint64	   *left = plh_near_code_begin(next_function);

	(void) plh_near_code_count_down(next_function, elsewhere);
	is_refused = true;
	ok(!plh_near_code_end(), "there is no code where the system refuses new code");
	is_refused = false;
	ok(!is_mapped(left), "code that the system has refused leaves no memory behind");
	(void) plh_near_code_begin(next_function);
	(void) plh_near_code_count_down((void *) (UINT64_C(1) << 46), elsewhere);
	ok(!plh_near_code_end(), "there is no code where the next function is far");
	ok(plh_near_code_begin((void *) PLACE_STEP) == NULL, "there is no code without a place");
}

void
test_near_code(void)
{
	test_count_down();
	test_ask_filter();
	test_taken_places();
	test_refusals();
}

#else

void
test_near_code(void)
{
	ok(plh_near_code_begin(test_near_code) == NULL, "this processor has no code near the program");
}

#endif							/* __x86_64__ */

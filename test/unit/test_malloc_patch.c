/*
 * test_malloc_patch.c
 *	  Shorter code in the place of the preloaded library's malloc and free: what it
 *	  does, and where it must not be.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "preload/block_filter.h"
#include "unit_tests.h"

#ifdef __x86_64__

static int	symbol_of(const void *address, Dl_info *info, void **symbol, int flags);

#define dladdr1 symbol_of
#include "sampler/malloc_patch.c"
#undef dladdr1

/* What the dynamic linker says of functions here, of which it knows nothing. */
static ElfW(Sym) known_symbol;

static int
symbol_of(const void *address, Dl_info *info, void **symbol, int flags)
{
	info->dli_saddr = unconstify(void *, address);
	*symbol = &known_symbol;
	return flags == RTLD_DL_SYMENT;
}

/* So many bytes has each function below, at least. */
#define FUNCTION_BYTES 48

typedef void *(*Function) (void *first);

static int	called;
static void *seen;

static pg_noinline void *
note_call(int function, void *first)
{
	called = function;
	seen = first;
	return &called;
}

/* What a call of malloc or free may get to. */
enum
{
	ITS_OWN = 1, NEXT, OTHERWISE
};

static pg_noinline void *
next_function(void *first)
{
	return note_call(NEXT, first);
}

static pg_noinline void *
otherwise(void *first)
{
	return note_call(OTHERWISE, first);
}

/* What stands for the library's functions; they have room for the code. */
#define DEFINE_LIBRARY_FUNCTION(name) \
__asm__(".pushsection .text\n" \
		".balign 64\n" \
		#name ":\n" \
		"	jmp its_own_code\n" \
		"	.balign 64\n" \
		".popsection\n"); \
extern void *name(void *first)

DEFINE_LIBRARY_FUNCTION(its_malloc);
DEFINE_LIBRARY_FUNCTION(its_free);

extern void *its_own_code(void *first);

pg_noinline void *
its_own_code(void *first)
{
	return note_call(ITS_OWN, first);
}

static uint8 its_filter[PLH_FILTER_BYTES];
static _Thread_local uint64 its_countdown;

static uint64 *
countdown_of_thread(void)
{
	return &its_countdown;
}

static void *const near_function = next_function;
static void *const far_function = (void *) (UINT64_C(1) << 46);

/* Does a call get to that code, with its argument, and bring its answer back? */
static bool
gets_to(int function, Function code, uintptr_t first)
{
	called = 0;
	return code((void *) first) == &called && called == function &&
		seen == (void *) first;
}

static bool
is_as_before(void)
{
	return gets_to(ITS_OWN, its_malloc, 10) && gets_to(ITS_OWN, its_free, 10);
}

static void
install(void *const *next)
{
	PlhMallocHook hook = {
		.countdown = countdown_of_thread,
		.filter = its_filter,
		.malloc = {its_malloc, next, otherwise},
		.free = {its_free, next, otherwise}
	};

	plh_malloc_patch_install(&hook);
}

static void *
install_in_thread(void *arg)
{
	install(&near_function);
	return arg;
}

static void *
count_in_thread(void *arg)
{
	its_countdown = 30;
	*(bool *) arg = gets_to(NEXT, its_malloc, 20) && its_countdown == 10 &&
		gets_to(OTHERWISE, its_malloc, 20);
	return NULL;
}

static void
run_thread(void *(*function) (void *), void *arg)
{
	pthread_t	thread;

	if (pthread_create(&thread, NULL, function, arg) != 0 ||
		pthread_join(thread, NULL) != 0)
		abort();
}

/* Whatever is not as expected leaves the library as it is. */
static void
test_nothing_changed(void)
{
	known_symbol.st_size = 8;
	install(&near_function);
	ok(is_as_before(), "a function that is too short stays as it is");
	known_symbol.st_size = FUNCTION_BYTES;
	install(&far_function);
	ok(is_as_before(), "so it does if the next one is out of reach");
	run_thread(install_in_thread, NULL);
	ok(is_as_before(), "or another thread may run it");
}

static void
test_changed(void)
{
	void	   *block = &known_symbol;
	uint8	   *bits = its_filter + plh_filter_bit(block) / 8;
	bool		is_counted = false;

	install(&near_function);
	its_countdown = 100;
	ok(gets_to(NEXT, its_malloc, 99) && its_countdown == 1,
	   "malloc counts down, and goes on");
	ok(gets_to(OTHERWISE, its_malloc, 1) && its_countdown == 0, "up to the end");
	ok(gets_to(OTHERWISE, its_malloc, 5) && its_countdown == (uint64) -5,
	   "and beyond it");
	its_countdown = 100;
	run_thread(count_in_thread, &is_counted);
	ok(is_counted && its_countdown == 100, "each thread has a countdown of its own");
	ok(gets_to(NEXT, its_free, (uintptr_t) block), "free goes on");
	*bits = 4;
	ok(gets_to(OTHERWISE, its_free, (uintptr_t) block), "unless there is a sample");
	*bits = 0;
	ok(gets_to(NEXT, its_free, 0), "for nothing, too");
}

void
test_malloc_patch(void)
{
	test_nothing_changed();
	test_changed();
}

#else

void
test_malloc_patch(void)
{
}

#endif							/* __x86_64__ */

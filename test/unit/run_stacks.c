/*
 * run_stacks.c
 *	  Compares stacks that are remembered, or walked over by our own rules, with
 *	  those that libunwind finds.
 *
 * The functions here have frames of many kinds, call each other at random, and
 * capture their stacks, also by way of the C library, from a signal handler, on other
 * stacks, while exceptions of C++ are thrown, and again after having jumped out of what
 * they called.  Others lie in no module, as
 * those that LLVM compiles, or in libraries that take each other's place.  unwind.c is
 * compiled in, so that its memo can be looked into.
 */
#include "postgres.h"

#include <alloca.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include "base/limits.h"
#include "base/modules.h"
#include "base/unwind.c"

#include "tap.h"

/* Deeper than most stacks here are. */
#define DEPTH 90
#define MAX_RECURSION 30

char		my_exec_path[MAXPGPATH] = "run_stacks";

static char folder[MAXPGPATH];	/* where this program is */

static uint64 state = 88172645463325252;
static long captures;
static long remembered;
static long differences;
static sigjmp_buf jump;
static volatile long jumps;
static volatile sig_atomic_t in_capture;
static volatile sig_atomic_t handled;

/* Ways to get to a stack which is not all of plain frames, or not in one place. */
typedef enum Way
{
	ON_CONTEXT,
	ON_CONTEXT_IN_STACK,
	BY_SIGNAL,
	BY_SIGNAL_ON_STACK,
	WITHOUT_RULES,
	BY_EXCEPTION,
	WAYS						/* number of them, must be last */
} Way;

static volatile uint32 ways_taken;	/* bits of those that have led here */
static long captured_by[WAYS];

static uint64
draw(uint64 below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static pg_noinline void capture(void);

/* What lies outwards on a stack, from a function on. */
static int
outer(const PlhStack *stack, uintptr_t function, const uintptr_t **addresses)
{
	uintptr_t	start = 0;
	uintptr_t	end = 0;
	int			i = 0;

	(void) plh_unwind_function_of(function, &start, &end);
	while (i < stack->depth &&
		   (stack->addresses[i] < start || stack->addresses[i] >= end))
		i++;
	*addresses = stack->addresses + i;
	return stack->depth - i;
}

/* Capture the stack both ways; they differ in where this function calls. */
static pg_noinline void
capture(void)
{
	const uintptr_t *known_addresses;
	const uintptr_t *found_addresses;
	int			known_depth;
	int			found_depth;
	int			depth;
	PlhStack	known;
	PlhStack	found;

	in_capture = true;
	plh_unwind_capture(&known, DEPTH, true);
	capture_all(&found, DEPTH);
	captures++;
	for (int way = 0; way < WAYS; way++)
		captured_by[way] += ways_taken >> way & 1;
	remembered += known.known != NULL;
	known_depth = outer(&known, (uintptr_t) capture, &known_addresses);
	found_depth = outer(&found, (uintptr_t) capture, &found_addresses);
	depth = Min(known_depth, found_depth);
	if (depth == 0 ||
		(known_depth != found_depth && !known.truncated && !found.truncated) ||
		memcmp(known_addresses + 1, found_addresses + 1,
			   (depth - 1) * sizeof(uintptr_t)) != 0)
		differences++;
	in_capture = false;
}

static void go_on(int level);

static pg_noinline void
with_small_frame(int level)
{
	go_on(level);
	asm volatile ("");
}

static pg_noinline void
with_large_frame(int level)
{
	volatile char room[5000];

	room[draw(5000)] = 1;
	go_on(level);
	room[0] = room[1];
}

/* Its frame has no constant size, so that it is found by the frame pointer. */
static pg_noinline void
with_alloca(int level)
{
	volatile char *room = alloca(16 + draw(4) * 64);

	room[0] = 1;
	go_on(level);
	room[1] = room[0];
}

__attribute__((optimize("no-omit-frame-pointer")))
static pg_noinline void
with_frame_pointer(int level)
{
	go_on(level);
	asm volatile ("");
}

/* Its frame is aligned, which no rule of ours describes. */
static pg_noinline void
with_aligned_frame(int level)
{
	volatile char room[64] __attribute__((aligned(64)));

	room[draw(64)] = 1;
	go_on(level);
	room[0] = room[1];
}

static int
compare(const void *a, const void *b)
{
	if (draw(8) == 0)
		go_on(MAX_RECURSION - 3);
	return *(const int *) a - *(const int *) b;
}

static pg_noinline void
by_qsort(int level)
{
	int			numbers[6] = {5, 3, 1, 4, 2, 0};

	qsort(numbers, lengthof(numbers), sizeof(int), compare);
	go_on(level);
	asm volatile ("");
}

/* Switch to a stack that lies there, and back at the end. */
static void
switch_to(void *room, size_t bytes, int level)
{
	ucontext_t	here;
	ucontext_t	there;

	getcontext(&there);
	there.uc_stack.ss_sp = room;
	there.uc_stack.ss_size = bytes;
	there.uc_link = &here;
	makecontext(&there, (void (*) (void)) go_on, 1, level);
	swapcontext(&here, &there);
}

#define OTHER_STACK_BYTES (2 * 1024 * 1024)

static pg_noinline void
on_context(int level)
{
	static char room[OTHER_STACK_BYTES];

	switch_to(room, sizeof(room), level);
}

/* The other stack is a part of this one. */
static pg_noinline void
on_context_in_stack(int level)
{
	char		room[OTHER_STACK_BYTES / 4];

	switch_to(room, sizeof(room), level);
}

static int	handler_level;

static void
go_on_in_handler(int signal_number)
{
	go_on(handler_level);
}

static pg_noinline void
by_signal(int level)
{
	handler_level = level;
	raise(SIGUSR1);
}

static pg_noinline void
by_signal_on_stack(int level)
{
	handler_level = level;
	raise(SIGUSR2);
}

/* Let handlers run, one of them on a stack of its own. */
static void
handle_signals(void)
{
	static char room[OTHER_STACK_BYTES];
	stack_t		stack = {.ss_sp = room,.ss_size = sizeof(room)};
	struct sigaction action = {.sa_handler = go_on_in_handler};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
}

/* It calls the other function, and no table says how large its frame is. */
extern void without_rules(int level, void (*other) (int));

#ifdef __x86_64__
asm(".text\n"
	"without_rules:\n"
	"sub $72, %rsp\n"
	"call *%rsi\n"
	"add $72, %rsp\n"
	"ret\n");
#else
void
without_rules(int level, void (*other) (int))
{
	other(level);
}
#endif

static pg_noinline void
by_code_without_rules(int level)
{
	without_rules(level, go_on);
	asm volatile ("");
}

extern void throw_through(int level, void (*function) (int));
extern void throw_or_go_on(int count, int level);
extern void by_frames_of_c(int count, int level);

/* As a function does that has a PG_TRY. */
pg_noinline void
by_frames_of_c(int count, int level)
{
	sigjmp_buf	local;

	if (sigsetjmp(local, 0) == 0)
		throw_or_go_on(count, level);
	asm volatile ("");
}

static pg_noinline void
by_exception(int level)
{
	throw_through(level, go_on);
	asm volatile ("");
}

/* Go on by a way, if it has not led here already. */
static pg_noinline void
go_by(Way way, int level)
{
	static void (*const functions[WAYS]) (int) = {
		[ON_CONTEXT] = on_context,
		[ON_CONTEXT_IN_STACK] = on_context_in_stack,
		[BY_SIGNAL] = by_signal,
		[BY_SIGNAL_ON_STACK] = by_signal_on_stack,
		[WITHOUT_RULES] = by_code_without_rules,
		[BY_EXCEPTION] = by_exception,
	};
	uint32		before = ways_taken;

	ways_taken = before | (uint32) 1 << way;
	if (ways_taken == before)
		go_on(level);
	else
		functions[way] (level);
	ways_taken = before;
}

static void
go_on(int level)
{
	static void (*const functions[]) (int) = {
		with_small_frame, with_large_frame, with_alloca, with_frame_pointer,
		with_small_frame, with_aligned_frame, by_qsort
	};

	/* mostly the same way, as programs go */
	int			choices = draw(16) == 0 ? lengthof(functions) : 2;

	if (level >= MAX_RECURSION || draw(12) == 0)
	{
		for (int i = draw(3); i >= 0; i--)
			capture();
		if (draw(40) == 0)
		{
			jumps++;
			siglongjmp(jump, 1);
		}
		return;
	}
	if (draw(64) == 0)
		go_by(draw(WAYS), level + 1);
	else
		functions[draw(choices)] (level + 1);
	if (draw(6) == 0)
		capture();
}

static void
handler(int signal_number)
{
	/* the memo is guarded against that where it is used */
	if (in_capture)
		return;
	handled++;
	capture();
}

#ifdef __x86_64__

/* A function that was compiled, or is in a library: it calls the other one. */
typedef void (*CompiledFunction) (int number, void (*other) (int));

/* What the stack was where the compiled code was called from. */
static uintptr_t callers[DEPTH];
static int	caller_count;
static int	expected_compiled;
static int	passed;				/* frames from there on inwards */
static bool was_right;
static bool was_known;

/* Is the stack whole, with compiled code where it has to be? */
static pg_noinline void
check_stack(int number)
{
	const uintptr_t *addresses;
	PlhStack	stack;
	int			compiled = 0;

	plh_unwind_capture(&stack, DEPTH, true);
	for (int i = 0; i < stack.depth; i++)
		compiled += stack.addresses[i] == PLH_COMPILED_CODE;
	was_known = stack.known != NULL;
	passed = outer(&stack, (uintptr_t) check_stack, &addresses) - caller_count;
	was_right = compiled == expected_compiled && stack.depth > caller_count &&
		memcmp(stack.addresses + stack.depth - caller_count, callers,
			   caller_count * sizeof(uintptr_t)) == 0;
}

/*
 * Call code, of which so many functions were compiled.  Its stack must go on behind this
 * function.
 */
static pg_noinline void
call_code(CompiledFunction function, void (*other) (int), int compiled)
{
	PlhStack	stack;
	const uintptr_t *addresses;

	/* capture_all would look for modules that were unloaded */
	stack.depth = unw_backtrace((void **) stack.buffer, lengthof(stack.buffer));
	stack.addresses = stack.buffer;
	caller_count = outer(&stack, (uintptr_t) call_code, &addresses) - 1;
	memcpy(callers, addresses + 1, caller_count * sizeof(uintptr_t));
	expected_compiled = compiled;
	function(1, other);
	asm volatile ("");
}

/* Load a library beside this program.  Returns its function. */
static CompiledFunction
load(const char *name, void **library)
{
	char		path[MAXPGPATH];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	*library = dlopen(path, RTLD_NOW);
	return *library == NULL ? NULL : (CompiledFunction) dlsym(*library, "pass_on");
}

static CompiledFunction in_library;

/* Jump to the library, which leaves no frame between two of its own. */
static pg_noinline void
pass_on_again(int number)
{
	in_library(number, check_stack);
}

/* Is the stack right, if the library is on it once or twice, between two functions? */
static bool
is_right_through_library(int times)
{
	call_code(in_library, times == 2 ? pass_on_again : check_stack, 0);
	return was_right && passed == times + 2;
}

/*
 * A library is unloaded, and another one takes its place: what was known of its
 * addresses holds no more, neither for us nor for libunwind.  One frame of the first is
 * as large as two of the other.
 */
static void
test_other_library(void)
{
	void	   *library;
	CompiledFunction large = load("passing_large.so", &library);
	bool		right = large != NULL;

	in_library = large;
	for (int i = 0; right && i < 3; i++)
		right = is_right_through_library(1);
	ok(right && was_known == PLH_HAVE_UNWIND_RULES, "a stack goes through a library");
	if (!right)
		return;
	dlclose(library);
	in_library = load("passing_small.so", &library);
	ok(in_library == large, "another one takes its place");
	ok(is_right_through_library(2), "and the stack goes through that");
	for (int i = 0; i < 3; i++)
		right &= is_right_through_library(2);
	ok(right && was_known == PLH_HAVE_UNWIND_RULES, "and is remembered, too");
	dlclose(library);
	in_library = load("passing_large.so", &library);
	ok(in_library == large, "the first one comes back");
	ok(is_right_through_library(1), "and is not taken for the other");
	ok(plh_unwind_wrong_stacks == 0, "no stack was wrong meanwhile");
	dlclose(library);
}

#endif							/* __x86_64__ */

#if PLH_HAVE_UNWIND_RULES

/* A page of code and one with its table, as LLVM makes them. */
#define PAGE_BYTES 4096
#define COMMON_BYTES 24
#define FUNCTION_BYTES 48
#define AUGMENTATION_OFFSET 24
static uint8 *pages;

/*
 * Compile a function whose frame has so many bytes, "place" bytes into its page, where
 * another one may have been.  Without a table its caller can't be found.
 */
static CompiledFunction
compile(int place, uint8 frame_bytes, bool has_table)
{
	uint8		code[] = {
		0x48, 0x83, 0xec, frame_bytes,	/* sub $frame_bytes,%rsp */
		0xff, 0xd6,				/* call *%rsi */
		0x48, 0x83, 0xc4, frame_bytes,	/* add $frame_bytes,%rsp */
		0xc3					/* ret */
	};
	static const uint8 common[COMMON_BYTES] = {
		0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1c,
		0x0c, 7, 8, 0x90, 1, 0, 0
	};
	uint8		function[FUNCTION_BYTES] = {
		FUNCTION_BYTES - 4, 0, 0, 0, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		sizeof(code), 0, 0, 0, 0, 0, 0, 0, 0,
		0x44, 0x0e, frame_bytes + 8
	};
	uint8	   *start = pages + place;
	uint8	   *table = pages + PAGE_BYTES + place;
	int64		distance = start - (table + sizeof(common) + 8);

	memcpy(function + 8, &distance, sizeof(distance));
	mprotect(pages, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE);
	memcpy(start, code, sizeof(code));
	memset(table, 0, sizeof(common) + sizeof(function));
	if (has_table)
	{
		memcpy(table, common, sizeof(common));
		memcpy(table + sizeof(common), function, sizeof(function));
	}
	mprotect(pages, PAGE_BYTES, PROT_READ | PROT_EXEC);
	mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_READ);
	return (CompiledFunction) start;
}

/*
 * Let the augmentation of a function's description have so many bytes that it ends
 * before memory begins: addresses wrap around.
 */
static void
damage_table(int place)
{
	uint8	   *augmentation = pages + PAGE_BYTES + place + COMMON_BYTES +
		AUGMENTATION_OFFSET;
	uint64		bytes = -(uint64) (uintptr_t) augmentation;

	mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE);
	for (; bytes >= 0x80; bytes >>= 7)
		*augmentation++ = (bytes & 0x7f) | 0x80;
	*augmentation = bytes;
	mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_READ);
}

/* Take the memory of compiled code, or give it back. */
static void
begin_to_compile(void)
{
	pages = mmap(pages, 2 * PAGE_BYTES, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | (pages != NULL ? MAP_FIXED : 0),
				 -1, 0);
}

static CompiledFunction inner;

static pg_noinline void
call_inner(int number)
{
	inner(number, check_stack);
	asm volatile ("");
}

static void
call_compiled(CompiledFunction function, void (*other) (int))
{
	call_code(function, other, other == call_inner ? 2 : 1);
}

static void
test_compiled_code(void)
{
	CompiledFunction function;

	begin_to_compile();
	function = compile(0, 24, true);
	for (int i = 0; i < 3; i++)
		call_compiled(function, check_stack);
	ok(was_right && was_known, "a stack goes on behind code that was compiled at run time");
	(void) compile(0, 88, true);
	call_compiled(function, check_stack);
	ok(was_right, "also when there is other code at the same place");
	begin_to_compile();
	function = compile(0, 40, true);
	call_compiled(function, check_stack);
	ok(was_right, "or in other memory at the same place");

	inner = compile(128, 104, true);
	function = compile(0, 40, true);
	for (int i = 0; i < 3; i++)
		call_compiled(function, call_inner);
	ok(was_right && was_known, "two such functions can be on a stack");
	function = compile(512, 56, true);
	call_compiled(function, call_inner);
	ok(was_right, "the table is looked for again");

	function = compile(0, 72, true);
	damage_table(0);
	call_compiled(function, check_stack);
	ok(!was_known, "a damaged table has no consequences");
	function = compile(0, 24, false);
	call_compiled(function, check_stack);
	ok(!was_known, "without a table it is left to libunwind");
	begin_to_compile();
	function = compile(0, 24, true);
	for (int i = 0; i < 10 && !was_right; i++)
		call_compiled(function, check_stack);
	ok(was_right, "which has no consequences for long");
	ok(plh_unwind_wrong_stacks == 0, "stacks with compiled code are right when they are compared");
}

/*
 * What is remembered wrongly is seen, counted, and not used again.  With assertions it
 * is the end.
 */
pg_attribute_unused()
static void
test_wrong_memo(void)
{
	PlhStack	stack;
	uintptr_t	address = 0;

	/* volatile: one call, and each stack comes from the same place */
	for (volatile int i = 0; i < 4; i++)
	{
		plh_unwind_capture(&stack, DEPTH, true);
		if (i == 1)
		{
			address = stack.addresses[0];
			ok(stack.known != NULL, "a stack is known when it comes again");
			*(uintptr_t *) stack.addresses ^= 4;
		}
		if (i > 1)
			ok(plh_unwind_wrong_stacks == 1 && stack.known == NULL &&
			   stack.addresses[0] != (address ^ 4),
			   i == 2 ? "one that is remembered wrongly is seen, and counted" :
			   "from then on libunwind alone is asked");
	}
}

#define RULES_IN_USE 500

/*
 * Rules of as many return addresses as transactions of a busy session have: each that
 * gives way to another has to be trusted anew.
 */
static void
test_rules_in_use(void)
{
	uintptr_t	libc = (uintptr_t) qsort;
	int			kept = 0;

	plh_unwind_rules_forget();
	for (int i = 0; i < RULES_IN_USE; i++)
		plh_unwind_rules_find(libc + 17 * i)->is_trusted = true;
	for (int i = 0; i < RULES_IN_USE; i++)
		kept += plh_unwind_rules_find(libc + 17 * i)->is_trusted;
	printf("# %d of %d rules are still known\n", kept, RULES_IN_USE);
	ok(kept >= RULES_IN_USE * 98 / 100, "rules do not push each other out");
	plh_unwind_rules_forget();
}

#endif							/* PLH_HAVE_UNWIND_RULES */

/*
 * Capture stacks at random, of which every other begins with one of the ways.  Jumps
 * leave what they come from, whose words stay on the stack.
 */
static void
test_stacks(void)
{
	static const char *const names[WAYS] = {
		[ON_CONTEXT] = "on the stack of another context",
		[ON_CONTEXT_IN_STACK] = "which may be a part of this one",
		[BY_SIGNAL] = "in signal handlers",
		[BY_SIGNAL_ON_STACK] = "on their own stack",
		[WITHOUT_RULES] = "behind code without rules",
		[BY_EXCEPTION] = "while exceptions are thrown",
	};
	struct itimerval timer = {{0, 300}, {0, 300}};
	int			count = rounds(200000);

	handle_signals();
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (volatile int i = 0; i < count; i++)
	{
		if (sigsetjmp(jump, 1) == 0)
		{
			if (i % 2 == 0)
				go_on(0);
			else
				go_by(i / 2 % WAYS, 0);
		}
		in_capture = false;
		ways_taken = 0;
		if (i % 20000 == 19999)
		{
			in_capture = true;
			plh_stack_memo_forget();
			in_capture = false;
		}
	}
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("# %ld captures, %ld of them known, %ld differences, %ld jumps, %d in signal handlers\n",
		   captures, remembered, differences, jumps, (int) handled);
	ok(differences == 0, "stacks are those that libunwind finds");
	ok(plh_unwind_wrong_stacks == 0, "also those that were compared when used");
#if PLH_HAVE_UNWIND_RULES
	printf("# %u stacks were found again\n", hits);
	ok(remembered > captures / 2, "most of them are known");
	ok(hits > captures / 20, "many come again");
#else
	ok(remembered == 0, "none is known");
#endif
	ok(handled > 10, "some were captured when a timer's signal came");
	for (int way = 0; way < WAYS; way++)
	{
		printf("# %ld captures %s\n", captured_by[way], names[way]);
		ok(captured_by[way] > count / 20, names[way]);
	}
	ok(jumps > count / 100, "and after jumps");
}

int
main(int argc, char **argv)
{
	strlcpy(folder, argv[0], sizeof(folder));
	*strrchr(folder, '/') = '\0';
	plh_modules_start();
	plh_unwind_start();
	own_text_count = 0;			/* nothing here is to be left out */
#if PLH_HAVE_UNWIND_RULES
	test_compiled_code();
	test_rules_in_use();
#endif
	test_stacks();
#ifdef __x86_64__
	test_other_library();		/* libunwind takes longer from here on */
#endif
#if PLH_HAVE_UNWIND_RULES && !defined(USE_ASSERT_CHECKING)
	test_wrong_memo();
#endif
	return tests_end();
}

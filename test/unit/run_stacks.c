/*
 * run_stacks.c
 *	  Compares stacks that are remembered, or walked over by our own rules, with
 *	  those that libunwind finds.
 *
 * The functions here have frames of many kinds, call each other at random, and
 * capture their stacks, also by way of the C library, from a signal handler, on other
 * stacks, while exceptions of C++ are thrown, and again after having jumped out of what
 * they called.  unwind.c is compiled in, so that its memo can be looked into.
 */
#include "postgres.h"

#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

#include "base/modules.h"
#include "base/unwind.c"

#include "stacks.h"
#include "tap.h"

#define MAX_RECURSION 30

char		my_exec_path[MAXPGPATH] = "run_stacks";

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

/* Its frame is aligned, so that it is found by a register. */
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

#if PLH_HAVE_UNWIND_RULES

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
	plh_modules_start();
	plh_unwind_start();
	own_text_count = 0;			/* nothing here is to be left out */
#if PLH_HAVE_UNWIND_RULES
	test_compiled_code();
	test_rules_in_use();
#endif
	test_stacks();
#ifdef __x86_64__
	test_other_library(argv[0]);	/* libunwind takes longer from here on */
#endif
#if PLH_HAVE_UNWIND_RULES && !defined(USE_ASSERT_CHECKING)
	test_wrong_memo();
#endif
	return tests_end();
}

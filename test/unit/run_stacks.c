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

#include "stack/modules.h"
#include "stack/stack_walk.c"
#include "stack/unwind.c"

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
static volatile sig_atomic_t signals;	/* those included that met a capture */

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
	signals++;

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
			   i == 2 ? "a stack that is remembered wrongly is seen, and counted" :
			   "after a wrong stack libunwind alone is asked");
	}
}

#ifdef __x86_64__

/*
 * A function whose last act is a call that does not return, and the next one, which
 * begins right behind the call and has a smaller frame.
 */
extern void ends_with_call(void);
extern char begins_behind_call[];

asm(".text\n"
	"ends_with_call:\n"
	".cfi_startproc\n"
	"subq $88, %rsp\n"
	".cfi_adjust_cfa_offset 88\n"
	"call abort\n"
	".cfi_endproc\n"
	"begins_behind_call:\n"
	".cfi_startproc\n"
	"ret\n"
	".cfi_endproc\n");

/* A return address belongs to the function that calls, even if the next begins there. */
static void
test_last_call(void)
{
	PlhUnwindRule *rule = rule_of((uintptr_t) begins_behind_call);

	ok(rule->kind == PLH_RULE_CALLER && rule->cfa_offset == 96,
	   "the call at a function's end has the rule of that function");
	plh_stack_walk_forget_rules();
}

#endif

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

	plh_stack_walk_forget_rules();
	for (int i = 0; i < RULES_IN_USE; i++)
		rule_of(libc + 17 * i)->is_trusted = true;
	for (int i = 0; i < RULES_IN_USE; i++)
		kept += rule_of(libc + 17 * i)->is_trusted;
	printf("# %d of %d rules are still known\n", kept, RULES_IN_USE);
	ok(kept >= RULES_IN_USE * 98 / 100, "rules do not push each other out");
	plh_stack_walk_forget_rules();
}

#endif							/* PLH_HAVE_UNWIND_RULES */

/* Deep enough that the innermost frames do not tell where the first call was made. */
__attribute__((optimize("no-omit-frame-pointer")))
static pg_noinline void
nested(int level)
{
	if (level == 0)
		capture();
	else
		nested(level - 1);
	asm volatile ("");
}

/* Calls the same from two places. */
__attribute__((optimize("no-omit-frame-pointer")))
static pg_noinline void
call_from_two_places(bool first)
{
	if (first)
	{
		nested(5);
		asm volatile ("nop");
	}
	else
	{
		nested(5);
		asm volatile ("nop; nop");
	}
}

/* Stacks that differ in one return address, beside frame pointers that are the same. */
static void
test_return_addresses(void)
{
	for (volatile int i = 0; i < 200; i++)
		call_from_two_places(draw(2) == 0);
	ok(differences == 0 && plh_unwind_wrong_stacks == 0,
	   "stacks that differ in one return address are told apart");
}

/*
 * Let a signal come once in so many microseconds, if the last one has come.  One that
 * came again and again would leave a slow machine no time for anything else, as each
 * handler captures a stack.
 */
static void
start_timer(int delay_us)
{
	static sig_atomic_t awaited = -1;
	struct itimerval timer = {.it_value = {0, delay_us}};

	if (awaited == signals)
		return;
	awaited = signals;
	setitimer(ITIMER_REAL, &timer, NULL);
}

/*
 * Capture stacks at random, of which every other begins with one of the ways.  Jumps
 * leave what they come from, whose words stay on the stack.
 */
static void
test_stacks(void)
{
	static const char *const names[WAYS] = {
		[ON_CONTEXT] = "stacks are captured on the stack of another context",
		[ON_CONTEXT_IN_STACK] = "stacks are captured on a stack within the stack",
		[BY_SIGNAL] = "stacks are captured in signal handlers",
		[BY_SIGNAL_ON_STACK] = "stacks are captured in signal handlers on their own stack",
		[WITHOUT_RULES] = "stacks are captured behind code without rules",
		[BY_EXCEPTION] = "stacks are captured while exceptions are thrown",
	};
	int			count = rounds(200000);

	handle_signals();
	signal(SIGALRM, handler);
	for (volatile int i = 0; i < count; i++)
	{
		start_timer(300);
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
	signal(SIGALRM, SIG_IGN);
	printf("# %ld captures, %ld of them known, %ld differences, %ld jumps, %d in signal handlers\n",
		   captures, remembered, differences, jumps, (int) handled);
	ok(differences == 0, "stacks are those that libunwind finds");
	ok(plh_unwind_wrong_stacks == 0, "no stack that was compared when used was wrong");
#if PLH_HAVE_UNWIND_RULES
	printf("# %u stacks were found again\n", hits);
	ok(remembered > captures / 2, "most stacks are known");
	ok(hits > captures / 20, "many stacks come again");
#else
	ok(remembered == 0, "no stack is known without rules");
#endif
	ok(handled > 10, "some stacks were captured when a timer's signal came");
	for (int way = 0; way < WAYS; way++)
	{
		printf("# %ld captures: %s\n", captured_by[way], names[way]);
		ok(captured_by[way] > count / 20, names[way]);
	}
	ok(jumps > count / 100, "stacks were captured after jumps");
}

int
main(int argc, char **argv)
{
	plh_modules_refresh();
	plh_unwind_start();
	own_text_count = 0;			/* nothing here is to be left out */
#if PLH_HAVE_UNWIND_RULES
	test_compiled_code();
	test_rules_in_use();
#ifdef __x86_64__
	test_last_call();
#endif
#endif
	test_return_addresses();
	test_stacks();
#ifdef __x86_64__
	test_other_library(argv[0]);	/* libunwind takes longer from here on */
#endif
#if PLH_HAVE_UNWIND_RULES && !defined(USE_ASSERT_CHECKING)
	test_wrong_memo();
#endif
	return tests_end();
}

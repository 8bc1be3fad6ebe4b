/*
 * run_stacks.c
 *	  Compares stacks that are remembered, or walked over by our own rules, with
 *	  those that libunwind finds.
 *
 * The functions here have frames of many kinds, call each other at random, and
 * capture their stacks, also by way of the C library, from a signal handler, and
 * again after having jumped out of what they called.  unwind.c is compiled in, so
 * that its memo can be looked into.
 */
#include "postgres.h"

#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "base/modules.h"
#include "base/unwind.c"

#include "tap.h"

/* Deeper than any stack here is. */
#define DEPTH 90
#define MAX_RECURSION 30

char		my_exec_path[MAXPGPATH] = "run_stacks";

static uint64 state = 88172645463325252;
static long captures;
static long remembered;
static long differences;
static sigjmp_buf jump;
static volatile sig_atomic_t in_capture;
static volatile sig_atomic_t handled;

static uint64
draw(uint64 below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static pg_noinline void capture(void);

/* What lies outwards of the function that captures. */
static int
outer(const PlhStack *stack, const uintptr_t **addresses)
{
	static uintptr_t start,
				end;
	int			i = 0;

	if (start == 0)
		(void) plh_unwind_function_of((uintptr_t) capture, &start, &end);
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
	PlhStack	known;
	PlhStack	found;

	in_capture = true;
	plh_unwind_capture(&known, DEPTH, true);
	capture_all(&found, DEPTH);
	captures++;
	remembered += known.known != NULL;
	known_depth = outer(&known, &known_addresses);
	found_depth = outer(&found, &found_addresses);
	if (known_depth == 0 || known_depth != found_depth ||
		memcmp(known_addresses + 1, found_addresses + 1,
			   (known_depth - 1) * sizeof(uintptr_t)) != 0)
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
			siglongjmp(jump, 1);
		return;
	}
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

int
main(void)
{
	struct itimerval timer = {{0, 300}, {0, 300}};
	long		count = rounds(60000);

	plh_modules_start();
	plh_unwind_start();
	own_text_count = 0;			/* nothing here is to be left out */
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (volatile long i = 0; i < count; i++)
	{
		if (sigsetjmp(jump, 1) == 0)
			go_on(0);
		in_capture = false;
		if (i % 20000 == 19999)
		{
			in_capture = true;
			plh_stack_memo_forget();
			in_capture = false;
		}
	}
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("# %ld captures, %ld of them known, %u hits, %ld differences, %d in signal handlers\n",
		   captures, remembered, hits, differences, (int) handled);
	ok(differences == 0, "stacks are those that libunwind finds");
	ok(!memo_is_off, "also those that were compared when used");
	if (PLH_HAVE_UNWIND_RULES)
	{
		ok(remembered > captures / 2, "most of them are known");
		ok(hits > captures / 20, "many come again");
	}
	ok(handled > 10, "some were captured in signal handlers");
	return tests_end();
}

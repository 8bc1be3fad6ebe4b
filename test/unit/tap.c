/*
 * tap.c
 *	  What all tests share: their results as TAP, and how often they try.
 *
 * A test that tries at random says which try it is at, so that what a sanitizer
 * aborts, or what never ends, can be found again.
 */
#include "postgres.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "tap.h"

/* Seconds of the processor's time after which a try is an endless loop. */
#define TRY_SECONDS 60

/* Not there in tests that are built without a sanitizer. */
void		__sanitizer_set_death_callback(void (*callback) (void)) __attribute__((weak));

static int	tests;
static int	failures;

/* The try that goes on. */
static const char *try_what;
static uint64 try_seed;
static int64 try_number;

/*
 * Count a check.  The first that fails is the last of all if the environment
 * variable UNIT_STOP is set.
 */
void
ok(bool passed, const char *name)
{
	tests++;
	if (!passed)
		failures++;
	printf("%sok %d - %s\n", passed ? "" : "not ", tests, name);
	if (!passed && getenv("UNIT_STOP") != NULL)
		exit(1);
}

void
ok_unbroken(const char *broken, const char *name)
{
	if (broken != NULL)
		printf("# does not hold: %s\n", broken);
	ok(broken == NULL, name);
}

/* What is palloc'd would go with its memory context, and there are none. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "detect_leaks=0:quarantine_size_mb=8";
}

/*
 * So many tries, times what the environment variable UNIT_ROUNDS says.
 */
int
rounds(int count)
{
	const char *factor = getenv("UNIT_ROUNDS");
	double		product = count * (factor != NULL ? atof(factor) : 1.0);

	return (int) Max(1.0, Min(product, (double) PG_INT32_MAX / 2));
}

static void
say_try(void)
{
	fflush(stdout);
	if (try_what != NULL)
		dprintf(STDOUT_FILENO, "# at %s, seed %llu, try %lld\n", try_what,
				(unsigned long long) try_seed, (long long) try_number);
}

static void
on_endless_loop(int signal)
{
	say_try();
	dprintf(STDOUT_FILENO, "Bail out!  A try does not end.\n");
	_exit(1);
}

/*
 * A try begins, and the one before has ended; with NULL, what comes next is no
 * try, and must come to an end as well.
 */
void
try_begins(const char *what, uint64 seed, int64 number)
{
	struct itimerval limit = {.it_value.tv_sec = TRY_SECONDS};

	if (what != NULL && try_what != what)
		printf("# %s with seed %llu\n", what, (unsigned long long) seed);
	/* the limit need not be exact, and a system call for each try takes long */
	if (try_what != what || number % 256 == 0)
	{
		if (__sanitizer_set_death_callback != NULL)
			__sanitizer_set_death_callback(say_try);
		signal(SIGVTALRM, on_endless_loop);
		setitimer(ITIMER_VIRTUAL, &limit, NULL);
	}
	try_what = what;
	try_seed = seed;
	try_number = number;
}

/*
 * The exit status of the tests.
 */
int
tests_end(void)
{
	printf("1..%d\n", tests);
	return failures == 0 ? 0 : 1;
}

/*
 * test_countdown.c
 *	  The way of an allocation up to where a sample would be taken: gaps are used
 *	  up exactly, and requests are looked at in time.
 *
 * The hooks are the real ones; the methods behind them allocate nothing, so that
 * nothing is recorded.
 */
#include "postgres.h"

#include "hooks_under_test.h"
#include "unit_tests.h"

#define SEED 1717

/* A size as programs ask for, a gap's, one beside it, or anything. */
static Size
random_size(pg_prng_state *sizes)
{
	switch (pg_prng_uint64_range(sizes, 0, 9))
	{
		case 0:
			return *countdown_left;
		case 1:
			return *countdown_left + countdown.gap_left;
		case 2:
			return *countdown_left + countdown.gap_left - 1;
		case 3:
			return PLH_COUNTDOWN_MAX + pg_prng_uint64_range(sizes, 0, 2) - 1;
		case 4:
			return pg_prng_uint64(sizes) >> pg_prng_uint64_range(sizes, 0, 63);
		case 5:
			return 0;
		default:
			return pg_prng_uint64_range(sizes, 0, 10000);
	}
}

/* Samples are where a gap of known length ends, and nowhere else. */
static void
test_gaps(void)
{
	pg_prng_state sizes;
	const char *broken = NULL;

	pg_prng_seed(&sizes, SEED);
	pg_prng_seed(&gaps, SEED);
	printf("# gaps with seed %d\n", SEED);
	plh_countdown_rearm();
	allocate_bytes(0);
	for (int i = 0; i < rounds(500000) && broken == NULL; i++)
	{
		Size		size = random_size(&sizes);
		uint64		left = *countdown_left + countdown.gap_left;
		int			draws_before = draws;

		allocate_bytes(size);
		if (size >= left)
		{
			REQUIRE(broken, draws == draws_before + 1);
			REQUIRE(broken, *countdown_left + countdown.gap_left == gap);
		}
		else
		{
			REQUIRE(broken, draws == draws_before);
			REQUIRE(broken, *countdown_left + countdown.gap_left == left - size);
		}
		REQUIRE(broken, *countdown_left <= PLH_COUNTDOWN_MAX);
	}
	printf("# %d gaps\n", draws);
	ok_unbroken(broken, "gaps are used up exactly, whatever the sizes are");
	ok(draws > 1000, "many gaps are used up");
}

/* A signal handler allocates after a step has subtracted, and before it adds again. */
static void
test_signal_in_step(void)
{
	int			draws_before;

	plh_countdown_rearm();
	allocate_bytes(0);
	while (countdown.gap_left > 0)
		allocate_bytes(PLH_COUNTDOWN_MAX);
	draws_before = draws;
	*countdown_left = (uint64) -50;
	(void) plh_countdown_take(&countdown, 200);
	ok(draws == draws_before + 1 && *countdown_left + countdown.gap_left == gap,
	   "what a signal handler allocates meanwhile does not put an end to sampling");
}

/* A signal handler jumps out of a step that has subtracted, so that it adds nothing. */
static void
test_jump_out_of_step(void)
{
	uint64		left;
	int			draws_before;

	plh_countdown_rearm();
	allocate_bytes(0);
	left = *countdown_left;
	plh_countdown_mend();
	ok(*countdown_left == left && !countdown.is_stale,
	   "the end of a transaction changes no countdown");
	*countdown_left -= left + 50;
	draws_before = draws;
	for (int i = 0; i < 10000; i++)
		allocate_bytes(PLH_COUNTDOWN_MAX);
	ok(draws == draws_before, "a countdown that a jump has left below 0 never ends");
	plh_countdown_mend();
	allocate_bytes(0);
	ok(draws == draws_before + 1 && *countdown_left + countdown.gap_left == gap,
	   "the end of a transaction begins a countdown anew");
	plh_sample_interval = 1;
	plh_countdown_rearm();
	allocate_bytes(0);
	(*countdown_left)--;
	plh_countdown_mend();
	ok(plh_countdown_take(&countdown, 1) == 1 && countdown.takes_each,
	   "the end of a transaction makes each allocation a sample again at interval 1");
	plh_sample_interval = 512 * 1024;
}

/* A request is seen before more than a megabyte is allocated. */
static void
test_polls(uint32 interval, const char *name)
{
	pg_prng_state sizes;
	const char *broken = NULL;

	pg_prng_seed(&sizes, SEED);
	plh_sample_interval = interval;
	plh_countdown_rearm();
	for (int i = 0; i < rounds(2000); i++)
	{
		int			polls_before = polls;
		uint64		bytes = 0;

		request_number++;
		while (polls == polls_before && bytes <= PLH_COUNTDOWN_MAX)
		{
			Size		size = pg_prng_uint64_range(&sizes, 0, 20000);

			allocate_bytes(size);
			bytes += size;
		}
		REQUIRE(broken, polls == polls_before + 1);
		allocate_bytes(2 * PLH_COUNTDOWN_MAX);
		REQUIRE(broken, polls == polls_before + 1);
	}
	ok_unbroken(broken, name);
	plh_sample_interval = 512 * 1024;
}

/* Is that what is armed, once a request is looked at? */
static bool
arms(PlhControlRequest asked, uint32 interval, int scope)
{
	request = asked;
	request_number++;
	gap_interval = 0;
	allocate_bytes(PLH_COUNTDOWN_MAX);
	return state.armed_interval == interval && plh_countdown_scope == scope &&
		(interval <= 1 || gap_interval == interval);
}

static void
test_requests(void)
{
	PlhControlRequest none = {.present = false,.sampling = true,.sample_interval = 5};
	PlhControlRequest asked = {.present = true,.sampling = true,
	.sample_interval = 4096,.scope = PLH_SCOPE_LONG_LIVED};

	ok(arms(none, 512 * 1024, PLH_SCOPE_ALL), "without a request the settings count");
	ok(arms(asked, 4096, PLH_SCOPE_LONG_LIVED), "a request arms what it says");
	asked.sample_interval = 0;
	asked.scope = -1;
	ok(arms(asked, 512 * 1024, PLH_SCOPE_ALL),
	   "a request arms the settings where it leaves these open");
	asked.sampling = false;
	ok(arms(asked, 0, PLH_SCOPE_ALL), "a request can stop sampling");
	ok(arms(none, 512 * 1024, PLH_SCOPE_ALL), "the settings count when a request is gone");
	plh_enabled = false;
	ok(arms(none, 0, PLH_SCOPE_ALL), "enabled = off stops sampling");
	asked.sampling = true;
	ok(arms(asked, 512 * 1024, PLH_SCOPE_ALL), "a request starts sampling with enabled = off");
	plh_enabled = true;
	(void) arms(none, 512 * 1024, PLH_SCOPE_ALL);
	plh_countdown_track_all(true);
	allocate_bytes(0);
	ok(state.armed_interval == 1 && plh_countdown_scope == PLH_SCOPE_LONG_LIVED,
	   "a check samples all that is long-lived from the next allocation on");
	plh_countdown_track_all(false);
	allocate_bytes(0);
	ok(state.armed_interval == 512 * 1024, "the settings count when a check ends");
}

/* Every allocation, and none. */
static void
test_intervals(void)
{
	pg_prng_state sizes;
	const char *every = NULL;
	const char *none = NULL;

	pg_prng_seed(&sizes, SEED);
	plh_sample_interval = 1;
	plh_countdown_rearm();
	for (int i = 0; i < 10000; i++)
	{
		REQUIRE(every, plh_countdown_take(&countdown, random_size(&sizes)) == 1);
		REQUIRE(every, *countdown_left == 0 && countdown.gap_left == 0);
	}
	ok_unbroken(every, "at interval 1 every allocation is a sample");
	plh_guard_held = true;
	ok(plh_countdown_take(&countdown, 1) == 0, "our own allocations are no samples at interval 1");
	plh_guard_held = false;
	*countdown_left = (uint64) 0 - 100;
	ok(plh_countdown_take(&countdown, 1) == 1 && *countdown_left == 0,
	   "an allocation is a sample at interval 1 after a signal handler's within a step");
	plh_sample_interval = 512 * 1024;

	plh_enabled = false;
	plh_countdown_rearm();
	draws = 0;
	for (int i = 0; i < 10000; i++)
	{
		REQUIRE(none, plh_countdown_take(&countdown, random_size(&sizes)) == 0);
		REQUIRE(none, *countdown_left <= PLH_COUNTDOWN_MAX && countdown.gap_left == 0);
	}
	REQUIRE(none, draws == 0);
	ok_unbroken(none, "at interval 0 no allocation is a sample");
	plh_enabled = true;
}

/* Does a chunk of that size become a sample in a process that has just begun? */
static bool
is_sampled_at_start(Size size)
{
	state.just_forked = true;
	plh_countdown_rearm();
	(void) plh_countdown_take(&countdown, 0);
	return plh_countdown_take(&countdown, size) != 0;
}

/* The first bytes of a process go without samples, unless they are wanted. */
static void
test_start(void)
{
	pg_prng_state sizes;
	const char *broken = NULL;
	int			large = 0;

	pg_prng_seed(&sizes, SEED);
	for (int i = 0; i < rounds(2000); i++)
	{
		uint64		bytes = 0;
		uint64		most = i % 2 == 0 ? START_BYTES :
			START_BYTES * START_STRETCHES;

		/* every other process is not past its start, by both clocks */
		passed_us = i % 4 == 0 ? START_US : START_US - 1;
		cpu_us = i % 4 == 2 ? START_CPU_US : START_CPU_US - 1;
		plh_countdown_forget();
		state.forked_at_us = 0;
		draws = 0;
		while (draws == 0 && bytes <= most + START_STRETCHES * 50000)
		{
			Size		size = pg_prng_uint64_range(&sizes, 0, 50000);

			/* as a hook does */
			if (size < *countdown_left)
				*countdown_left -= size;
			else
				REQUIRE(broken, plh_countdown_take(&countdown, size) == 0);
			bytes += size;
		}
		REQUIRE(broken, draws == 1 && bytes >= most);
		REQUIRE(broken, plh_countdown_unsampled_bytes() == (int64) bytes);
		REQUIRE(broken, bytes < most + START_STRETCHES * 50000);
		REQUIRE(broken, *countdown_left + countdown.gap_left == gap && !countdown.is_starting);
	}
	ok_unbroken(broken, "what a process allocates first goes without samples");

	for (int i = 0; i < 1000; i++)
		large += is_sampled_at_start(plh_sample_interval);
	ok(large > 0 && large < 1000, "large chunks are samples by chance in a process that starts");
	ok(is_sampled_at_start(SIZE_MAX / 2), "huge chunks are always samples in a process that starts");
	plh_sample_interval = START_INTERVAL - 1;
	(void) is_sampled_at_start(0);
	ok(!countdown.is_starting, "a process with a small interval takes samples from its start");
	plh_sample_interval = 512 * 1024;
	request = (PlhControlRequest)
	{
		.present = true,.sampling = true,.scope = -1
	};
	(void) is_sampled_at_start(0);
	ok(!countdown.is_starting, "a process that somebody asks for samples takes them from its start");
	request.present = false;
	(void) is_sampled_at_start(0);
	ok(countdown.is_starting, "a process without requests starts without samples");
	request.present = true;
	request_number++;
	(void) plh_countdown_take(&countdown, START_INTERVAL);
	ok(!countdown.is_starting && draws > 0, "a process that starts takes samples once somebody asks");
	request.present = false;
	plh_countdown_rearm();
	(void) plh_countdown_take(&countdown, 0);
	ok(!countdown.is_starting, "a process that has taken samples does not start again");
}

/* Allocate through the hook, in pieces of that size. */
static uint64
allocate_pieces(Size size, int count)
{
	for (int i = 0; i < count; i++)
		allocate_bytes(size);
	return (uint64) size * count;
}

/* What a process allocates before its sampling begins is known to the byte. */
static void
test_unsampled(void)
{
	uint64		bytes;

	request.present = false;
	state.counted_from_start = false;
	ok(plh_countdown_unsampled_bytes() == -1,
	   "what was allocated before the module was loaded is not known");
	plh_enabled = false;
	plh_countdown_forget();
	ok(plh_countdown_unsampled_bytes() == 0, "a forked process begins at 0");
	bytes = allocate_pieces(3000, 10000);
	ok(plh_countdown_unsampled_bytes() == (int64) bytes,
	   "what is allocated while sampling is off is unsampled");
	plh_countdown_rearm();
	bytes += allocate_pieces(5 * PLH_COUNTDOWN_MAX, 2);
	bytes += allocate_pieces(700, 3);
	ok(plh_countdown_unsampled_bytes() == (int64) bytes,
	   "large chunks are unsampled over changes of settings");
	(void) plh_countdown_take(&countdown, SIZE_MAX / 2);
	ok(plh_countdown_unsampled_bytes() == (int64) bytes,
	   "a size that no allocator gives is not counted as unsampled");
	plh_enabled = true;
	plh_countdown_rearm();
	(void) allocate_pieces(3000, 1000);
	ok(plh_countdown_unsampled_bytes() == (int64) bytes,
	   "what is allocated once sampling has begun is not unsampled");
	plh_enabled = false;
	plh_countdown_rearm();
	(void) allocate_pieces(3000, 1000);
	ok(plh_countdown_unsampled_bytes() == (int64) bytes,
	   "what is allocated when sampling is off again is not unsampled");
	plh_enabled = true;
	plh_sample_interval = 1;
	plh_countdown_forget();
	(void) allocate_pieces(3000, 1000);
	ok(plh_countdown_unsampled_bytes() == 0, "at interval 1 no byte is unsampled");
	plh_sample_interval = 512 * 1024;
	plh_countdown_forget();
	bytes = allocate_pieces(1000, 100);
	plh_countdown_stop();
	ok(plh_countdown_unsampled_bytes() == (int64) bytes,
	   "the exit of a process that still starts leaves its unsampled bytes");
	plh_guard_held = false;
	plh_countdown_rearm();
}

/* What can't be a size. */
static void
test_garbage(void)
{
	static const Size sizes[] = {
		SIZE_MAX, SIZE_MAX - 1, (Size) 1 << 63, ((Size) 1 << 63) - 1,
		(Size) -16, (Size) 1 << 40
	};
	const char *broken = NULL;

	plh_countdown_rearm();
	allocate_bytes(0);
	for (int i = 0; i < 1000; i++)
	{
		int			draws_before = draws;

		allocate_bytes(sizes[i % lengthof(sizes)]);
		REQUIRE(broken, draws == draws_before + 1);
		REQUIRE(broken, *countdown_left <= PLH_COUNTDOWN_MAX);
		REQUIRE(broken, *countdown_left + countdown.gap_left == gap);
		allocate_bytes(i);
	}
	ok_unbroken(broken, "a size that is garbage does not count up");
	plh_guard_held = true;
	draws = 0;
	for (int i = 0; i < 1000; i++)
		allocate_bytes(PLH_COUNTDOWN_MAX);
	ok(draws == 0, "what the hooks allocate is not counted");
	plh_guard_held = false;
	plh_countdown_stop();
	for (int i = 0; i < 1000; i++)
		allocate_bytes(PLH_COUNTDOWN_MAX);
	plh_countdown_mend();
	ok(draws == 0 && *countdown_left > PG_INT64_MAX, "what an exiting process allocates is not counted");
}

/* How many of the samples are samples of memory of that lifetime, too? */
static int
thinned(int samples, Size size, PlhLifetime lifetime, uint32 interval)
{
	int			kept = 0;

	for (int i = 0; i < samples; i++)
		kept += plh_countdown_thin(size, plh_sample_interval, lifetime) == interval;
	return kept;
}

/* Memory that goes soon has fewer samples, while there is little of it. */
static void
test_thinning(void)
{
	uint32		interval = plh_sample_interval;
	uint32		coarse = PLH_COARSE_FACTOR * interval;
	int			kept;

	plh_countdown_rearm();
	(void) plh_countdown_take(&countdown, 0);
	kept = thinned(8000, 100, PLH_LIFETIME_QUERY, coarse);
	ok(kept > 880 && kept < 1120, "an eighth of the samples of a query's memory is kept");
	ok(thinned(8000, 100, PLH_LIFETIME_QUERY, 0) > 6850, "no other sample of a query's memory is kept");
	ok(thinned(1000, (Size) 20 * coarse, PLH_LIFETIME_TRANSACTION, coarse) == 1000,
	   "all samples of huge chunks are kept");
	ok(thinned(1000, 100, PLH_LIFETIME_SESSION, interval) == 1000,
	   "all samples of a session's memory are kept");
	ok(thinned(1000, 100, PLH_LIFETIME_PROCESS, interval) == 1000, "all samples of malloc's memory are kept");
	plh_profile_counters_held.live_bytes[PLH_LIFETIME_QUERY] = PLH_COARSE_BYTES;
	ok(thinned(1000, 100, PLH_LIFETIME_QUERY, interval) == 1000,
	   "all samples of a query's memory are kept once there is much of it");
	kept = thinned(8000, 100, PLH_LIFETIME_STATEMENT, coarse);
	ok(kept > 880 && kept < 1120, "an eighth of the samples of a statement's memory is kept beside a query's");
	plh_profile_counters_held.live_bytes[PLH_LIFETIME_QUERY] = 0;

	request = (PlhControlRequest)
	{
		.present = true,.sampling = true,.scope = -1
	};
	plh_countdown_rearm();
	(void) plh_countdown_take(&countdown, 0);
	ok(thinned(1000, 100, PLH_LIFETIME_QUERY, interval) == 1000,
	   "all samples are kept where somebody asks for samples");
	request.present = false;
	plh_sample_interval = PLH_COARSE_FROM - 1;
	plh_countdown_rearm();
	(void) plh_countdown_take(&countdown, 0);
	ok(thinned(1000, 100, PLH_LIFETIME_QUERY, PLH_COARSE_FROM - 1) == 1000,
	   "all samples are kept at a smaller interval");
	plh_sample_interval = PG_INT32_MAX;
	plh_countdown_rearm();
	(void) plh_countdown_take(&countdown, 0);
	ok(thinned(1000, 100, PLH_LIFETIME_QUERY, PG_INT32_MAX) == 1000,
	   "all samples are kept at the longest interval");
	plh_sample_interval = interval;
}

static void *
allocate_chunk(PLH_ALLOC_PARAMETERS)
{
	static uint64 chunk[2];

	return chunk + 1;
}

/* Allocate so often, and return how many samples were counted. */
static int64
samples_of(MemoryContext context, int allocations)
{
	int64		before = plh_profile->samples_taken;

	upkeeps = 0;
	for (int i = 0; i < allocations; i++)
		allocate_in(context, 100);
	return plh_profile->samples_taken - before;
}

/* Samples of what passes are counted where only what lasts is kept, and no more. */
static void
test_scope(void)
{
	static MemoryContextData top,
				message;
	int			interval = plh_sample_interval;

	TopMemoryContext = message.parent = &top;
	MessageContext = &message;
	top.name = message.name = "core's";
	originals[PLH_ALLOCSET].alloc = allocate_chunk;
	ok(plh_profile_begin(), "a profile to count in begins");
	plh_scope = PLH_SCOPE_LONG_LIVED;
	plh_sample_interval = 1;
	plh_countdown_rearm();
	ok(samples_of(&message, 1600) == 1600, "samples out of scope are counted");
	ok(upkeeps == 1600 / PLH_UPKEEP_SAMPLES, "upkeep follows one sample of 16");
	ok(plh_profile->counters.total_samples == 0 &&
	   plh_live_samples_watched(&message) == NULL, "samples out of scope are not kept");
	plh_sample_interval = PLH_UPKEEP_INTERVAL;
	plh_countdown_rearm();
	(void) samples_of(&message, 1);
	draws = 0;
	while (draws == 0)
		(void) samples_of(&message, 1);
	ok(upkeeps == 1, "upkeep follows each sample at longer intervals");
	plh_scope = PLH_SCOPE_ALL;
	plh_sample_interval = interval;
	plh_countdown_rearm();
	originals[PLH_ALLOCSET].alloc = allocate_nothing;
	plh_profile_forget();
	plh_profile_counters_forget();
}

/* Malloc has a countdown of its own, and a setting that stops it. */
static void
test_malloc(void)
{
	PlhCountdown of_malloc;
	uint64		left;

	plh_countdown_start(&of_malloc, PLH_COUNTED_MALLOC, &left);
	plh_sample_interval = 1;
	plh_countdown_rearm();
	ok(plh_countdown_take(&of_malloc, 1) == 1 && left == 0,
	   "what malloc allocates is sampled");
	ok(plh_countdown_take(&countdown, 1) == 1, "what contexts allocate is sampled beside malloc");
	plh_track_malloc = false;
	plh_countdown_rearm();
	ok(plh_countdown_take(&of_malloc, 1) == 0 && left == PLH_COUNTDOWN_MAX - 1,
	   "what malloc allocates is not sampled with track_malloc = off");
	ok(plh_countdown_take(&countdown, 1) == 1, "what contexts allocate is sampled with track_malloc = off");
	plh_track_malloc = true;
	plh_sample_interval = 512 * 1024;
	plh_countdown_rearm();
	(void) plh_countdown_take(&countdown, 0);
	gap_interval = 0;
	(void) plh_countdown_take(&of_malloc, 0);
	ok(gap_interval == 512 * 1024 && !of_malloc.is_stale,
	   "malloc and contexts draw gaps anew, whichever comes first");
	countdowns[PLH_COUNTED_MALLOC] = NULL;
}

void
test_countdown(void)
{
	for (int type = 0; type < PLH_CONTEXT_TYPES; type++)
		originals[type] = (PlhMethods)
	{
		.alloc = allocate_nothing,.free_p = free_nothing
	};
	plh_countdown_start(&countdown, PLH_COUNTED_CONTEXTS, countdown_left);
	plh_guard_held = false;
	plh_control_changes = &request_number;
	test_gaps();
#ifdef __x86_64__
	ok(write_near_hooks(near_hooks), "code near the server's takes the place of the hooks");
	plh_countdown_start(&countdown, PLH_COUNTED_CONTEXTS, countdown_left);
	tested_hooks = near_hooks;
	test_gaps();
#endif
	test_signal_in_step();
	test_jump_out_of_step();
	test_polls(512 * 1024, "a request is looked at within a megabyte");
	test_polls(1 << 30, "a request is looked at within a megabyte where gaps are long");
	test_polls(1, "a request is looked at within a megabyte where there are no gaps");
	test_requests();
	test_intervals();
	test_start();
	test_unsampled();
	test_thinning();
	test_scope();
	test_malloc();
	test_garbage();
	plh_control_changes = NULL;
	plh_guard_held = true;
}

/*
 * unit_tests.c
 *	  Tests of the files that run inside palloc, without a server around them.
 *
 * Prints TAP.  What they need of the server is replaced below.
 */
#include "postgres.h"

#include <math.h>
#include <unistd.h>

#include "storage/proc.h"
#include "utils/memutils.h"

#include "chunk_mark.h"
#include "failing_memory.h"
#include "lifetime.h"
#include "live_samples.h"
#include "profile.h"
#include "profile_file.h"
#include "sample_filter.h"
#include "sampling.h"
#include "settings.h"

/* The settings and what else comes from the server. */
PlhFixedSettings plh_fixed = {.max_profile_size = 1024 * 1024};
char		my_exec_path[MAXPGPATH] = "/tested/executable";
MemoryContext TopMemoryContext;
MemoryContext TopTransactionContext;
MemoryContext MessageContext;
MemoryContext ErrorContext;
bool		am_walsender;
PGPROC	   *MyProc;

static TimestampTz statement_start = 1;

TimestampTz
GetCurrentStatementStartTimestamp(void)
{
	return statement_start;
}

void
MemoryContextRegisterResetCallback(MemoryContext context,
								   MemoryContextCallback *callback)
{
	callback->next = context->reset_cbs;
	context->reset_cbs = callback;
}

static int	tests;
static int	failures;

static void
ok(bool passed, const char *name)
{
	tests++;
	if (!passed)
		failures++;
	printf("%sok %d - %s\n", passed ? "" : "not ", tests, name);
}

/* Like a context's reset: calls the callbacks. */
static void
reset_context(MemoryContext context)
{
	while (context->reset_cbs != NULL)
	{
		MemoryContextCallback *callback = context->reset_cbs;

		context->reset_cbs = callback->next;
		callback->func(callback->arg);
	}
}

/* An address that no chunk has. */
static void *
fake_pointer(uint64 i)
{
	return (void *) (uintptr_t) (0x10000 + 16 * i);
}

/*
 * Many estimates of known sums: bias, spread, and how often the truth is
 * within three standard errors and within the error bound.
 */
static void
test_estimates(Size size, int objects, uint32 interval)
{
	enum
	{
		TRIALS = 1000
	};
	pg_prng_state prng;
	double		truth = (double) size * objects;
	double		sum = 0;
	int			within_three = 0;
	int			within_bound = 0;
	char		name[128];

	pg_prng_seed(&prng, 42 + size + interval);
	for (int trial = 0; trial < TRIALS; trial++)
	{
		int64		countdown = plh_sampling_gap(&prng, interval);
		double		bytes = 0;
		double		variance = 0;
		int64		samples = 0;

		for (int i = 0; i < objects; i++)
		{
			if ((countdown -= size) <= 0)
			{
				PlhDraw		draw = plh_sampling_draw(&prng, size, interval);

				bytes += (double) size * plh_sampling_weight(size, draw);
				variance += plh_sampling_variance(size, draw);
				samples++;
				countdown = plh_sampling_gap(&prng, interval);
			}
		}
		sum += bytes;
		within_three += fabs(bytes - truth) <= 3 * sqrt(variance);
		within_bound += fabs(bytes - truth) <=
			plh_sampling_error_bytes(variance, bytes, samples);
	}

	printf("# %d x %zu bytes, interval %u: mean/truth %.4f, within 3 s.e. %.1f%%, within bound %.1f%%\n",
		   objects, size, interval, sum / TRIALS / truth,
		   100.0 * within_three / TRIALS, 100.0 * within_bound / TRIALS);

	/* the mean of 1,000 trials of 100 samples or more each is that precise */
	snprintf(name, sizeof(name), "no bias: %d x %zu at %u", objects, size,
			 interval);
	ok(fabs(sum / TRIALS / truth - 1.0) < 0.012, name);
	snprintf(name, sizeof(name), "within 3 standard errors: %d x %zu at %u",
			 objects, size, interval);
	ok(within_three >= TRIALS * 99 / 100, name);
	snprintf(name, sizeof(name), "within error bound: %d x %zu at %u",
			 objects, size, interval);
	ok(within_bound >= TRIALS * 95 / 100, name);
}

/* Few samples are where a bound of two standard errors would not hold. */
static void
test_bound_of_few_samples(void)
{
	pg_prng_state prng;
	int			shown = 0;
	int			within = 0;

	pg_prng_seed(&prng, 7);
	for (int trial = 0; trial < 10000; trial++)
	{
		int64		countdown = plh_sampling_gap(&prng, 1000);
		double		bytes = 0;
		double		variance = 0;
		int64		samples = 0;

		for (int i = 0; i < 300; i++)
		{
			if ((countdown -= 10) <= 0)
			{
				PlhDraw		draw = plh_sampling_draw(&prng, 10, 1000);

				bytes += 10.0 * plh_sampling_weight(10, draw);
				variance += plh_sampling_variance(10, draw);
				samples++;
				countdown = plh_sampling_gap(&prng, 1000);
			}
		}

		/* without a sample there is no row that could be wrong */
		if (bytes == 0)
			continue;
		shown++;
		within += fabs(bytes - 3000) <=
			plh_sampling_error_bytes(variance, bytes, samples);
	}
	printf("# 3 samples expected: within bound %.1f%%\n",
		   100.0 * within / shown);
	ok(within >= shown * 0.95, "error bound holds for a handful of samples");
}

static void
test_exact_interval(void)
{
	pg_prng_state prng;

	PlhDraw		draw;

	pg_prng_seed(&prng, 1);
	draw = plh_sampling_draw(&prng, 64, 1);
	ok(plh_sampling_gap(&prng, 1) == 0, "interval 1 has no gaps");
	ok(plh_sampling_weight(0, draw) == 1 && plh_sampling_weight(64, draw) == 1,
	   "interval 1 has weight 1");
	ok(plh_sampling_error_bytes(plh_sampling_variance(64, draw), 64, 1) == 0,
	   "interval 1 has no error");

	/* three times the interval is sampled with p = 0.95 */
	draw = plh_sampling_draw(&prng, 3000, 1000);
	ok(plh_sampling_error_bytes(plh_sampling_variance(3000, draw), 3000, 1) > 0,
	   "a chunk larger than the interval is not exact");
	draw = plh_sampling_draw(&prng, 100000, 1000);
	ok(plh_sampling_error_bytes(plh_sampling_variance(100000, draw), 100000, 1) < 1,
	   "one a hundred times larger is, but for a byte");
}

/* Random insertions and removals, against an array. */
static void
test_pointer_table(void)
{
	enum
	{
		POINTERS = 5000
	};
	static bool present[POINTERS];
	PlhPointerTable table;
	pg_prng_state prng;
	uint32		count = 0;
	bool		right = true;

	pg_prng_seed(&prng, 3);
	plh_pointer_table_init(&table, sizeof(PlhPointerEntry), 4096);
	for (int step = 0; step < 400000; step++)
	{
		/* grow for a while, then shrink, and again */
		bool		wants = (step / 50000) % 2 == 0 ?
			pg_prng_uint64_range(&prng, 0, 9) < 7 :
			pg_prng_uint64_range(&prng, 0, 9) < 3;
		int			i = (int) pg_prng_uint64_range(&prng, 0, POINTERS - 1);
		PlhPointerEntry *entry = plh_pointer_table_find(&table,
														fake_pointer(i));

		right &= (entry != NULL) == present[i];
		if (wants && entry == NULL)
		{
			entry = plh_pointer_table_insert(&table, fake_pointer(i));
			right &= (entry != NULL) == (count < 4096);
			if (entry != NULL)
			{
				present[i] = true;
				count++;
			}
		}
		else if (!wants && entry != NULL)
		{
			plh_pointer_table_remove(&table, entry);
			present[i] = false;
			count--;
		}
		right &= table.used_entries == count;
	}
	ok(right, "pointer table agrees with an array, and keeps to its limit");
	plh_pointer_table_discard(&table);
	ok(plh_pointer_table_find(&table, fake_pointer(1)) == NULL &&
	   plh_pointer_table_bytes(&table) == 0, "a discarded table is empty");
}

/* Lifetimes, also where contexts are nested by the thousand. */
static void
test_lifetimes(void)
{
	enum
	{
		LEVELS = 20000
	};
	static MemoryContextData top,
				transaction,
				message,
				error,
				portals,
				cache,
				other;
	static MemoryContextData nested[LEVELS];
	bool		right = true;

	TopMemoryContext = &top;
	TopTransactionContext = &transaction;
	MessageContext = &message;
	ErrorContext = &error;
	top.name = "TopMemoryContext";
	transaction.name = message.name = error.name = cache.name = "core's";
	portals.name = "TopPortalContext";
	other.name = "RowDescriptionContext";
	transaction.parent = message.parent = error.parent = &top;
	portals.parent = cache.parent = other.parent = &top;
	ok(plh_lifetime_of(&top) == PLH_LIFETIME_SESSION &&
	   plh_lifetime_of(&cache) == PLH_LIFETIME_SESSION &&
	   plh_lifetime_of(&transaction) == PLH_LIFETIME_TRANSACTION &&
	   plh_lifetime_of(&message) == PLH_LIFETIME_STATEMENT &&
	   plh_lifetime_of(&error) == PLH_LIFETIME_ERROR &&
	   plh_lifetime_of(&portals) == PLH_LIFETIME_QUERY &&
	   plh_lifetime_of(&other) == PLH_LIFETIME_STATEMENT,
	   "lifetimes of the contexts at the top");

	am_walsender = true;
	ok(plh_lifetime_of(&message) == PLH_LIFETIME_SESSION,
	   "a walsender's message lasts as long as the session");
	am_walsender = false;

	for (int i = 0; i < LEVELS; i++)
	{
		nested[i].name = "nested";
		nested[i].parent = i == 0 ? &portals : &nested[i - 1];
		for (int again = 0; again < 100; again++)
			right &= plh_lifetime_of(&nested[i]) == PLH_LIFETIME_QUERY;
	}
	ok(right, "nested contexts, in a time that does not grow with the depth");

	nested[0].parent = &cache;
	statement_start++;
	right = true;
	for (int i = 0; i < LEVELS; i += 17)
		right &= plh_lifetime_of(&nested[i]) == PLH_LIFETIME_SESSION;
	ok(right, "they have moved, and the next statement knows");
}

/* Reset callback as the hooks have one. */
static void
on_reset(void *arg)
{
	plh_live_samples_drop_context(arg);
}

static uint32
site_of(int i)
{
	PlhStack	stack;
	PlhSiteKey	key = {0};
	char		name[32];

	stack.addresses = stack.buffer;
	stack.depth = 1 + i % 30;
	stack.truncated = false;
	for (int frame = 0; frame < stack.depth; frame++)
		stack.buffer[frame] = 0x1000 * (i % 2000) + frame + 1;
	snprintf(name, sizeof(name), "context %d", i % 10);

	key.stack = plh_profile_stack(&stack);
	key.context_name = plh_profile_string(name, PLH_CONTEXT_NAME_MAX);
	key.statement = plh_profile_statement(i % 3, name);
	if (key.stack == 0 || key.context_name == 0)
		return plh_profile->catch_all_site;
	return plh_profile_site(&key);
}

/* What the hooks do for one sample. */
static bool
record(MemoryContext context, int i)
{
	PlhDraw		exact = {.interval_bytes = 1};
	PlhWatchedContext *watched;
	uint32		site;

	if ((plh_profile == NULL && !plh_profile_begin()) ||
		(watched = plh_live_samples_watch(context)) == NULL)
	{
		plh_profile_lose(PLH_LOSS_LIVE_TABLE, 10, exact);
		return false;
	}
	site = site_of(i);
	if (plh_live_samples_insert(watched, fake_pointer(i), 10, exact, site))
	{
		plh_profile_add(site, 10, exact);
		return true;
	}
	plh_profile_lose(PLH_LOSS_LIVE_TABLE, 10, exact);
	return false;
}

/* Live objects of all sites, as a reader adds them up. */
static int64
live_count_of_sites(void)
{
	PlhProfileHeader *header = plh_profile;
	uint32		offset = MAXALIGN(sizeof(PlhProfileHeader));
	int64		sum = 0;

	while (offset < header->used_bytes)
	{
		PlhRecord  *record = (PlhRecord *) ((char *) header + offset);

		if (record->kind == PLH_RECORD_SITE)
			sum += ((PlhSiteRecord *) record)->counters.live_count;
		offset += record->bytes;
	}
	return sum;
}

static void
forget_all(void)
{
	plh_profile_forget();
	plh_live_samples_forget();
}

/*
 * Samples in three contexts, frees, a reset: with every N from 1 on, the N-th
 * request for memory and all after it fail.
 */
static bool
run_scenario(int fail_at, bool *failed)
{
	enum
	{
		SAMPLES = 6000
	};
	static bool kept[SAMPLES];
	static MemoryContextData contexts[3];
	int64		expected = 0;
	int64		lost = 0;
	int			false_alarms = 0;
	bool		right = true;
	PlhProfileHeader *header;

	memset(contexts, 0, sizeof(contexts));
	memory_requests = 0;
	failing_request = fail_at;
	plh_live_samples_start(1 << 20, on_reset);

	for (int i = 0; i < SAMPLES; i++)
	{
		kept[i] = record(&contexts[i % 3], i);
		lost += !kept[i];
		expected += kept[i];
	}
	for (int i = 0; i < SAMPLES; i += 7)
	{
		plh_live_samples_remove(fake_pointer(i));
		expected -= kept[i];
		kept[i] = false;
	}
	reset_context(&contexts[1]);
	for (int i = 1; i < SAMPLES; i += 3)
	{
		expected -= kept[i];
		kept[i] = false;
	}
	for (int i = 0; i < SAMPLES; i++)
	{
		bool		may_be = plh_sample_filter_has(fake_pointer(i));

		right &= PLH_MARKS_CHUNKS || !kept[i] || may_be;
		false_alarms += !kept[i] && may_be;
	}

	/* a tenth of the filter's bits are set by those that are left */
	right &= false_alarms < SAMPLES / 5;

	header = plh_profile;
	if (header != NULL)
	{
		right &= header->counters.live_count == expected &&
			header->counters.live_samples == expected &&
			live_count_of_sites() == expected;
		right &= header->lost_samples[PLH_LOSS_LIVE_TABLE] <= lost &&
			header->samples_taken == SAMPLES;
	}
	else
		right &= expected == 0;

	reset_context(&contexts[0]);
	reset_context(&contexts[2]);
	right &= header == NULL || header->counters.live_count == 0;

	*failed = fail_at != 0 && memory_requests >= fail_at;
	failing_request = 0;
	forget_all();
	return right;
}

/* What is in the filter is found, and a bit goes with the last that has it. */
static void
test_sample_filter(void)
{
	enum
	{
		POINTERS = 100000
	};
	bool		found = plh_sample_filter_start();
	int			left = 0;

	for (int i = 0; i < POINTERS; i++)
		plh_sample_filter_add(fake_pointer(i));
	for (int i = 0; i < POINTERS; i++)
	{
		found &= plh_sample_filter_has(fake_pointer(i));
		plh_sample_filter_remove(fake_pointer(i));
	}
	ok(found, "the filter has what was added and not yet removed");
	for (int i = 0; i < POINTERS; i++)
		left += plh_sample_filter_has(fake_pointer(i));
	ok(left == 0, "the filter is empty when all was removed");

	plh_sample_filter_add(fake_pointer(0));
	plh_sample_filter_clear();
	ok(!plh_sample_filter_has(fake_pointer(0)) &&
	   plh_sample_filter_bytes() == 0, "the filter can be cleared");
}

static void
test_failing_memory(void)
{
	bool		failed = true;
	bool		right = true;
	int			fail_at = 0;

	ok(run_scenario(0, &failed), "live samples and sites add up");
	failed = true;
	while (failed && right)
	{
		fail_at++;
		right = run_scenario(fail_at, &failed);
		if (!right)
			printf("# with request %d failing\n", fail_at);
	}
	printf("# failed each of %d requests for memory\n", fail_at - 1);
	ok(right && fail_at > 10, "nothing breaks, whichever request for memory fails");
}

/* Sites beyond the size of the profile go to the catch-all site. */
static void
test_full_profile(void)
{
	static MemoryContextData context;
	PlhProfileHeader *header;
	int64		catch_all;

	plh_fixed.max_profile_size = 128 * 1024;
	plh_live_samples_start(1 << 20, on_reset);
	for (int i = 0; i < 5000; i++)
		(void) record(&context, i);
	header = plh_profile;
	catch_all = ((PlhSiteRecord *) ((char *) header +
									header->catch_all_site))->counters.live_count;
	ok(header->counters.live_count == 5000 && live_count_of_sites() == 5000,
	   "a full profile loses nothing of the total");
	ok(catch_all > 0 && catch_all < 5000 &&
	   header->lost_samples[PLH_LOSS_PROFILE] == catch_all,
	   "what has no room is counted, and at the catch-all site");
	reset_context(&context);
	forget_all();
	plh_fixed.max_profile_size = 1024 * 1024;
}

/* The file holds what the memory does, and grows with it. */
static void
test_profile_file(void)
{
	static MemoryContextData context;
	char		path[] = "/tmp/plh_unit_XXXXXX";
	char		temporary[64];
	char		start[sizeof(PlhProfileHeader)];
	PlhProfileHeader *header;
	FILE	   *file;

	close(mkstemp(path));
	snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	unlink(path);
	plh_live_samples_start(1 << 20, on_reset);
	(void) record(&context, 1);
	header = plh_profile;
	ok(plh_profile_file_publish(path, temporary), "profile is published");
	for (int i = 2; i < 3000; i++)
		(void) record(&context, i);
	ok(plh_profile == header &&
	   header->counters.live_count == 2999 &&
	   header->used_bytes > PLH_REGION_STEP,
	   "a published profile grows in place");

	file = fopen(path, "r");
	ok(file != NULL && fread(start, sizeof(start), 1, file) == 1 &&
	   memcmp(start, header, sizeof(start)) == 0,
	   "another process sees the same");
	if (file != NULL)
		fclose(file);
	plh_profile_file_unlink();
	ok(access(path, F_OK) != 0, "file is gone when it should be");
	ok(!plh_profile_file_publish("/nonexistent/1", "/nonexistent/2"),
	   "no directory, no file");
	ok(record(&context, 3001), "and sampling goes on without one");
	reset_context(&context);
	forget_all();
}

int
main(void)
{
	test_estimates(64, 200000, 64 * 1024);
	test_estimates(8321, 2000, 64 * 1024);
	test_estimates(8, 20000, 2);
	test_estimates(2, 20000, 2);
	test_estimates(1000, 1000, 1500);
	test_estimates(100000, 400, 300000);
	test_estimates(100000, 400, 30000);
	test_bound_of_few_samples();
	test_exact_interval();
	test_pointer_table();
	test_lifetimes();
	test_sample_filter();
	test_failing_memory();
	test_full_profile();
	test_profile_file();
	printf("1..%d\n", tests);
	return failures == 0 ? 0 : 1;
}

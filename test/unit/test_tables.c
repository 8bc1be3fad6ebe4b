/*
 * test_tables.c
 *	  The tables that tell which pointers are samples.
 */
#include "postgres.h"

#include "common/pg_prng.h"

#include "base/pointer_table.h"
#include "sampler/sample_filter.h"
#include "unit_tests.h"

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
	Size		before = plh_private_memory_bytes();
	uint32		count = 0;
	const char *broken = NULL;

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

		REQUIRE(broken, (entry != NULL) == present[i]);
		if (wants && entry == NULL)
		{
			entry = plh_pointer_table_insert(&table, fake_pointer(i));
			REQUIRE(broken, (entry != NULL) == (count < 4096));
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
		REQUIRE(broken, table.used_entries == count);
	}
	ok_unbroken(broken,
				"a pointer table agrees with an array, and keeps to its limit");
	plh_pointer_table_discard(&table);
	ok(plh_pointer_table_find(&table, fake_pointer(1)) == NULL,
	   "a discarded table is empty");
	ok(plh_private_memory_bytes() == before, "a discarded table has no memory");
}

/* What is in the filter is found, and a bit goes with the last that has it. */
static void
test_sample_filter(void)
{
	enum
	{
		POINTERS = 100000
	};
	Size		before = plh_private_memory_bytes();
	bool		found = plh_sample_filter_start();
	int			left = 0;
	int			near = 0;
	int			wrong = 0;

	for (int i = 0; i < POINTERS; i++)
		plh_sample_filter_add(fake_pointer(i));
	for (int i = 0; i < POINTERS; i++)
	{
		found &= plh_sample_filter_has(fake_pointer(i));
		plh_sample_filter_remove(fake_pointer(i));
	}
	ok(found, "the filter has what was added and not yet removed");
	plh_sample_filter_add(fake_pointer(0));
	for (int i = 1; i < POINTERS; i++)
	{
		bool		same_byte = plh_filter_bit(fake_pointer(i)) / 8 ==
			plh_filter_bit(fake_pointer(0)) / 8;

		near += plh_sample_filter_is_near(fake_pointer(i));
		wrong += plh_sample_filter_is_near(fake_pointer(i)) != same_byte;
	}
	ok(near > 0 && wrong == 0, "what shares its byte with a sample is near one");
	plh_sample_filter_remove(fake_pointer(0));
	for (int i = 0; i < POINTERS; i++)
		left += plh_sample_filter_has(fake_pointer(i));
	ok(left == 0, "the filter is empty when all was removed");

	plh_sample_filter_add(fake_pointer(0));
	plh_sample_filter_clear();
	ok(!plh_sample_filter_has(fake_pointer(0)), "the filter of samples is empty when it is cleared");
	ok(plh_private_memory_bytes() == before, "the filter of samples has no memory when it is cleared");
}

static void *
random_pointer(pg_prng_state *prng)
{
	return fake_pointer(pg_prng_uint64(prng) >> 24);
}

/* What else is taken for a sample, by chance. */
static void
test_false_alarms(void)
{
	enum
	{
		TRIALS = 100000,
		SAMPLES = (1 << PLH_FILTER_BITS) / 10
	};
	pg_prng_state prng;
	int			alarms = 0;

	pg_prng_seed(&prng, 5);
	(void) plh_sample_filter_start();
	for (int i = 0; i < SAMPLES; i++)
		plh_sample_filter_add(random_pointer(&prng));
	for (int i = 0; i < TRIALS; i++)
		alarms += plh_sample_filter_has(random_pointer(&prng));
	plh_sample_filter_clear();

	/* a bit has none of the samples with a probability of exp(-1/10) */
	printf("# %.2f%% false alarms\n", 100.0 * alarms / TRIALS);
	ok(alarms > TRIALS * 0.09 && alarms < TRIALS * 0.10,
	   "a filter with a tenth of its bits set takes a tenth of other chunks for samples");
}

void
test_tables(void)
{
	test_pointer_table();
	test_sample_filter();
	test_false_alarms();
}

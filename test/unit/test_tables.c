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
	   plh_private_memory_bytes() == before, "a discarded table is empty");
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
	   plh_private_memory_bytes() == before, "the filter can be cleared");
}

void
test_tables(void)
{
	test_pointer_table();
	test_sample_filter();
}

/*
 * test_node_bound.c
 *	  Bounds of nodes by settings: what they must allow for.
 */
#include "postgres.h"

#include "plan/node_bound.h"

#include "unit_tests.h"

#define KB INT64CONST(1024)
#define MB (1024 * KB)

static void
test_sorts(void)
{
	ok(plh_node_bound_sort(64 * KB) >= 64 * KB + 7 * BLCKSZ,
	   "a small sort has buffers of six tapes and one to write");
	ok(plh_node_bound_sort(1024 * MB) < 1024 * MB + 1024 * MB / 16,
	   "those of a large one are a small part of it");
	ok(plh_node_bound_rows(MB) > MB && plh_node_bound_rows(MB) < MB + 100 * KB,
	   "rows that are kept have one file");
}

/* Of 4 MB there are 65,536 pages, in an array of 131,072 places, with the former one beside. */
static void
test_bitmaps(void)
{
	int64		bytes = plh_node_bound_bitmap(4 * MB);

	ok(bytes >= 131072 * 48 * 3 / 2 + 65536 * 8 && bytes < 11 * MB,
	   "a bitmap may have its array twice while that grows");
	ok(plh_node_bound_bitmap(64 * KB) >= 2048 * 48 * 3 / 2, "also a small one");
}

static void
test_hashes(void)
{
	ok(plh_node_bound_aggregate(8 * MB, 1) >= 16 * MB + 256 * BLCKSZ,
	   "a hashed aggregate has twice its limit, and files");
	ok(plh_node_bound_aggregate(8 * MB, 3) - plh_node_bound_aggregate(8 * MB, 2) >= 256 * BLCKSZ,
	   "each grouping set has files of its own");
	ok(plh_node_bound_memoize(MB) >= 2 * MB, "Memoize does not count headers");
	ok(plh_node_bound_batches(1) == 32 && plh_node_bound_batches(64) == 512 &&
	   plh_node_bound_batches(PG_INT32_MAX) == PG_INT32_MAX, "there may be more batches than planned");
	ok(plh_node_bound_batch_files(32, false) >= 32 * BLCKSZ &&
	   plh_node_bound_batch_files(32, true) >= 32 * 5 * BLCKSZ,
	   "each batch has a buffer, and a chunk where workers share it");
}

static void
test_shared(void)
{
	ok(plh_node_bound_shared_hash(4 * MB, 3) >= 12 * MB + 12 * MB / 2,
	   "a shared table has the memory of all, and buckets");
	ok(plh_node_bound_segments(1) == MB && plh_node_bound_segments(2 * MB) == 3 * MB &&
	   plh_node_bound_segments(20 * MB) == 21 * MB && plh_node_bound_segments(22 * MB) == 29 * MB,
	   "segments are of 1 MB, and twice two of each size");
	ok(plh_node_bound_segments(0) == 0, "without shared memory there is none");
	ok(plh_node_bound_queues(2) >= 2 * 80 * KB, "each worker has queues");
}

void
test_node_bound(void)
{
	test_sorts();
	test_bitmaps();
	test_hashes();
	test_shared();
}

/*
 * node_bound.c
 *	  How much memory the nodes of a plan may take in one process, by what limits them.
 *
 * The executor counts what it limits, but not all of it, and some of it after it was allocated.
 * What comes on top is said at each function: it is a matter of how the executor works, and was
 * read in its source (15 to 18).  Each is tested against what nodes held.
 */
#include "postgres.h"

#include "plan/node_bound.h"

#define KB INT64CONST(1024)

/* A temporary file that is open: its buffer, and the chunks around it. */
#define FILE_BYTES (BLCKSZ + 1 * KB)

/* What a node has beside, such as the state of a comparison, and a row that comes on top. */
#define BESIDE_BYTES (64 * KB)

/* What the files of a batch have where workers share them: a chunk of 4 pages, too. */
#define SHARED_FILE_BYTES (FILE_BYTES + 4 * BLCKSZ + 1 * KB)

/* Tapes of a sort, by tuplesort_merge_order. */
#define TAPES_LEAST 6
#define TAPES_MOST 500
#define TAPE_PART_BYTES (34 * BLCKSZ)

/* A page of rows in a bitmap, with its places in two arrays. */
#define BITMAP_ENTRY_BYTES 48
#define BITMAP_COUNTED_BYTES (BITMAP_ENTRY_BYTES + 16)

/* Hash tables of simplehash.h are filled to nine tenths, and double. */
static int64
array_places(int64 entries)
{
	int64		places = 16;

	while (places * 9 < entries * 10)
		places *= 2;
	return places;
}

/*
 * What is sorted is counted, a row after it was copied.  Where nearly all of it is the array, as of
 * single numbers, a buffer for each tape comes on top.
 */
int64
plh_node_bound_sort(int64 work_bytes)
{
	int64		tapes = Min(Max(work_bytes / TAPE_PART_BYTES, TAPES_LEAST), TAPES_MOST);

	return work_bytes + (tapes + 2) * FILE_BYTES + BESIDE_BYTES;
}

int64
plh_node_bound_rows(int64 work_bytes)
{
	return work_bytes + FILE_BYTES + BESIDE_BYTES;
}

/*
 * The number of pages is limited.  They lie in an array that doubles, and for that moment there
 * are the old and the new one.
 */
int64
plh_node_bound_bitmap(int64 work_bytes)
{
	int64		entries = Max(work_bytes / BITMAP_COUNTED_BYTES, 16);
	int64		array_bytes = array_places(entries + 1) * BITMAP_ENTRY_BYTES;

	return array_bytes + array_bytes / 2 + entries * sizeof(void *) + BESIDE_BYTES;
}

/*
 * All sets together are limited, when a group has been added.  The array of groups may double then,
 * beside the old one: it is at most half of what there was.  From then on each set has files for
 * groups that do not fit: buffers of a quarter of the limit, rounded up to a power of two.
 */
int64
plh_node_bound_aggregate(int64 hash_bytes, int sets)
{
	int64		files = 4;

	while (files * BLCKSZ < hash_bytes / 4 && files < 1024)
		files *= 2;
	return 2 * hash_bytes + sets * files * FILE_BYTES + BESIDE_BYTES;
}

/* Rows are counted without headers and rounding, which double small ones, and without the array. */
int64
plh_node_bound_memoize(int64 hash_bytes)
{
	return hash_bytes / 2 * 5 + BESIDE_BYTES;
}

/*
 * Batches double while the larger table does not fit: what the planner expects may be wrong.  With
 * more than eight times as many rows as planned there are more of them.
 */
int
plh_node_bound_batches(int planned)
{
	return Max(planned, 4) > PG_INT32_MAX / 8 ? PG_INT32_MAX : 8 * Max(planned, 4);
}

int64
plh_node_bound_batch_files(int batches, bool is_shared)
{
	return (int64) batches * (is_shared ? SHARED_FILE_BYTES : FILE_BYTES) + BESIDE_BYTES;
}

/* Rows are counted, with the array, but not what the last two chunks of 32 kB have free. */
int64
plh_node_bound_hash(int64 table_bytes)
{
	return table_bytes + 2 * 32 * KB + BESIDE_BYTES;
}

/*
 * Rows are counted, the array of buckets is not: two for each row, which takes 40 bytes at least,
 * and half as many of the former array while it is moved.
 */
int64
plh_node_bound_shared_hash(int64 hash_bytes, int processes)
{
	int64		rows_bytes = hash_bytes * processes;

	return rows_bytes + rows_bytes / 40 * 24 + processes * BESIDE_BYTES;
}

/* A queue of 64 kB for rows and one of 16 kB for messages; the plan, and settings. */
int64
plh_node_bound_queues(int workers)
{
	return (int64) workers * 80 * KB + 256 * KB;
}

/* Segments of 1 MB, 2, 2, 4, 4, 8, 8 and so on, until all has room, with a page in 512 for each. */
int64
plh_node_bound_segments(int64 bytes)
{
	int64		needed = bytes + bytes / 256;
	int64		all = 0;

	for (int number = 1; all < needed; number++)
		all += (1024 * KB) << (number / 2);
	return all;
}

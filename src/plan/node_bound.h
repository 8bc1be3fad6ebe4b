/*
 * node_bound.h
 *	  How much memory the nodes of a plan may take in one process, by what limits them.
 *
 * Bytes are those of chunks, with headers and rounding.  What blocks have behind their last chunk
 * was never written to, and takes no memory.  Each bound allows for what the executor does not
 * count, and for a row of some 32 kB beyond.
 *
 * Pure functions of figures, without a server.  Never called inside palloc.
 */
#pragma once

/* By work_mem: a sort, rows that are kept, a bitmap of rows. */
extern int64 plh_node_bound_sort(int64 work_bytes);
extern int64 plh_node_bound_rows(int64 work_bytes);
extern int64 plh_node_bound_bitmap(int64 work_bytes);

/*
 * By work_mem * hash_mem_multiplier: the tables of a hashed aggregate, of which each grouping set
 * has one, and of Memoize.
 */
extern int64 plh_node_bound_aggregate(int64 hash_bytes, int sets);
extern int64 plh_node_bound_memoize(int64 hash_bytes);

/* How many batches are allowed for where a hash join is planned with some. */
extern int	plh_node_bound_batches(int planned);

/*
 * What a hash join has beside its table, for the files of these batches of one of its sides.  Where
 * workers share the table, each process has larger buffers.
 */
extern int64 plh_node_bound_batch_files(int batches, bool is_shared);

/* The hash table of one process, to which the planner allows so much. */
extern int64 plh_node_bound_hash(int64 table_bytes);

/* The queues of the workers of a Gather, and what else they share with their leader. */
extern int64 plh_node_bound_queues(int workers);

/* The tables that processes share, in all; and the segments of shared memory for so much. */
extern int64 plh_node_bound_shared_hash(int64 hash_bytes, int processes);
extern int64 plh_node_bound_segments(int64 bytes);

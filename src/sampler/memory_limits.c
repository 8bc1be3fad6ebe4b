/*
 * memory_limits.c
 *	  What the settings of the process allow a statement to take, and its planner to consider.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "postmaster/autovacuum.h"
#include "replication/reorderbuffer.h"

#include "base/settings.h"
#include "sampler/memory_limits.h"

/* What an index build or VACUUM may take in kB: autovacuum may have a setting of its own. */
static int
maintenance_kb(void)
{
	return MyBackendType == B_AUTOVAC_WORKER && autovacuum_work_mem >= 0 ?
		autovacuum_work_mem : maintenance_work_mem;
}

/* Note what settings have the planner consider. */
static void
note_planner(PlhProfileHeader *header)
{
	header->planner_settings =
		(enable_partitionwise_aggregate ? PLH_PLANS_PARTITIONWISE_AGGREGATES : 0) |
		(enable_geqo ? PLH_PLANS_BY_GEQO : 0);
	header->join_collapse_limit = join_collapse_limit;
	header->from_collapse_limit = from_collapse_limit;
	header->geqo_threshold = geqo_threshold;
}

/*
 * Note what the settings allow: a sort and a node of a plan, an index build or what else maintains
 * a table, and a decoding of the log.  A statement that follows a SET at once may hold much before
 * the next census.
 */
void
plh_memory_limits_note(PlhProfileHeader *header)
{
	header->sort_memory_bytes = (int64) 1024 * work_mem;
	header->node_memory_bytes = (int64) (work_mem * 1024.0 * Max(1.0, hash_mem_multiplier));
	header->maintenance_bytes = (int64) 1024 * maintenance_kb();
	header->decoding_bytes = (int64) 1024 * logical_decoding_work_mem;
	header->limit_bytes = (int64) plh_process_memory_limit;
	note_planner(header);
}

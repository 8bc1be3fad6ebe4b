/*
 * plan_result.c
 *	  What the nodes of a plan held that was watched, also in its parallel workers.
 *
 * The memory has a row for each number that a worker may have, with each node.  Of workers of two
 * Gathers the nodes differ, and of those that a Gather starts one after the other the most counts.
 * Totals are shared by workers of several Gathers, and change under a lock.
 *
 * The handle lies in the file of requests, in the place of the leader's pid.  A statement that a
 * function of the leader runs may have workers, too: they have another text.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/parallel.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/dsm.h"
#include "storage/proc.h"
#include "storage/spin.h"

#include "plan/plan_result.h"
#include "profile/profile.h"
#include "profile/profile_image.h"
#include "sampler/control_file.h"

/* Workers of a plan for which more would be needed are not told of. */
#define MAX_BYTES (4 * 1024 * 1024)

typedef struct SharedPlan
{
	slock_t		mutex;			/* of the totals */
	uint32		statement_hash;
	int			ids;
	int			workers;		/* rows */
	PlhWorkerTotal totals[PLH_PLAN_WORKERS_MAX];
	PlhWorkerNode nodes[FLEXIBLE_ARRAY_MEMBER]; /* by worker, then by id */
} SharedPlan;

static dsm_segment *segment;	/* NULL: none is attached */
static SharedPlan *shared;

static PlhControlPlan *
place_of(int pid)
{
	return &plh_control_file->plans[pid % PLH_CONTROL_PLANS];
}

static uint32
hash_of(const char *statement)
{
	return statement == NULL ? 0 : hash_bytes((const unsigned char *) statement, strlen(statement));
}

static void
announce(void)
{
	PlhControlPlan *place = place_of((int) getpid());

	pg_atomic_write_u32(&place->pid, 0);
	pg_write_barrier();
	pg_atomic_write_u32(&place->segment, dsm_segment_handle(segment));
	pg_write_barrier();
	pg_atomic_write_u32(&place->pid, (uint32) getpid());
}

bool
plh_plan_result_offer_to_workers(int ids, const char *statement)
{
	int			workers = Min(max_parallel_workers, PLH_PLAN_WORKERS_MAX);
	Size		bytes = offsetof(SharedPlan, nodes) + sizeof(PlhWorkerNode) * (Size) ids * workers;

	Assert(segment == NULL);
	if (plh_control_file == NULL || bytes > MAX_BYTES)
		return false;
	segment = dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (segment == NULL)
		return false;
	dsm_pin_mapping(segment);
	shared = dsm_segment_address(segment);
	memset(shared, 0, bytes);
	SpinLockInit(&shared->mutex);
	shared->statement_hash = hash_of(statement);
	shared->ids = ids;
	shared->workers = workers;
	announce();
	return true;
}

static void
detach(void)
{
	dsm_segment *attached = segment;

	segment = NULL;
	shared = NULL;
	if (attached != NULL)
		dsm_detach(attached);
}

void
plh_plan_result_withdraw_offer(void)
{
	uint32		own_pid = (uint32) getpid();

	if (segment == NULL)
		return;
	(void) pg_atomic_compare_exchange_u32(&place_of((int) own_pid)->pid, &own_pid, 0);
	detach();
}

/* The handle of the memory that the leader offers; DSM_HANDLE_INVALID: none. */
static dsm_handle
find_offer(int leader)
{
	PlhControlPlan *place = place_of(leader);
	dsm_handle	handle;

	if (pg_atomic_read_u32(&place->pid) != (uint32) leader)
		return DSM_HANDLE_INVALID;
	pg_read_barrier();
	handle = pg_atomic_read_u32(&place->segment);
	pg_read_barrier();
	return pg_atomic_read_u32(&place->pid) == (uint32) leader ? handle : DSM_HANDLE_INVALID;
}

bool
plh_plan_result_join_leader(const char *statement)
{
	dsm_handle	handle;

	if (plh_control_file == NULL || MyProc->lockGroupLeader == NULL ||
		(handle = find_offer(MyProc->lockGroupLeader->pid)) == DSM_HANDLE_INVALID ||
		(segment = dsm_attach(handle)) == NULL)
		return false;
	dsm_pin_mapping(segment);
	shared = dsm_segment_address(segment);
	if (shared->statement_hash == hash_of(statement) && ParallelWorkerNumber < shared->workers)
		return true;
	detach();
	return false;
}

static void
tell_node(int id)
{
	uint32		place = PLH_PLAN_PLACE(id);
	const PlhPlanNode *node = &plh_plan_nodes[place];
	PlhWorkerNode *told = &shared->nodes[ParallelWorkerNumber * shared->ids + id];

	if (node->highest.bytes <= told->highest.bytes)
		return;
	told->at_peak = plh_plan_nodes_at_peak(place);
	told->highest = node->highest;
}

void
plh_plan_result_tell_leader(void)
{
	PlhWorkerTotal *total;
	PlhPlanFigures figures = plh_plan_nodes_figures();

	if (segment == NULL)
		return;
	for (int id = 0; id < shared->ids && PLH_PLAN_PLACE(id) < figures.count; id++)
		tell_node(id);
	total = &shared->totals[ParallelWorkerNumber];
	SpinLockAcquire(&shared->mutex);
	total->runs++;
	if (figures.peak.bytes > total->peak.bytes)
		total->peak = figures.peak;
	SpinLockRelease(&shared->mutex);
	detach();
}

static void
add_amount(PlhPlanAmount *sum, const PlhPlanAmount *amount)
{
	sum->bytes += amount->bytes;
	sum->samples += amount->samples;
	sum->variance += amount->variance;
}

/* What these bytes of chunks of a site take beyond that; 0 where the site is gone. */
static int64
spare_of(uint32 offset, int64 bytes)
{
	const PlhSiteRecord *site = plh_profile == NULL ? NULL :
		plh_profile_image_site(plh_profile_image_own(plh_profile), offset);

	return site == NULL ? 0 : (int64) ((double) bytes * plh_site_spare_part(site));
}

/* Add to a node what it held at a site. */
static void
add_part(PlhNodeResult *node, PlhNodePart *part, uint32 site, int64 bytes)
{
	node->spare_bytes += spare_of(site, bytes);
	part->site = site;
	part->bytes = bytes;
	part->next = node->parts;
	node->parts = part;
	if (bytes > node->top_bytes)
	{
		node->top_bytes = bytes;
		node->top_site = site;
	}
}

/* Take which sites had what each node held when that was most. */
static void
take_sites(PlhPlanResult *result, uint32 parts)
{
	PlhNodePart *taken = palloc_extended(sizeof(PlhNodePart) * Max(parts, 1), MCXT_ALLOC_HUGE);

	for (uint32 i = 0; i < parts; i++)
	{
		int64		bytes;
		const PlhPlanPart *part = plh_plan_nodes_part(i, &bytes);

		if (part->entry.user >= PLH_STAGES && bytes > 0)
			add_part(&result->nodes[part->entry.user - PLH_STAGES], &taken[i], part->site, bytes);
	}
}

static void
take_nodes(PlhPlanResult *result, uint32 count)
{
	for (uint32 place = 0; place < count; place++)
	{
		PlhPlanAmount at_peak = plh_plan_nodes_at_peak(place);

		if (place < PLH_STAGES)
			result->stages[place] = at_peak;
		else
		{
			PlhNodeResult *node = &result->nodes[place - PLH_STAGES];

			node->at_peak = at_peak;
			node->highest = plh_plan_nodes[place].highest;
			add_amount(&result->in_nodes, &at_peak);
		}
	}
}

static void
take_worker(PlhWorkerResult *worker, int number, int ids)
{
	PlhWorkerNode *nodes;

	if (segment == NULL || number >= shared->workers || shared->totals[number].runs == 0)
		return;
	worker->total = shared->totals[number];
	nodes = palloc0(sizeof(PlhWorkerNode) * Max(ids, 1));
	memcpy(nodes, &shared->nodes[number * shared->ids],
		   sizeof(PlhWorkerNode) * Min(ids, shared->ids));
	worker->nodes = nodes;
}

PlhPlanResult *
plh_plan_result_take(const PlannedStmt *plan, const PlhPlanTree *tree, bool lacks_workers)
{
	PlhPlanResult *result = palloc0(sizeof(PlhPlanResult));

	result->plan = plan;
	result->tree = tree;
	result->figures = plh_plan_nodes_figures();
	result->nodes = palloc0(sizeof(PlhNodeResult) * Max(tree->ids, 1));
	result->lacks_workers = lacks_workers;
	take_nodes(result, result->figures.count);
	take_sites(result, result->figures.parts);
	for (int i = 0; i < PLH_PLAN_WORKERS_MAX; i++)
		take_worker(&result->workers[i], i, tree->ids);
	return result;
}

/*
 * plan_workers.c
 *	  What parallel workers tell their leader of the nodes that they ran.
 *
 * The memory has a row for each number that a worker may have, with each node.  Of
 * workers of two Gathers the nodes differ, and of those that a Gather starts one after
 * the other the most counts.  Totals are shared by workers of several Gathers, and
 * change under a lock.
 *
 * The handle lies in the file of requests, in the place of the leader's pid.  A
 * statement that a function of the leader runs may have workers, too: they have
 * another text.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/parallel.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/dsm.h"
#include "storage/proc.h"
#include "storage/spin.h"

#include "plan/plan_workers.h"
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
	return statement == NULL ? 0 :
		hash_bytes((const unsigned char *) statement, strlen(statement));
}

/* Let workers find the segment. */
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
plh_plan_workers_offer(int ids, const char *statement)
{
	int			workers = Min(max_parallel_workers, PLH_PLAN_WORKERS_MAX);
	Size		bytes = offsetof(SharedPlan, nodes) +
		sizeof(PlhWorkerNode) * (Size) ids * workers;

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

const PlhWorkerTotal *
plh_plan_workers_total(int worker)
{
	return segment == NULL || worker >= shared->workers || shared->totals[worker].runs == 0 ?
		NULL : &shared->totals[worker];
}

const PlhWorkerNode *
plh_plan_workers_node(int worker, int id)
{
	const PlhWorkerNode *node;

	if (segment == NULL || worker >= shared->workers || id >= shared->ids)
		return NULL;
	node = &shared->nodes[worker * shared->ids + id];
	return node->highest.samples == 0 ? NULL : node;
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
plh_plan_workers_withdraw(void)
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
plh_plan_workers_join(const char *statement)
{
	dsm_handle	handle;

	if (plh_control_file == NULL || MyProc->lockGroupLeader == NULL ||
		(handle = find_offer(MyProc->lockGroupLeader->pid)) == DSM_HANDLE_INVALID ||
		(segment = dsm_attach(handle)) == NULL)
		return false;
	dsm_pin_mapping(segment);
	shared = dsm_segment_address(segment);
	if (shared->statement_hash == hash_of(statement) &&
		ParallelWorkerNumber < shared->workers)
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
plh_plan_workers_tell(void)
{
	PlhWorkerTotal *total;
	PlhPlanAmount peak = plh_plan_nodes_peak();

	if (segment == NULL)
		return;
	for (int id = 0; id < shared->ids && PLH_PLAN_PLACE(id) < plh_plan_nodes_count(); id++)
		tell_node(id);
	total = &shared->totals[ParallelWorkerNumber];
	SpinLockAcquire(&shared->mutex);
	total->runs++;
	if (peak.bytes > total->peak.bytes)
		total->peak = peak;
	SpinLockRelease(&shared->mutex);
	detach();
}

/*
 * test_plan_results.c
 *	  What a watched statement leaves of its nodes, and what its workers tell of theirs.
 *
 * Leader and workers are all this process: what they share is a piece of memory.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/dsm.h"
#include "storage/proc.h"
#include "storage/s_lock.h"

#include "base/guard.h"
#include "base/settings.h"
#include "sampler/control_file.h"
#include "sampler/countdown.h"
#include "unit_tests.h"

#define NODES 3

static PGPROC leader;
static PGPROC *own_proc = &leader;
static int	worker_number;
static int	worker_limit = 2;
static PlhControlFile control_file;
static PlhControlFile *shared_control_file = &control_file;

/* The only segment there is. */
static char segment_memory[4096];
static bool segment_exists;

static dsm_segment *
create_stub(Size bytes, int flags)
{
	segment_exists = bytes <= sizeof(segment_memory);
	return segment_exists ? (dsm_segment *) segment_memory : NULL;
}

static dsm_segment *
attach_stub(dsm_handle handle)
{
	return segment_exists ? (dsm_segment *) segment_memory : NULL;
}

static void
detach_stub(dsm_segment *attached)
{
}

static void *
address_stub(dsm_segment *attached)
{
	return segment_memory;
}

static dsm_handle
handle_stub(dsm_segment *attached)
{
	return 77;
}

#define dsm_create create_stub
#define dsm_attach attach_stub
#define dsm_detach detach_stub
#define dsm_pin_mapping detach_stub
#define dsm_segment_address address_stub
#define dsm_segment_handle handle_stub
#undef SpinLockInit
#undef SpinLockAcquire
#undef SpinLockRelease
#define SpinLockInit(lock) ((void) 0)
#define SpinLockAcquire(lock) ((void) 0)
#define SpinLockRelease(lock) ((void) 0)
#define SPIN_H
#define MyProc own_proc
#define ParallelWorkerNumber worker_number
#define max_parallel_workers worker_limit
#define plh_control_file shared_control_file
#include "plan/plan_result.c"

static const PlhDraw draw = {.interval_bytes = 1};

/* Begin to watch a plan. */
static void
watch(void)
{
	(void) plh_plan_nodes_begin();
	(void) plh_plan_nodes_expect(NODES);
}

/* The stage or node at that place allocates something at a site. */
static uint32
allocate(uint32 place, uint32 site, int64 bytes)
{
	plh_plan_nodes_current = place;
	return plh_plan_nodes_add(site, bytes, draw, NULL);
}

static PlhPlanResult *
take(void)
{
	static const PlhPlanTree tree = {.ids = NODES + 1};

	return plh_plan_result_take(NULL, &tree, false);
}

static void
test_nodes(void)
{
	PlhPlanResult *result;
	int64		parts = 0;
	uint32		part;

	watch();
	(void) allocate(PLH_STAGE_START, 8, 5);
	(void) allocate(PLH_STAGE_FINISH, 8, 7);
	(void) allocate(PLH_PLAN_PLACE(0), 8, 10);
	(void) allocate(PLH_PLAN_PLACE(2), 8, 100);
	(void) allocate(PLH_PLAN_PLACE(2), 16, 300);
	part = allocate(PLH_PLAN_PLACE(2), 24, 200);
	plh_plan_nodes_subtract(part, 200, draw);
	(void) allocate(PLH_PLAN_PLACE(1), 8, 40);
	result = take();
	ok(result->figures.peak.bytes == 622 && result->in_nodes.bytes == 610 && result->in_nodes.samples == 4,
	   "the peak has parts: what nodes held");
	ok(result->stages[PLH_STAGE_START].bytes == 5 && result->stages[PLH_STAGE_FINISH].bytes == 7,
	   "and what was allocated in each stage");
	ok(result->nodes[0].at_peak.bytes == 10 && result->nodes[1].at_peak.bytes == 0 &&
	   result->nodes[1].highest.bytes == 40, "a node may hold most at another time");
	ok(result->nodes[2].top_site == 16 && result->nodes[2].top_bytes == 300,
	   "the site of a node is the one that had most of it");
	ok(result->nodes[0].top_site == 8 && result->nodes[0].top_bytes == 10, "another node has another one");
	for (const PlhNodePart *held = result->nodes[2].parts; held != NULL; held = held->next)
		parts += held->bytes / 100 * (held->site / 8);
	ok(parts == 1 * 1 + 3 * 2 + 2 * 3, "a node has what each of its sites held when it held most");
	plh_plan_nodes_end();
}

/* A worker with that number runs a node of the leader's statement. */
static bool
work(int number, const char *statement, int node, int64 bytes)
{
	worker_number = number;
	if (!plh_plan_result_join_leader(statement))
		return false;
	watch();
	(void) allocate(PLH_PLAN_PLACE(node), 8, bytes);
	plh_plan_result_tell_leader();
	plh_plan_nodes_end();
	return true;
}

/* Let this be the leader again, which has the segment of its statement. */
static void
lead(void)
{
	segment = (dsm_segment *) segment_memory;
	shared = (SharedPlan *) segment_memory;
}

/* Leave the segment to workers. */
static void
leave(void)
{
	segment = NULL;
	shared = NULL;
}

static int64
node_bytes(int worker, int id)
{
	const PlhWorkerNode *nodes = take()->workers[worker].nodes;

	return nodes == NULL || nodes[id].highest.samples == 0 ? -1 : nodes[id].highest.bytes;
}

static void
test_workers(void)
{
	PlhPlanResult *result;
	const PlhWorkerResult *worker;

	leader.pid = (int) getpid();
	leader.lockGroupLeader = &leader;
	leave();
	ok(!work(0, "SELECT 1", 0, 10), "without an offer a worker tells nothing");
	ok(plh_plan_result_offer_to_workers(NODES, "SELECT 1"), "a leader offers its workers memory");
	leave();
	ok(!work(0, "SELECT 2", 0, 10), "a worker of another statement tells nothing");
	ok(!work(2, "SELECT 1", 0, 10), "nor does one whose number is too high");
	ok(work(0, "SELECT 1", 0, 10) && work(1, "SELECT 1", 2, 30), "the others do");
	ok(work(0, "SELECT 1", 0, 8) && work(0, "SELECT 1", 1, 20), "one worker may follow another");
	lead();
	watch();
	ok(node_bytes(0, 0) == 10 && node_bytes(0, 1) == 20 && node_bytes(1, 2) == 30,
	   "of each number and node the most counts");
	ok(node_bytes(0, 2) == -1 && node_bytes(1, 0) == -1 && node_bytes(1, 1) == -1,
	   "of nodes that a worker did not run there is nothing");
	result = take();
	worker = &result->workers[0];
	ok(node_bytes(2, 0) == -1 && node_bytes(0, NODES) == -1 && result->workers[2].total.runs == 0,
	   "nor is there of other workers and nodes");
	ok(worker->total.runs == 3 && worker->total.peak.bytes == 20,
	   "the total is that of the run that held most");
	ok(result->workers[1].nodes[2].highest.bytes == 30 && result->workers[1].total.runs == 1 &&
	   result->workers[2].total.runs == 0, "a result has what workers told");
	plh_plan_nodes_end();
	plh_plan_result_withdraw_offer();
	ok(!work(0, "SELECT 1", 0, 10), "a withdrawn offer is none");
}

void
test_plan_results(void)
{
	bool		was_held = plh_guard_take();
	int			max_live_samples = plh_load_settings.max_live_samples;

	plh_load_settings.max_live_samples = 1000;
	plh_countdown_track_all(false);
	test_nodes();
	test_workers();
	plh_load_settings.max_live_samples = max_live_samples;
	plh_guard_restore(was_held);
}

/*
 * plan_result.c
 *	  What the nodes of a plan held, as a statement that was watched leaves it.
 */
#include "postgres.h"

#include "plan/plan_result.h"

static void
add_amount(PlhPlanAmount *sum, const PlhPlanAmount *amount)
{
	sum->bytes += amount->bytes;
	sum->samples += amount->samples;
	sum->variance += amount->variance;
}

/* Find the site that had most of what each node held when that was most. */
static void
take_sites(PlhPlanResult *result)
{
	for (uint32 i = 0; i < plh_plan_nodes_parts(); i++)
	{
		int64		bytes;
		const PlhPlanPart *part = plh_plan_nodes_part(i, &bytes);
		PlhNodeResult *node;

		if (part->entry.user < PLH_STAGES)
			continue;
		node = &result->nodes[part->entry.user - PLH_STAGES];
		if (bytes <= node->top_bytes)
			continue;
		node->top_bytes = bytes;
		node->top_site = part->site;
	}
}

static void
take_nodes(PlhPlanResult *result)
{
	uint32		count = plh_plan_nodes_count();

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
	const PlhWorkerTotal *total = plh_plan_workers_total(number);
	PlhWorkerNode *nodes;

	if (total == NULL)
		return;
	worker->total = *total;
	nodes = palloc0(sizeof(PlhWorkerNode) * Max(ids, 1));
	for (int id = 0; id < ids; id++)
	{
		const PlhWorkerNode *node = plh_plan_workers_node(number, id);

		if (node != NULL)
			nodes[id] = *node;
	}
	worker->nodes = nodes;
}

PlhPlanResult *
plh_plan_result_take(const PlannedStmt *plan, const PlhPlanTree *tree, bool lacks_workers)
{
	PlhPlanResult *result = palloc0(sizeof(PlhPlanResult));

	result->plan = plan;
	result->tree = tree;
	result->peak = plh_plan_nodes_peak();
	result->nodes = palloc0(sizeof(PlhNodeResult) * Max(tree->ids, 1));
	result->interval = plh_plan_nodes_interval();
	result->lost_samples = plh_plan_nodes_lost();
	result->lacks_workers = lacks_workers;
	take_nodes(result);
	take_sites(result);
	for (int i = 0; i < PLH_PLAN_WORKERS_MAX; i++)
		take_worker(&result->workers[i], i, tree->ids);
	return result;
}

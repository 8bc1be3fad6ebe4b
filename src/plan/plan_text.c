/*
 * plan_text.c
 *	  What EXPLAIN says of the memory of a plan's nodes, in its formats.
 *
 * As text, nodes that never held anything say nothing.  All lines begin with the word Leakhunt; in
 * the other formats there is one group of that name.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "base/sampling.h"
#include "base/size_units.h"
#include "plan/plan_text.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "profile/shared_frames.h"
#include "profile/site_facts.h"
#include "reader/collections.h"
#include "report/listed_site.h"
#include "report/shared_function.h"
#include "report/stack_text.h"
#include "symbols/symbols.h"

#define GROUP "Leakhunt"

struct PlhPlanTexts
{
	const PlhPlanResult *result;
	const PlhProfileImage *image;	/* NULL where nothing was sampled */
	PlhStackTexts *stacks;
	const PlhTreeNode **nodes;	/* by id; NULL: not in the plan */
};

/* The names of stages: as text, and as properties. */
static const char *const stage_names[PLH_STAGES][2] = {
	{"by the planner", "Planner Bytes"},
	{"by the executor's start", "Executor Start Bytes"},
	{"between nodes", "Between Nodes Bytes"},
	{"by the executor's end and AFTER triggers", "Executor End Bytes"}
};

PlhPlanTexts *
plh_plan_text_open(const PlhPlanResult *result)
{
	PlhPlanTexts *texts = palloc0(sizeof(PlhPlanTexts));
	const PlhPlanTree *tree = result->tree;

	texts->result = result;
	texts->nodes = palloc0(sizeof(PlhTreeNode *) * Max(tree->ids, 1));
	for (int i = 0; i < tree->count; i++)
		texts->nodes[tree->nodes[i].id] = &tree->nodes[i];
	if (plh_profile == NULL)
		return texts;
	texts->image = plh_profile_image_own(plh_profile);
	texts->stacks = plh_stack_text_open(plh_symbols_open(), texts->image);
	return texts;
}

static int64
error_bytes(const PlhPlanAmount *amount)
{
	return (int64) plh_sampling_error_bytes(amount->variance, amount->bytes, amount->samples);
}

/* A size with its error, where there is one. */
static const char *
amount_text(const PlhPlanAmount *amount)
{
	int64		error = error_bytes(amount);

	return error <= 0 ? pstrdup(plh_size_units(amount->bytes).text) :
		psprintf("%s (+/- %s)", plh_size_units(amount->bytes).text,
				 plh_size_units_error(error, amount->bytes).text);
}

static double
times_allowed(const PlhTreeNode *node, const PlhPlanAmount *highest)
{
	return (double) highest->bytes / node->allowed_bytes;
}

/* Describe the site that held most of a node.  Returns false if none is known. */
static bool
describe_site(PlhPlanTexts *texts, const PlhNodeResult *held, PlhListedSite *listed)
{
	const PlhSiteRecord *site;
	PlhSiteFacts facts = {0};

	if (texts->image == NULL || held->top_site == 0 ||
		(site = plh_profile_image_site(texts->image, held->top_site)) == NULL)
		return false;
	plh_site_facts_resolve(&facts, texts->image, site, NULL);
	plh_listed_site_start(listed, texts->image, &facts);
	plh_listed_site_describe_stack(listed, texts->stacks);
	return true;
}

/*
 * Find the function that most of a node was allocated in, or in functions that it calls.  Returns
 * false if there is none, or one site has as much.
 */
static bool
find_shared(PlhPlanTexts *texts, const PlhNodeResult *held, PlhSharedFunction *shared)
{
	PlhShare   *shares;
	int			count = 0;
	int			room = 64;

	if (texts->image == NULL)
		return false;
	shares = palloc(sizeof(PlhShare) * room);
	for (const PlhNodePart *part = held->parts; part != NULL; part = part->next)
	{
		const PlhSiteRecord *site = plh_profile_image_site(texts->image, part->site);

		if (site == NULL)
			continue;
		shares = plh_array_grow(shares, count, &room, sizeof(PlhShare));
		shares[count++] = (PlhShare)
		{
			site, part->bytes
		};
	}
	return plh_shared_function_find(shared, shares, count, texts->image, texts->stacks) &&
		held->top_bytes < PLH_SHARED_PART * shared->all;
}

static void
add_held_line(ExplainState *es, const PlhTreeNode *node, const PlhNodeResult *held)
{
	ExplainPropertyText(GROUP,
						psprintf("%s at most, %s at the statement's peak, %.2f times the %s that work_mem%s",
								 amount_text(&held->highest),
								 plh_size_units(held->at_peak.bytes).text,
								 times_allowed(node, &held->highest),
								 plh_size_units(node->allowed_bytes).text,
								 node->by_hash ? " * hash_mem_multiplier allows" : " allows"), es);
}

/* Do the chunks of a node take much more than what was asked for? */
static bool
is_rounded(const PlhNodeResult *held)
{
	return plh_site_facts_is_rounded(held->highest.bytes, held->spare_bytes);
}

/* What they take. */
static void
add_rounding_line(ExplainState *es, const PlhNodeResult *held)
{
	ExplainPropertyText(GROUP " Rounding",
						psprintf("%s were asked for: with rounding and headers, these chunks take %s",
								 plh_size_units(held->highest.bytes).text,
								 plh_size_units(held->highest.bytes + held->spare_bytes).text), es);
}

/* Which site held most of a node. */
static void
add_site_line(ExplainState *es, const PlhNodeResult *held, const PlhListedSite *listed)
{
	const char *routine = plh_stack_text_routine(&listed->stack);

	ExplainPropertyText(GROUP " Most",
						psprintf("%s in %s, at %s%s%s", plh_size_units(held->top_bytes).text,
								 listed->context_name != NULL ? listed->context_name : "contexts",
								 listed->stack.site, routine != NULL ? ", in " : "",
								 routine != NULL ? routine : ""), es);
}

/* Which function leads to most of a node. */
static void
add_shared_line(ExplainState *es, const PlhSharedFunction *shared)
{
	const char *most = psprintf("%s (%.0f%%) in %s", plh_size_units(shared->bytes).text,
								plh_shared_function_percent(shared), shared->site);
	const char *least = shared->has_more ? "at least " : "";

	ExplainPropertyText(GROUP " Shared", shared->is_site ?
						psprintf("%s, which was called in %s%d different ways",
								 most, least, shared->ways) :
						psprintf("%s and the functions that it calls, at %s%d call %s",
								 most, least, shared->places,
								 shared->places == 1 ? "site" : "sites"), es);
}

static void
add_worker_line(ExplainState *es, int number, const PlhWorkerNode *held)
{
	ExplainPropertyText(psprintf(GROUP " Worker %d", number),
						psprintf("%s at most, %s at its peak", amount_text(&held->highest),
								 plh_size_units(held->at_peak.bytes).text), es);
}

/* What the workers with a number held of a node; NULL: nothing. */
static const PlhWorkerNode *
worker_node(const PlhPlanResult *result, int number, int id)
{
	const PlhWorkerResult *worker = &result->workers[number];

	return worker->nodes == NULL || worker->nodes[id].highest.samples == 0 ?
		NULL : &worker->nodes[id];
}

static void
add_node_lines(ExplainState *es, PlhPlanTexts *texts, int id)
{
	const PlhNodeResult *held = &texts->result->nodes[id];
	PlhListedSite listed;
	PlhSharedFunction shared;

	if (texts->nodes[id]->is_shared)
		ExplainPropertyText(GROUP, "its hash table lies in shared memory, which is not counted here", es);
	if (held->highest.bytes > 0)
		add_held_line(es, texts->nodes[id], held);
	if (is_rounded(held))
		add_rounding_line(es, held);
	if (describe_site(texts, held, &listed))
		add_site_line(es, held, &listed);
	if (find_shared(texts, held, &shared))
		add_shared_line(es, &shared);
	for (int i = 0; i < PLH_PLAN_WORKERS_MAX; i++)
	{
		const PlhWorkerNode *worker = worker_node(texts->result, i, id);

		if (worker != NULL)
			add_worker_line(es, i, worker);
	}
}

static void
add_bytes(ExplainState *es, const char *label, int64 bytes)
{
	ExplainPropertyInteger(label, NULL, bytes, es);
}

/* What is most, of a node or of the statement, and its error. */
static void
add_most(ExplainState *es, const char *label, const PlhPlanAmount *most)
{
	add_bytes(es, label, most->bytes);
	add_bytes(es, "Error Bytes", error_bytes(most));
}

/* What each worker held: of the node with that id; -1: of all. */
static void
add_worker_groups(ExplainState *es, const PlhPlanResult *result, int id)
{
	ExplainOpenGroup("Workers", "Workers", false, es);
	for (int i = 0; i < PLH_PLAN_WORKERS_MAX; i++)
	{
		const PlhWorkerTotal *total = &result->workers[i].total;
		const PlhWorkerNode *node = id < 0 ? NULL : worker_node(result, i, id);

		if (id < 0 ? total->runs == 0 : node == NULL)
			continue;
		ExplainOpenGroup("Worker", NULL, true, es);
		add_bytes(es, "Worker Number", i);
		if (id < 0)
			add_most(es, "Peak Bytes", &total->peak);
		else
		{
			add_most(es, "Highest Bytes", &node->highest);
			add_bytes(es, "Bytes at Its Peak", node->at_peak.bytes);
		}
		ExplainCloseGroup("Worker", NULL, true, es);
	}
	ExplainCloseGroup("Workers", "Workers", false, es);
}

static void
add_site_properties(ExplainState *es, const PlhNodeResult *held, const PlhListedSite *listed)
{
	const char *routine = plh_stack_text_routine(&listed->stack);

	if (listed->context_name != NULL)
		ExplainPropertyText("Context", listed->context_name, es);
	ExplainPropertyText("Site", listed->stack.site, es);
	if (routine != NULL)
		ExplainPropertyText("Routine", routine, es);
	add_bytes(es, "Site Bytes", held->top_bytes);
}

static void
add_shared_properties(ExplainState *es, const PlhSharedFunction *shared)
{
	ExplainPropertyText("Shared Frame", shared->function, es);
	add_bytes(es, "Shared Frame Bytes", shared->bytes);
	ExplainPropertyInteger("Shared Frame Places", NULL, shared->places, es);
}

static void
add_node_group(ExplainState *es, PlhPlanTexts *texts, int id)
{
	const PlhTreeNode *node = texts->nodes[id];
	const PlhNodeResult *held = &texts->result->nodes[id];
	PlhListedSite listed;
	PlhSharedFunction shared;

	ExplainOpenGroup(GROUP, GROUP, true, es);
	add_most(es, "Highest Bytes", &held->highest);
	add_bytes(es, "Bytes at Peak", held->at_peak.bytes);
	add_bytes(es, "Rounding Bytes", held->spare_bytes);
	add_bytes(es, "Allowed Bytes", node->allowed_bytes);
	ExplainPropertyBool("Shared Hash Table", node->is_shared, es);
	ExplainPropertyFloat("Times Allowed", NULL, times_allowed(node, &held->highest), 3, es);
	if (describe_site(texts, held, &listed))
		add_site_properties(es, held, &listed);
	if (find_shared(texts, held, &shared))
		add_shared_properties(es, &shared);
	if (texts->result->tree->has_workers)
		add_worker_groups(es, texts->result, id);
	ExplainCloseGroup(GROUP, GROUP, true, es);
}

void
plh_plan_text_node(ExplainState *es, PlhPlanTexts *texts, int id)
{
	if (id >= texts->result->tree->ids || texts->nodes[id] == NULL)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
		add_node_lines(es, texts, id);
	else
		add_node_group(es, texts, id);
}

/* The statement's peak and its parts, in a line. */
static void
add_peak_line(ExplainState *es, const PlhPlanResult *result)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%s at the peak: %s by nodes", amount_text(&result->figures.peak),
					 plh_size_units(result->in_nodes.bytes).text);
	for (int i = 0; i < PLH_STAGES; i++)
		appendStringInfo(&text, ", %s %s", plh_size_units(result->stages[i].bytes).text,
						 stage_names[i][0]);
	ExplainPropertyText(GROUP " Statement", text.data, es);
}

/* How much all workers held, each at its own peak, in a line. */
static void
add_workers_line(ExplainState *es, const PlhPlanResult *result)
{
	PlhPlanAmount sum = {0};
	int			count = 0;

	for (int i = 0; i < PLH_PLAN_WORKERS_MAX; i++)
	{
		const PlhWorkerTotal *total = &result->workers[i].total;

		if (total->runs == 0)
			continue;
		count++;
		sum.bytes += total->peak.bytes;
		sum.samples += total->peak.samples;
		sum.variance += total->peak.variance;
	}
	if (count > 0)
		ExplainPropertyText(GROUP " Workers",
							psprintf("%s more, in %d %s: the sum of what each held at its own peak",
									 amount_text(&sum), count,
									 count == 1 ? "worker" : "workers"), es);
}

static void
add_sampling_line(ExplainState *es, const PlhPlanResult *result)
{
	uint32		interval = result->figures.interval;
	const char *samples = interval == 1 ? "each allocation is a sample" :
		psprintf("a sample for each %s", plh_size_units(interval).text);

	ExplainPropertyText(GROUP " Sampling",
						psprintf("%s; the times above include what that took", samples), es);
}

static void
add_statement_group(ExplainState *es, const PlhPlanResult *result)
{
	ExplainOpenGroup(GROUP, GROUP, true, es);
	add_most(es, "Peak Bytes", &result->figures.peak);
	add_bytes(es, "Nodes Bytes", result->in_nodes.bytes);
	for (int i = 0; i < PLH_STAGES; i++)
		add_bytes(es, stage_names[i][1], result->stages[i].bytes);
	add_bytes(es, "Sample Interval", result->figures.interval);
	add_bytes(es, "Lost Samples", result->figures.lost_samples);
	if (result->tree->has_workers)
		add_worker_groups(es, result, -1);
	ExplainCloseGroup(GROUP, GROUP, true, es);
}

void
plh_plan_text_statement(ExplainState *es, PlhPlanTexts *texts)
{
	const PlhPlanResult *result = texts->result;

	if (es->format != EXPLAIN_FORMAT_TEXT)
		add_statement_group(es, result);
	else
	{
		add_peak_line(es, result);
		add_workers_line(es, result);
		add_sampling_line(es, result);
	}
	if (result->lacks_workers)
		plh_plan_text_problem(es, "What parallel workers held is not known: there was no room to tell it.");
	if (result->figures.lost_samples > 0 && es->format == EXPLAIN_FORMAT_TEXT)
		plh_plan_text_problem(es, psprintf("%lld samples are of no node, as there was no room for them.",
										   (long long) result->figures.lost_samples));
}

void
plh_plan_text_problem(ExplainState *es, const char *problem)
{
	ExplainPropertyText(GROUP " Note", problem, es);
}

/*
 * estimate_rows.c
 *	  What an estimate of a statement says: a row for each thing, what matters most first.
 *
 * The first row is the sum of those of nodes, of shared memory, and of what was measured.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "base/plural.h"
#include "base/settings.h"
#include "plan/estimate_rows.h"
#include "report/words.h"

/* Add a row that is about neither calls nor a node. */
static PlhEstimateRow *
add_row(List **rows, const char *kind, const char *part, int64 bytes, const char *explanation)
{
	PlhEstimateRow *row = palloc0(sizeof(PlhEstimateRow));

	row->kind = kind;
	row->part = part;
	row->bytes = bytes;
	row->explanation = explanation;
	row->error_bytes = -1;
	row->planned_bytes = -1;
	row->node_id = -1;
	*rows = lappend(*rows, row);
	return row;
}

static void
add_command(List **rows, const PlhEstimatedQuery *query)
{
	if (query->command_bytes < 0)
		add_row(rows, "not known", query->command, -1,
				psprintf("not known: %s has no plan to estimate", query->command));
	else
		add_row(rows, "at most", query->command, query->command_bytes,
				psprintf("%s: maintenance_work_mem, which workers share; an access method may take more",
						 plh_words_size(query->command_bytes)));
}

static int64
sum_of(const PlhEstimatedQuery *query)
{
	return query->plan.private_bytes + query->plan.shared_bytes + query->planner_bytes +
		query->executor_bytes;
}

/* The statement as a whole. */
static void
add_statement(List **rows, const PlhEstimatedQuery *query)
{
	const PlhPlanEstimate *plan = &query->plan;
	bool		is_known = plan->unknown == 0 && !plan->has_jit;
	StringInfoData text;
	PlhEstimateRow *row;

	initStringInfo(&text);
	appendStringInfo(&text, "%s in %d %s%s", plh_words_size(sum_of(query)), plan->processes,
					 plh_plural(plan->processes, "process", "processes"),
					 is_known ? ", if all parts held most at once" : "");
	if (plan->unknown > 0)
		appendStringInfo(&text, ", and what is not known of %d %s", plan->unknown,
						 plh_plural(plan->unknown, "node", "nodes"));
	if (plan->planned_bytes > 0)
		appendStringInfo(&text, "; planned %s", plh_words_size(plan->planned_bytes));
	if (query->is_generic)
		appendStringInfoString(&text, "; planned without the values of parameters");
	row = add_row(rows, "at most", is_known ? "at most" : "by settings",
				  sum_of(query), text.data);
	row->processes = plan->processes;
	row->planned_bytes = plan->planned_bytes > 0 ? plan->planned_bytes : -1;
}

/* What calls have taken. */
static void
add_seen(List **rows, const PlhSeenCalls *seen)
{
	const char *least = plh_words_size(plh_statement_min_bytes);
	PlhEstimateRow *row;

	if (seen == NULL)
	{
		add_row(rows, "seen", "calls seen", -1, "not known: nothing is kept of statements");
		return;
	}
	if (seen->calls == 0)
	{
		add_row(rows, "seen", "calls seen", -1, psprintf("none of at least %s", least));
		return;
	}
	row = add_row(rows, "median", "half of the calls", seen->median.bytes,
				  psprintf("%s or less, of %lld %s of at least %s",
						   plh_words_estimate(seen->median.bytes, seen->median.error_bytes),
						   (long long) seen->calls, plh_plural(seen->calls, "call", "calls"),
						   least));
	row->error_bytes = seen->median.error_bytes;
	row->calls = seen->calls;
	row = add_row(rows, "highest", "highest call", seen->max_peak_bytes,
				  psprintf("%s, at %s",
						   plh_words_estimate(seen->max_peak_bytes, seen->error_bytes),
						   plh_words_time(seen->max_at)));
	row->error_bytes = seen->error_bytes;
	row->calls = seen->calls;
}

static const char *
shared_text(int64 bytes, const PlhShmRoom *room)
{
	const char *size = plh_words_size(bytes);

	if (!room->is_used)
		return psprintf("%s, not in /dev/shm (dynamic_shared_memory_type)", size);
	if (room->size == 0)
		return psprintf("%s in /dev/shm", size);
	return psprintf("%s: %s at most; /dev/shm has %s free of %s",
					bytes > room->free ? "does not fit" : "fits", size,
					plh_words_size(room->free), plh_words_size(room->size));
}

static void
add_shared(List **rows, const PlhPlanEstimate *plan, const PlhShmRoom *room)
{
	if (plan->shared_bytes > 0)
		add_row(rows, "shared memory",
				plan->has_shared_hash ? "shared memory, for parallel hash" : "shared memory",
				plan->shared_bytes, shared_text(plan->shared_bytes, room));
}

static void
add_measured(List **rows, const PlhEstimatedQuery *query)
{
	int			nodes = list_length(query->plan.nodes);

	add_row(rows, "planner", "planner", query->planner_bytes,
			psprintf("%s: planning took that now", plh_words_size(query->planner_bytes)));
	add_row(rows, "executor", "executor's start", query->executor_bytes,
			psprintf("%s: the states of %d %s took that now",
					 plh_words_size(query->executor_bytes), nodes,
					 plh_plural(nodes, "node", "nodes")));
	if (query->plan.has_jit)
		add_row(rows, "not known", "JIT", -1,
				"not known: each process compiles expressions; SET jit = off avoids it");
}

/* What settings limit of a node: in each process, and of all. */
static void
append_limited(StringInfo text, const PlhNodeEstimate *node)
{
	if (node->bytes > 0 && node->processes > 1)
		appendStringInfo(text, "%d * ", node->processes);
	if (node->bytes > 0)
		appendStringInfo(text, "%s: %s", plh_words_size(node->bytes), node->limit);
	if (node->shared_bytes > 0)
		appendStringInfo(text, "%s%s shared%s%s", node->bytes > 0 ? "; " : "",
						 plh_words_size(node->shared_bytes), node->bytes > 0 ? "" : ": ",
						 node->bytes > 0 ? "" : node->limit);
}

static void
append_planned(StringInfo text, const PlhNodeEstimate *node)
{
	if (node->planned_bytes >= 0)
		appendStringInfo(text, "%splanned %s%s", text->len > 0 ? "; " : "",
						 plh_words_size(node->planned_bytes),
						 node->kind == PLH_BOUND_SETTINGS &&
						 node->planned_bytes > node->bytes + node->shared_bytes ?
						 ", partly on disk" : "");
}

static const char *
node_text(const PlhNodeEstimate *node)
{
	StringInfoData text;
	ListCell   *cell;

	if (node->kind == PLH_BOUND_ROW)
		return node->limit != NULL ? node->limit : "some kB";
	initStringInfo(&text);
	if (node->kind == PLH_BOUND_UNKNOWN)
	{
		foreach(cell, node->unknown)
			appendStringInfo(&text, "%s%s", cell == list_head(node->unknown) ? "not known: " : ", ",
							 (char *) lfirst(cell));
		appendStringInfoString(&text, node->bytes > 0 || node->shared_bytes > 0 ? "; " : "");
	}
	append_limited(&text, node);
	append_planned(&text, node);
	return text.data;
}

static void
add_node(List **rows, const PlhNodeEstimate *node)
{
	static const char *const kinds[] = {
		[PLH_BOUND_ROW] = "some kB",
		[PLH_BOUND_SETTINGS] = "settings",
		[PLH_BOUND_UNKNOWN] = "not known"
	};
	bool		is_limited = node->kind == PLH_BOUND_SETTINGS ||
		(node->kind == PLH_BOUND_UNKNOWN && node->bytes > 0);
	PlhEstimateRow *row = add_row(rows, kinds[node->kind],
								  psprintf("%*s%s", 2 * node->depth, "", node->label),
								  is_limited ? node->bytes * node->processes : -1,
								  node_text(node));

	row->node_id = node->id;
	row->processes = node->processes;
	row->planned_bytes = node->planned_bytes;
}

List *
plh_estimate_rows_make(const PlhEstimatedQuery *query, const PlhSeenCalls *seen,
					   const PlhShmRoom *room)
{
	List	   *rows = NIL;
	ListCell   *cell;

	if (query->command != NULL)
		add_command(&rows, query);
	if (query->planner_bytes >= 0)
		add_statement(&rows, query);
	add_seen(&rows, seen);
	if (query->planner_bytes < 0)
		return rows;
	add_shared(&rows, &query->plan, room);
	add_measured(&rows, query);
	foreach(cell, query->plan.nodes)
		add_node(&rows, lfirst(cell));
	return rows;
}

/*
 * plan_nodes.c
 *	  What each node of a plan holds, and at which sites, while its statement is watched.
 *
 * This code runs inside palloc, but for what begins, ends and reads.
 *
 * What each node held when all together held most is known without a visit of all nodes at each new
 * peak: a node notes what it holds before its first change after the peak, and a part what it holds
 * before its first change after the highest amount of its node.
 *
 * Parts have numbers that are used once in a process: so a block that malloc gave to an earlier
 * statement, and that is freed now, is none of this one's.
 */
#include "postgres.h"

#include "nodes/memnodes.h"

#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/private_memory.h"
#include "base/settings.h"
#include "sampler/countdown.h"
#include "sampler/owner.h"
#include "sampler/plan_nodes.h"

/*
 * Of 1 MB in small chunks, samples at this interval know 91 kB less or more, in 95 of
 * 100 cases.  It becomes longer with the number of live samples, so that a statement
 * does not use up those of the process; their errors become less then all the same.
 */
#define FINEST_INTERVAL 2048
#define LONGEST_INTERVAL (1024 * 1024)

/* The first part of max_live_samples with which it becomes longer; then half of that. */
#define SAMPLES_PART 8

#define MAX_PARTS (1024 * 1024)

/* plh_plan_nodes_forget sets the first, and gives the memory of the others back. */
PLH_SURVIVES_FORK bool plh_plan_nodes_are_watched;
PLH_SURVIVES_FORK uint32 plh_plan_nodes_current;
PLH_SURVIVES_FORK PlhPlanNode *plh_plan_nodes;
static PLH_SURVIVES_FORK PlhRegion node_region;
static PLH_SURVIVES_FORK PlhRegion sample_region;	/* uint32 parts by sample */
static PLH_SURVIVES_FORK PlhPointerTable parts;

static struct
{
	PlhPlanFigures figures;
	uint32		first_part;		/* the number of the part with index 0 */
	int64		next_samples;	/* live ones from which on fewer are taken */
	uint64		change;
	uint64		peak_change;	/* the change with which all held most */
	PlhPlanAmount live;			/* of all */
}			state;

static void
discard(void)
{
	plh_private_memory_discard(&node_region);
	plh_private_memory_discard(&sample_region);
	plh_pointer_table_discard(&parts);
	plh_plan_nodes = NULL;
}

/* Reserve what a watch needs.  Returns false if there is no memory. */
static bool
reserve(void)
{
	Size		samples = plh_load_settings.max_live_samples;

	plh_pointer_table_init(&parts, sizeof(PlhPlanPart), MAX_PARTS);
	return plh_private_memory_reserve(&node_region,
									  sizeof(PlhPlanNode) * (PLH_PLAN_NODES_MAX + PLH_STAGES)) &&
		plh_private_memory_reserve(&sample_region, sizeof(uint32) * samples * 2) &&
		plh_private_memory_commit(&node_region, sizeof(PlhPlanNode) * PLH_STAGES);
}

/* A statement's plan is not known yet.  Fails without memory, and where everything is tracked. */
bool
plh_plan_nodes_begin(void)
{
	bool		was_held = plh_guard_take();
	bool		begun;

	plh_plan_nodes_end();
	state.first_part = Max(state.first_part, PLH_NO_PART + 1);
	state.figures.count = PLH_STAGES;
	state.figures.interval = FINEST_INTERVAL;
	state.next_samples = plh_load_settings.max_live_samples / SAMPLES_PART;
	plh_plan_nodes_current = PLH_STAGE_PLANNING;
	begun = reserve() && plh_countdown_watch(state.figures.interval);
	if (begun)
		plh_plan_nodes = (PlhPlanNode *) node_region.base;
	else
		discard();
	plh_plan_nodes_are_watched = begun;
	plh_guard_restore(was_held);
	return begun;
}

/* Have places for nodes with lower ids; without memory, what they hold is of no node. */
bool
plh_plan_nodes_expect(uint32 nodes)
{
	if (nodes > PLH_PLAN_NODES_MAX ||
		!plh_private_memory_commit(&node_region, sizeof(PlhPlanNode) * ((Size) nodes + PLH_STAGES)))
		return false;
	state.figures.count = nodes + PLH_STAGES;
	return true;
}

/* What is allocated and freed from now on does not count; the figures stay. */
void
plh_plan_nodes_stop(void)
{
	if (!plh_plan_nodes_are_watched)
		return;
	plh_plan_nodes_are_watched = false;

	/* settings or a request may have asked for a shorter one */
	if (plh_owner_interval != 0)
		state.figures.interval = Min(state.figures.interval, plh_owner_interval);
	(void) plh_countdown_watch(0);
}

void
plh_plan_nodes_end(void)
{
	uint32		next_part = state.first_part + parts.high_entries;

	plh_plan_nodes_stop();
	discard();
	memset(&state, 0, sizeof(state));
	state.first_part = next_part;
}

PlhPlanFigures
plh_plan_nodes_figures(void)
{
	state.figures.parts = parts.high_entries;
	return state.figures;
}

/* What a node, or a stage, held when all held most. */
PlhPlanAmount
plh_plan_nodes_at_peak(uint32 place)
{
	const PlhPlanNode *node = &plh_plan_nodes[place];

	return node->last_change <= state.peak_change ? node->live : node->at_peak;
}

/* A part, and what it had when its node held most. */
const PlhPlanPart *
plh_plan_nodes_part(uint32 number, int64 *highest_bytes)
{
	const PlhPlanPart *part = plh_pointer_table_entry(&parts, number);
	const PlhPlanNode *node = &plh_plan_nodes[part->entry.user];

	*highest_bytes = part->last_change <= node->highest_change ?
		part->live_bytes : part->highest_bytes;
	return part;
}

/* The contexts of hash tables of joins have these names, and no others have. */
static bool
is_of_hash_table(MemoryContext context)
{
	const char *name = context->name;

	return name[0] == 'H' &&
		(strcmp(name, "HashBatchContext") == 0 || strcmp(name, "HashTableContext") == 0 ||
		 strcmp(name, "HashSpillContext") == 0);
}

/*
 * The place of what allocates in that context now.  Nodes that return no tuples, as hash tables and
 * bitmaps, are not run as others are: of these the instrumentation knows whether they run.  Later
 * batches are loaded into a hash table by its join.
 */
static uint32
find_place(MemoryContext context)
{
	uint32		place = plh_plan_nodes_current;
	uint32		callee = plh_plan_nodes[place].first_callee;

	if (plh_plan_nodes[place].hash != PLH_NO_PLACE && is_of_hash_table(context))
		return plh_plan_nodes[place].hash;
	while (callee != PLH_NO_PLACE)
	{
		const PlhPlanNode *node = &plh_plan_nodes[callee];

		if (INSTR_TIME_IS_ZERO(*node->started))
			callee = node->next_callee;
		else
		{
			place = callee;
			callee = node->first_callee;
		}
	}
	return place;
}

/* The part of a node at a site, NULL if there is no memory for one. */
static PlhPlanPart *
find_part(uint32 place, uint32 site)
{
	/* offsets of sites are never 0 */
	const void *key = (const void *) ((uintptr_t) place << 32 | site);
	PlhPlanPart *part = plh_pointer_table_find(&parts, key);

	if (part != NULL)
		return part;
	part = plh_pointer_table_insert(&parts, key);
	if (part == NULL)
		return NULL;
	part->entry.user = place;
	part->site = site;
	return part;
}

static inline void
add_amount(PlhPlanAmount *amount, int64 bytes, int sign, double variance)
{
	amount->bytes += sign * bytes;
	amount->samples += sign;
	amount->variance = amount->samples == 0 ? 0 : Max(amount->variance + sign * variance, 0);
}

/* Change what a part has by a sample that is added (1) or gone (-1). */
static void
change(PlhPlanPart *part, Size size, PlhDraw draw, int sign)
{
	PlhSampleValue value = plh_sampling_value(size, draw);
	PlhPlanNode *node = &plh_plan_nodes[part->entry.user];
	int64		bytes = (int64) size * value.weight;

	state.change++;
	if (node->last_change <= state.peak_change)
		node->at_peak = node->live;
	if (part->last_change <= node->highest_change)
		part->highest_bytes = part->live_bytes;
	part->last_change = node->last_change = state.change;

	part->live_bytes += sign * bytes;
	add_amount(&node->live, bytes, sign, value.variance);
	add_amount(&state.live, bytes, sign, value.variance);
	if (node->live.bytes > node->highest.bytes)
	{
		node->highest = node->live;
		node->highest_change = state.change;
	}
	if (state.live.bytes > state.figures.peak.bytes)
	{
		state.figures.peak = state.live;
		state.peak_change = state.change;
	}
}

/* With many live samples, take fewer. */
static void
take_fewer(void)
{
	state.next_samples += plh_load_settings.max_live_samples / SAMPLES_PART / 2;
	if (state.figures.interval >= LONGEST_INTERVAL)
		return;
	state.figures.interval *= 2;
	(void) plh_countdown_watch(state.figures.interval);
}

/* Without a context it is malloc's.  The caller subtracts the part that is returned. */
uint32
plh_plan_nodes_add(uint32 site, Size size, PlhDraw draw, MemoryContext context)
{
	PlhPlanPart *part;

	Assert(plh_guard_held && plh_plan_nodes_are_watched);
	part = find_part(context == NULL ? plh_plan_nodes_current : find_place(context), site);
	if (part == NULL)
	{
		state.figures.lost_samples++;
		return PLH_NO_PART;
	}
	change(part, size, draw, 1);
	if (unlikely(state.live.samples >= state.next_samples))
		take_fewer();
	return state.first_part + (part - (const PlhPlanPart *) parts.entry_region.base);
}

void
plh_plan_nodes_subtract(uint32 part, Size size, PlhDraw draw)
{
	uint32		index = part - state.first_part;

	Assert(plh_guard_held && plh_plan_nodes_are_watched);
	if (part != PLH_NO_PART && index < parts.high_entries)
		change(plh_pointer_table_entry(&parts, index), size, draw, -1);
}

void
plh_plan_nodes_add_chunk(uint32 index, uint32 site, Size size, PlhDraw draw, MemoryContext context)
{
	if (!plh_private_memory_commit(&sample_region, sizeof(uint32) * ((Size) index + 1)))
		state.figures.lost_samples++;
	else
		((uint32 *) sample_region.base)[index] = plh_plan_nodes_add(site, size, draw, context);
}

void
plh_plan_nodes_subtract_chunk(uint32 index, Size size, PlhDraw draw)
{
	uint32	   *part = (uint32 *) sample_region.base + index;

	if (sizeof(uint32) * ((Size) index + 1) > sample_region.committed_bytes)
		return;
	plh_plan_nodes_subtract(*part, size, draw);
	*part = PLH_NO_PART;
}

/* A sample that has been counted is of another place than was known then. */
void
plh_plan_nodes_move_chunk(uint32 index, uint32 site, Size size, PlhDraw draw, uint32 place)
{
	uint32	   *number = (uint32 *) sample_region.base + index;
	PlhPlanPart *part = find_part(place, site);

	if (part == NULL || sizeof(uint32) * ((Size) index + 1) > sample_region.committed_bytes)
		return;
	plh_plan_nodes_subtract(*number, size, draw);
	change(part, size, draw, 1);
	*number = state.first_part + (part - (const PlhPlanPart *) parts.entry_region.base);
}

PLH_EVERY_PROCESS void
plh_plan_nodes_forget(void)
{
	plh_plan_nodes_are_watched = false;
	if (node_region.base != NULL)
		discard();
	memset(&state, 0, sizeof(state));
}

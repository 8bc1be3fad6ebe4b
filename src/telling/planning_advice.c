/*
 * planning_advice.c
 *	  What to do about a statement whose planning takes much memory.
 *
 * A setting is named if samples show that what it is about was planned, or if it is known to be on
 * in that session: of those that change nothing a reader need not know.
 */
#include "postgres.h"

#include "base/compat.h"
#include "telling/planning_advice.h"

/*
 * What has this part of all, in percent, was planned for each of many partitions.  Most of what is
 * considered of a join or an aggregate is made by functions that have no name.
 */
#define PARTITIONS_PERCENT 10
#define PLANNED_PERCENT 2

/* Settings that are on have the planner consider partitions one by one. */
static void
say_partitionwise(const PlhAdvised *advised)
{
	const PlhFindingOrigin *origin = advised->origin;
	uint32		settings = advised->image->header->planner_settings;

	if (origin->planned_percent[PLH_PLANNED_PARTITION_JOINS] >= PLANNED_PERCENT)
		PLH_SAY(advised->said, true, partitionwise_joins_off);
	if (origin->planned_percent[PLH_PLANNED_AGGREGATES] >= PLANNED_PERCENT &&
		origin->partitions_percent >= PARTITIONS_PERCENT &&
		(settings & PLH_PLANS_PARTITIONWISE_AGGREGATES) != 0)
		PLH_SAY(advised->said, true, partitionwise_aggregates_off);
}

/* How to have fewer orders of joins considered. */
static void
say_joins(const PlhAdvised *advised)
{
	const PlhProfileHeader *header = advised->image->header;

	PLH_SAY(advised->said, true, help_joins,.count = header->join_collapse_limit,
			.least = header->from_collapse_limit);
	if (advised->origin->planned_percent[PLH_PLANNED_BY_GEQO] >= PLANNED_PERCENT)
		return;
	if ((header->planner_settings & PLH_PLANS_BY_GEQO) != 0)
		PLH_SAY(advised->said, true, geqo_threshold_lower,.count = header->geqo_threshold);
	else
		PLH_SAY(advised->said, true, geqo_on);
}

void
plh_planning_advice_say(const PlhAdvised *advised)
{
	if (advised->origin->phase == PLH_PHASE_PLANNING_JOINS)
		say_joins(advised);
	else if (advised->origin->phase == PLH_PHASE_PLANNING_PARTITIONS)
		PLH_SAY(advised->said, true, help_partitions);
	else
		PLH_SAY(advised->said, true, help_planning);
	say_partitionwise(advised);
	if (PLH_EXPLAINS_MEMORY)
		PLH_SAY(advised->said, true, explain_memory);
}

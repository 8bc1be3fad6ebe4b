/*
 * site_origins.c
 *	  What call sites are part of: functions, phases that no setting limits, and decoding.
 */
#include "postgres.h"

#include "report/node_memory.h"
#include "report/shared_function.h"
#include "telling/phase.h"
#include "telling/site_origins.h"

/* Is a stack of a phase whose memory no setting limits, and of nothing there that has a limit? */
static bool
is_unlimited(const PlhStackText *stack)
{
	int			frame;

	return plh_phase_is_unlimited(plh_phase_of_statement(stack, &frame)) &&
		!plh_node_memory_has_limit(stack);
}

static bool
is_decoding(const PlhStackText *stack)
{
	int			frame;
	PlhPhase	phase = plh_phase_of(stack, &frame);

	return phase == PLH_PHASE_DECODING || plh_phase_parent(phase) == PLH_PHASE_DECODING;
}

void
plh_site_origins_find(void *arg, const PlhShare *sites, int count, PlhSiteOrigin *origins)
{
	uint32	   *functions = palloc(sizeof(uint32) * count);
	PlhStackText *stacks = palloc(sizeof(PlhStackText) * count);

	plh_shared_function_numbers(arg, sites, count, functions, stacks);
	for (int i = 0; i < count; i++)
		origins[i] = (PlhSiteOrigin)
	{
		functions[i], is_unlimited(&stacks[i]), is_decoding(&stacks[i])
	};
	pfree(stacks);
	pfree(functions);
}

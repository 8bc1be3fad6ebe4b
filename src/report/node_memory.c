/*
 * node_memory.c
 *	  Which part of a stack is a function's own, and no node's of a plan, which has its limit.
 *
 * A plan may have many nodes of a kind, each with work_mem for itself, so that what their functions
 * hold together says nothing.  All that expressions call is below the innermost function of the
 * executor: what allocates there does so for itself.
 */
#include "postgres.h"

#include "report/blamed_code.h"
#include "report/node_memory.h"

/*
 * Functions, as they begin, that write to disk what does not fit, or make a hash table as large as
 * is allowed.  They have no context of their own in all versions.
 */
static const char *const limited[] = {
	"BuildTupleHashTable", "tbm_", "tuplesort_", "tuplestore_"
};

static bool
is_limited(const char *function)
{
	for (int i = 0; i < lengthof(limited); i++)
		if (strncmp(function, limited[i], strlen(limited[i])) == 0)
			return true;
	return false;
}

bool
plh_node_memory_has_limit(const PlhStackText *stack)
{
	for (int i = 0; i < stack->frame_count && i <= stack->site_frame; i++)
		if (stack->frames[i].function != NULL && is_limited(stack->frames[i].function))
			return true;
	return false;
}

int
plh_node_memory_own_frames(const PlhStackText *stack)
{
	int			count = 0;

	if (plh_node_memory_has_limit(stack))
		return 0;
	while (count < stack->frame_count &&
		   plh_blamed_code_part(&stack->frames[count]) != PLH_CODE_EXECUTOR)
		count++;
	return count > stack->site_frame ? count : 0;
}

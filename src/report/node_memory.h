/*
 * node_memory.h
 *	  Which part of a stack is a function's own, and no node's of a plan, which has its limit.
 *
 * Never called inside palloc.
 */
#pragma once

#include "report/stack_text.h"

/* Does a part of the server allocate that keeps to a limit of its own, whoever calls it? */
extern bool plh_node_memory_has_limit(const PlhStackText *stack);

/*
 * How many frames, the innermost, are of functions that the executor has called, or that run
 * without one; 0 where it allocates itself, or what does has a limit.
 */
extern int	plh_node_memory_own_frames(const PlhStackText *stack);

/*
 * plan_watch.h
 *	  Watches a statement of EXPLAIN (ANALYZE), in its session and in its parallel workers.
 *
 * One statement of a process is watched at a time.
 *
 * Never called inside palloc.
 */
#pragma once

#include "plan/plan_result.h"

/* A statement has run.  The result belongs to the memory context in which the watch began. */
typedef void (*PlhPlanTaker) (PlhPlanResult *result, void *taker);

/* Called once, when the module is loaded. */
extern void plh_plan_watch_start(void);

/*
 * Watch the next statement that is run with instrumentation, from its planning on, and tell "taker"
 * by a call of "take".  Returns NULL, or a sentence that says why not.  The watch must be ended,
 * also after an ERROR, before the memory context goes.
 */
extern const char *plh_plan_watch_expect(PlhPlanTaker take, void *taker);

/* End the watch of that taker, if there is one.  What results refer to may go. */
extern void plh_plan_watch_end(void *taker);

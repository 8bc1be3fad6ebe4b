/*
 * doubt_unseen.h
 *	  Where samples do not stand for what was counted: most was allocated unseen, or its frees were.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/doubted.h"

/* Do samples of malloc stand for more than it has given out? */
extern bool plh_doubt_unseen_find_frees(PlhDoubt *doubt, const PlhProfileHeader *header);

/*
 * Was most of what the contexts use allocated unseen?  Samples are current, and only a current
 * count is compared with them.
 */
extern bool plh_doubt_unseen_find(PlhDoubt *doubt, const PlhExplainedProcess *process);

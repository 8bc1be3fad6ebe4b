/*
 * stacks.h
 *	  The stacks of simulated processes, and which of them have a function in common.
 *
 * Most who allocate are a function each.  Some are call sites of one function of an extension, and
 * some are one call site that is reached by recursion of several depths.
 */
#ifndef STACKS_H
#define STACKS_H

#include "judge/findings.h"

/* The most call sites below a function, and levels of recursion. */
#define MOST_LEAVES 200
#define MOST_LEVELS 20

/* Who allocates at a call site below a function of an extension, or that deep. */
#define WHO_BELOW(function, leaf) (1000 + MOST_LEAVES * (function) + (leaf))
#define WHO_DEEP(level) (10000 + (level))

/* The function of an extension that leads there; 0: none that others share. */
extern int	stacks_function(int who);

/* What PlhCauses.find is for these. */
extern void stacks_find_causes(void *arg, const PlhShare *sites, int count, uint32 *causes);

/* And find_origins: they have no phases. */
extern void stacks_find_origins(void *arg, const PlhShare *sites, int count,
								PlhSiteOrigin *origins);

#endif							/* STACKS_H */

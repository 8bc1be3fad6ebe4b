/*
 * contexts_advice.h
 *	  What to do about memory contexts of one kind, by the code that made them.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/advised.h"

extern void plh_contexts_advice_say(const PlhAdvised *advised);

/* Did an output plugin, outside of the server, allocate what decoding holds? */
extern bool plh_contexts_advice_is_of_plugin(const PlhFinding *finding,
											 const PlhFindingOrigin *origin);

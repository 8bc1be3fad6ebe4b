/*
 * staying_doubt.h
 *	  What stays in a session without being a finding, and whether it grows.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/doubted.h"

/* The process has a profile. */
extern void plh_staying_doubt_find(PlhDoubt *doubt, const PlhDoubted *doubted);

/* Say why: the first sentence is the reason. */
extern void plh_staying_doubt_say(PlhDoubt *doubt, PlhSentence sentence, bool alive,
								  const PlhFields *fields);

#define PLH_DOUBT(doubt, alive, id, ...) \
	plh_staying_doubt_say(doubt, PLH_SAYS_##id, alive, PLH_FIELDS(__VA_ARGS__))

/*
 * capacity_advice.h
 *	  How many connections this host bears, and why, in sentences.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/capacity.h"
#include "reader/session_room.h"
#include "telling/sentences.h"

/* What is known of one kind of sessions, or of all. */
typedef struct PlhCapacityAnswer
{
	const PlhCapacityKind *kind;	/* NULL: all */
	const PlhCapacityTogether *together;
	int64		sessions;		/* that the last look saw */
	int64		sessions_seen;	/* -1: of all */
	PlhCapacityGrowth growth;
	PlhCapacityConnections connections;
	int64		lifetime_us;	/* 0: none was asked for */
	int64		saved_bytes;	/* -1: not known, as the next */
	int64		highest_bytes;	/* of a statement, by its own peak */
} PlhCapacityAnswer;

extern void plh_capacity_advice_say(PlhSaid *said, const PlhCapacityAnswer *answer,
									const PlhCapacityRecord *record, const PlhSessionRoom *room);

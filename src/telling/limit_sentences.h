/*
 * limit_sentences.h
 *	  What settings allow to a node of a plan, and to all of its nodes together.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/family.h"
#include "judge/statement_limit.h"
#include "telling/sentences.h"

/*
 * The setting that limits it, with what it allows.  Of nodes of a plan "family" is the one of their
 * contexts; without nodes (NULL), work_mem is not spoken of.
 */
extern void plh_limit_sentences_say(PlhSaid *said, const PlhProfileImage *image,
									const PlhFamily *family, PlhLimitKind kind);

/* What work_mem allows to one node of that family. */
extern int64 plh_limit_sentences_node_bytes(const PlhProfileImage *image, const PlhFamily *family);

/* What they allow to the whole plan, where that is known and more than to one node. */
extern void plh_limit_sentences_say_plan(PlhSaid *said, const PlhProfileImage *image);

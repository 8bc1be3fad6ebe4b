/*
 * decoding_suspect.h
 *	  All that is held for changes that are decoded is one finding.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/site_suspects.h"

/* Make one of the findings on what is decoded, on what that is written to, and on its buffers. */
extern void plh_decoding_suspect_merge(PlhJudge *judge);

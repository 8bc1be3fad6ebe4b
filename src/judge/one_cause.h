/*
 * one_cause.h
 *	  Sites that one function leads to, and that grow together, are one finding.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/site_suspects.h"

/* Replace findings on sites of one cause by one on all of these, as far as functions are known. */
extern void plh_one_cause_merge(PlhJudge *judge);

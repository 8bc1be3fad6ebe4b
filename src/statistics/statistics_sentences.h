/*
 * statistics_sentences.h
 *	  What statistics of memory contexts say of a process: how much it had, for what, what bounds
 *	  that and what helps.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/account.h"
#include "statistics/log_reading.h"
#include "telling/sentences.h"

/* Statistics, and the same as a profile with its account. */
typedef struct PlhCountedProcess
{
	const PlhStatistics *statistics;
	const PlhProfileImage *image;
	const PlhAccount *account;
} PlhCountedProcess;

extern PlhCountedProcess plh_statistics_sentences_count(const PlhStatistics *statistics,
														int encoding);

/* What one of several says. */
extern void plh_statistics_sentences_say(PlhSaid *said, const PlhCountedProcess *counted,
										 const PlhLogReading *reading);

/* False: nothing has grown, but lines may be missing. */
extern bool plh_statistics_sentences_are_comparable(const PlhCountedProcess *early,
													const PlhCountedProcess *late);

/* What a process has gained between two of its statistics, or of one that may be. */
extern void plh_statistics_sentences_compare(PlhSaid *said, const PlhCountedProcess *early,
											 const PlhCountedProcess *late);

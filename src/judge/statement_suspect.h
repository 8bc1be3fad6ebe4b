/*
 * statement_suspect.h
 *	  What the statement or transaction that runs is suspect of: that it holds more than its
 *	  settings allow.
 *
 * Pure functions, as those of suspect.h, which has the thresholds.
 */
#pragma once

#include "judge/finding.h"
#include "judge/suspect.h"

/* What samples tell of a statement, or of all of a transaction. */
typedef struct PlhStatementSamples
{
	int64		bytes;			/* live */
	int64		samples;
	double		variance;
	int64		largest_bytes;	/* of the site or function that holds most,
								 * over all statements, and that no node's
								 * limit covers */
	int64		unlimited_bytes;	/* of all sites that no setting limits, at
									 * most */
	int64		other_bytes;	/* of all others, at most */
	PlhLimitKind limit;			/* of the largest site */
	int64		limit_bytes;	/* that it may hold and be no suspect */
} PlhStatementSamples;

extern bool plh_statement_suspect_judge(PlhFinding *finding, const PlhStatementSamples *samples,
										const PlhAccount *account,
										const PlhProfileHeader *header,
										TimestampTz now);

extern bool plh_statement_suspect_is_counted(const PlhAccount *account,
											 const PlhProfileHeader *header);

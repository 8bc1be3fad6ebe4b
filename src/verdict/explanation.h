/*
 * explanation.h
 *	  What a DBA would say of a process, in a few sentences: who it is, how large
 *	  and of what, since when it grows and by what, the verdict or why there is
 *	  none, and the next step.
 *
 * Nothing is said that the views do not say, too; who calls this has looked
 * whether the reader may see the process.  Never called inside palloc.
 */
#ifndef PLH_EXPLANATION_H
#define PLH_EXPLANATION_H

#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "reader/server_processes.h"
#include "symbols/symbols.h"
#include "verdict/suppression.h"

typedef struct PlhExplainedProcess
{
	int			pid;
	const PlhProfileImage *image;	/* NULL without a profile */
	const PlhBaseline *baseline;	/* NULL without one */
	const char *backend_type;	/* NULL where not known, as the next four */
	const char *username;
	const char *database;
	const char *application_name;
	const char *state;			/* what it does, as in pg_stat_activity */
	TimestampTz state_since;	/* 0 where state is NULL */
	int64		rss_anon_bytes; /* now; -1 if it is gone */
	PlhLoaded	loaded;
	TimestampTz now;			/* of a process that is gone, its end */
} PlhExplainedProcess;

extern char *plh_explanation_make(const PlhExplainedProcess *process,
								  PlhSymbols *symbols,
								  const PlhSuppressions *suppressions);

#endif							/* PLH_EXPLANATION_H */

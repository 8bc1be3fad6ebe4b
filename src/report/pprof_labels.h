/*
 * pprof_labels.h
 *	  The labels that samples of a profile for pprof may have.
 *
 * All are texts, numbers too: stores of profiles keep no others.  Never called
 * inside palloc.
 */
#ifndef PLH_PPROF_LABELS_H
#define PLH_PPROF_LABELS_H

#include "report/listed_site.h"

typedef enum PlhPprofLabel
{
	PLH_PPROF_MEMORY_CONTEXT,
	PLH_PPROF_BACKEND_TYPE,
	PLH_PPROF_LIFETIME,
	PLH_PPROF_QUERY_ID,
	PLH_PPROF_PID,
	PLH_PPROF_DATABASE,
	PLH_PPROF_USER,
	PLH_PPROF_APPLICATION
#define PLH_PPROF_LABELS (PLH_PPROF_APPLICATION + 1)
} PlhPprofLabel;

/* The name of a label; NULL behind the last. */
extern const char *plh_pprof_labels_name(PlhPprofLabel label);

/* By which of PLH_OWNER_* the owners of sites must be told apart for a label. */
extern int	plh_pprof_labels_owner_part(PlhPprofLabel label);

/* NULL if the site has no such label; else in the current memory context. */
extern const char *plh_pprof_labels_text(PlhPprofLabel label,
										 const PlhListedSite *listed);

#endif							/* PLH_PPROF_LABELS_H */

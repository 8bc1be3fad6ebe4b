/*
 * pprof_labels.c
 *	  The labels that samples of a profile for pprof may have.
 */
#include "postgres.h"

#include "reader/site_owner.h"
#include "report/pprof_labels.h"

/* In the order of PlhPprofLabel. */
static const struct
{
	const char *name;
	int			owner_part;
}			labels[] = {
	{"memory_context", 0},
	{"backend_type", PLH_OWNER_BACKEND_TYPE},
	{"lifetime", 0},
	{"query_id", 0},
	{"pid", PLH_OWNER_PID},
	{"database", PLH_OWNER_DATABASE},
	{"user", PLH_OWNER_USER},
	{"application", PLH_OWNER_APPLICATION},
	{NULL, 0}
};

const char *
plh_pprof_labels_name(PlhPprofLabel label)
{
	return labels[label].name;
}

int
plh_pprof_labels_owner_part(PlhPprofLabel label)
{
	return labels[label].owner_part;
}

/* A number as text; NULL for 0, which stands for none. */
static const char *
number_text(int64 number)
{
	return number == 0 ? NULL : psprintf("%lld", (long long) number);
}

const char *
plh_pprof_labels_text(PlhPprofLabel label, const PlhListedSite *listed)
{
	static const PlhSiteOwner nobody = {0};
	const PlhSiteOwner *owner = listed->owner != NULL ? listed->owner : &nobody;

	switch (label)
	{
		case PLH_PPROF_MEMORY_CONTEXT:
			return listed->context_name;
		case PLH_PPROF_BACKEND_TYPE:
			return owner->backend_type;
		case PLH_PPROF_LIFETIME:
			return listed->lifetime;
		case PLH_PPROF_QUERY_ID:
			return number_text(listed->query_id);
		case PLH_PPROF_PID:
			return number_text(owner->pid);
		case PLH_PPROF_DATABASE:
			return owner->database;
		case PLH_PPROF_USER:
			return owner->user;
		case PLH_PPROF_APPLICATION:
			return owner->application;
	}
	return NULL;
}

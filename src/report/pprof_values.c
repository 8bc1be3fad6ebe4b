/*
 * pprof_values.c
 *	  The values that samples of a profile for pprof may have, in the order and by
 *	  the names of Go's own heap profiles.
 */
#include "postgres.h"

#include "report/pprof_values.h"

const PlhPprofValueType plh_pprof_value_types[] = {
	{"alloc_objects", "count", PLH_PPROF_ALLOC},
	{"alloc_space", "bytes", PLH_PPROF_ALLOC},
	{"inuse_objects", "count", PLH_PPROF_INUSE},
	{"inuse_space", "bytes", PLH_PPROF_INUSE},
	{"peak_space", "bytes", PLH_PPROF_PEAK}
};

const char *
plh_pprof_values_type_name(int number)
{
	static const char *const names[] = {"alloc", "inuse", "peak", NULL};

	return names[number];
}

PlhPprofValue
plh_pprof_values_first(int types)
{
	return types & PLH_PPROF_INUSE ? PLH_PPROF_INUSE_SPACE :
		types & PLH_PPROF_PEAK ? PLH_PPROF_PEAK_SPACE : PLH_PPROF_ALLOC_SPACE;
}

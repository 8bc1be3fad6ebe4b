/*
 * pprof_values.h
 *	  The values that samples of a profile for pprof may have, in the order and by
 *	  the names of Go's own heap profiles.
 */
#ifndef PLH_PPROF_VALUES_H
#define PLH_PPROF_VALUES_H

/* What can be asked for, a bit each. */
#define PLH_PPROF_ALLOC	0x01	/* allocated ever */
#define PLH_PPROF_INUSE	0x02	/* live, or its growth */
#define PLH_PPROF_PEAK	0x04	/* live when the process held most */

typedef enum PlhPprofValue
{
	PLH_PPROF_ALLOC_OBJECTS,
	PLH_PPROF_ALLOC_SPACE,
	PLH_PPROF_INUSE_OBJECTS,
	PLH_PPROF_INUSE_SPACE,
	PLH_PPROF_PEAK_SPACE
#define PLH_PPROF_VALUES (PLH_PPROF_PEAK_SPACE + 1)
} PlhPprofValue;

typedef struct PlhPprofValueType
{
	const char *name;
	const char *unit;
	int			type;			/* with which it is asked for */
} PlhPprofValueType;

/* In the order of PlhPprofValue. */
extern const PlhPprofValueType plh_pprof_value_types[];

/* The name of what the bit with that number asks for; NULL behind the last. */
extern const char *plh_pprof_values_type_name(int number);

/* The value by which samples are ordered, and which is shown first. */
extern PlhPprofValue plh_pprof_values_first(int types);

#endif							/* PLH_PPROF_VALUES_H */

/*
 * pprof_samples.h
 *	  The samples of a profile for pprof: sites of a list with the same stack and labels are one.
 *
 * They belong to the memory context in which they were made, and refer to the list.  Never called
 * inside palloc.
 */
#pragma once

#include "report/site_list.h"

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

/* In the order of PlhPprofValue, as in Go's own heap profiles. */
extern const PlhPprofValueType plh_pprof_value_types[];

/* All labels are texts, numbers too: stores of profiles keep no others. */
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

/* What a profile is to have. */
typedef struct PlhPprofOptions
{
	int			types;			/* PLH_PPROF_ALLOC and the like */
	int			labels;			/* a bit for each PlhPprofLabel */
	bool		symbolize;		/* names of functions; else addresses only */
	bool		helpers;		/* also functions that allocate for others */
	int			max_samples;	/* 0: any number */
	int			max_bytes;		/* 0: any number */
} PlhPprofOptions;

/* An address, and the functions that it is in. */
typedef struct PlhPprofLocation
{
	uint64		address;		/* as in dumps; 0: none */
	const PlhModuleRecord *module;	/* NULL: it is in none */
	uint64		text_start;		/* address of the module's code, as in dumps */
	const PlhFrameText *frames; /* innermost first */
	int			frame_count;	/* 0: without names */
} PlhPprofLocation;

typedef struct PlhPprofStack
{
	int			depth;
	uint32		locations[FLEXIBLE_ARRAY_MEMBER];	/* indexes, innermost
													 * first */
} PlhPprofStack;

/* What samples differ in; equal ones have equal pointers. */
typedef struct PlhPprofSampleKey
{
	const PlhPprofStack *stack;
	const char *labels[PLH_PPROF_LABELS];	/* NULL: it has no such label */
} PlhPprofSampleKey;

typedef struct PlhPprofSample
{
	PlhPprofSampleKey key;
	int64		values[PLH_PPROF_VALUES];	/* 0 where not asked for */
	int			order;			/* of its first site */
} PlhPprofSample;

typedef struct PlhPprofSamples
{
	PlhPprofLocation *locations;
	uint32		location_count;
	PlhPprofSample **samples;	/* those with a value, the largest first */
	int			count;
} PlhPprofSamples;

/* The name of what the bit with that number asks for; NULL behind the last. */
extern const char *plh_pprof_samples_type_name(int number);

/* The value by which samples are ordered, and which is shown first. */
extern PlhPprofValue plh_pprof_samples_first_value(int types);

/* The name of a label; NULL behind the last. */
extern const char *plh_pprof_samples_label_name(int label);

/* By which of PLH_OWNER_* the owners of sites must be told apart for a label. */
extern int	plh_pprof_samples_label_owner_part(PlhPprofLabel label);

extern const PlhPprofSamples *plh_pprof_samples_make(const PlhSiteList *list,
													 const PlhPprofOptions *options);

/* Is there a value other than 0?  Readers may do without samples that have none. */
extern bool plh_pprof_samples_have_value(const int64 *values);

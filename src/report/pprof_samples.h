/*
 * pprof_samples.h
 *	  The samples of a profile for pprof: the sites of a list, of which those are one
 *	  that have the same stack and labels.
 *
 * They belong to the memory context in which they were made, and refer to the list.
 * Never called inside palloc.
 */
#ifndef PLH_PPROF_SAMPLES_H
#define PLH_PPROF_SAMPLES_H

#include "report/pprof_labels.h"
#include "report/pprof_values.h"
#include "report/site_list.h"

/* What a profile is to have. */
typedef struct PlhPprofOptions
{
	int			types;			/* PLH_PPROF_ALLOC and the like */
	int			labels;			/* a bit for each PlhPprofLabel */
	bool		symbolize;		/* names of functions; else addresses only */
	bool		helpers;		/* also functions that allocate for others */
	int			max_samples;	/* 0: any number */
	int			max_bytes;		/* likewise */
} PlhPprofOptions;

/* An address, and the functions that it is in. */
typedef struct PlhPprofLocation
{
	uint64		address;		/* as in dumps; 0: none */
	const PlhModuleRecord *module;	/* NULL: it is in none */
	uint64		text_start;		/* address of the module's code, likewise */
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

extern const PlhPprofSamples *plh_pprof_samples_make(const PlhSiteList *list,
													 const PlhPprofOptions *options);
extern bool plh_pprof_samples_have_value(const int64 *values);

#endif							/* PLH_PPROF_SAMPLES_H */

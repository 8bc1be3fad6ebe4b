/*
 * pprof.h
 *	  Writes a list of sites as a profile that pprof reads.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "pprof/pprof_samples.h"

/* A profile is never told to have fewer bytes than this, which its head may take. */
#define PLH_PPROF_MIN_BYTES (16 * 1024)

/*
 * The output is binary, and may contain zero bytes.  Values of growth may be negative, as in
 * differences that pprof makes itself.  The list was made with symbols if names are
 * asked for, or if helpers are to be left out, which needs names.
 */
extern void plh_pprof_append(StringInfo output, const PlhSiteList *list,
							 const PlhPprofOptions *options);

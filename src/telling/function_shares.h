/*
 * function_shares.h
 *	  Which functions have most of what a statement holds, or several call sites of one cause.
 *
 * A function that is called from several places is one to the reader: its sites are added up, and
 * told without a line where that is not the same.  Those without a name are added up by their
 * caller.  Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"
#include "report/stack_text.h"

/* A share or part below this percentage is not told. */
#define PLH_LEAST_PERCENT 5

/* The most functions of a finding that are told. */
#define PLH_TOLD_SHARES 3

/* What all sites of a function have in contexts of one name. */
typedef struct PlhFunctionShare
{
	const char *function;		/* where it has no name, "functions called by
								 * f", or the place */
	const char *site;			/* the same with file and line, if these are
								 * known and one */
	const char *context_name;
	const char *nameless;		/* path of its binary where it has no name */
	const char *largest_site;	/* the site of all that holds most, if it is
								 * one of several here; else NULL */
	int64		largest_bytes;	/* of that */
	bool		is_named;		/* the finding is named after its site */
	int64		bytes;
} PlhFunctionShare;

typedef struct PlhFunctionShares
{
	PlhFunctionShare functions[PLH_SHARES]; /* those that are told come first */
	int			count;
	int			told;			/* of these: 0 where none has much */
	int64		all;			/* that parts are parts of */
	bool		has_more;		/* some sites are not known one by one */
	int64		others;			/* what all have that are not told */
	int64		others_most;	/* none of these has more */
	int64		unknown;		/* headers of chunks, rounding, what is free,
								 * and what was not sampled */
} PlhFunctionShares;

/* Without "texts" only the sum of all is known. */
extern void plh_function_shares_add_up(PlhFunctionShares *shares, const PlhFinding *finding,
									   const PlhProfileImage *image, PlhStackTexts *texts);

/* A part of all, in percent. */
static inline double
plh_function_shares_percent(const PlhFunctionShares *shares, int64 bytes)
{
	return 100.0 * bytes / shares->all;
}

/*
 * Is the finding named after its site?  Where many sites have little each, the largest of them
 * explains nothing.
 */
extern bool plh_function_shares_name_site(const PlhFinding *finding,
										  const PlhProfileImage *image, PlhStackTexts *texts);

/* The path of the binary of a function that is told without a name; NULL where all have theirs. */
extern const char *plh_function_shares_nameless(const PlhFinding *finding,
												const PlhProfileImage *image,
												PlhStackTexts *texts);

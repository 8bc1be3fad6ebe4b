/*
 * shared_function.h
 *	  The function that most of several stacks was allocated in, or in functions that it calls; and
 *	  which sites have one in common that is to blame.
 *
 * profile/shared_frames.h says which one that is.  Never called inside palloc.
 */
#pragma once

#include "profile/site_facts.h"
#include "reader/statement_list.h"
#include "report/stack_text.h"

typedef struct PlhSharedFunction
{
	const char *function;		/* name of it, or of a routine */
	const char *site;			/* the same, with file and line where these
								 * are known, and it allocates at one place */
	bool		is_site;		/* it is the call site of most, itself */
	int64		bytes;			/* of the samples that have it in their stacks */
	int64		all;			/* bytes of all samples */
	int			places;			/* call sites that lead through it */
	int			ways;			/* stacks that do */
	bool		has_more;		/* only the largest were looked at */
} PlhSharedFunction;

/* Returns false where no function is shared that is worth a name, or there is one stack only. */
extern bool plh_shared_function_find(PlhSharedFunction *shared, const PlhShare *shares, int count,
									 const PlhProfileImage *image, PlhStackTexts *texts);

/* The same of what all sites held at the peak of samples. */
extern bool plh_shared_function_of_peak(PlhSharedFunction *shared, const PlhProfileImage *image,
										PlhStackTexts *texts);

/* Its part of all samples, in percent. */
static inline double
plh_shared_function_percent(const PlhSharedFunction *shared)
{
	return 100.0 * shared->bytes / shared->all;
}

/*
 * The same of the highest peak of a statement, whose process has noted the frames that may be it.
 * Returns its name, and its part in percent; NULL where there is none.
 */
extern const char *plh_shared_function_of_statement(const PlhListedStatement *listed,
													const PlhProfileImage *image,
													PlhStackTexts *texts, int *percent);

/* Who knows functions by the names that an image's stacks have. */
typedef struct PlhNamedCauses
{
	const PlhProfileImage *image;
	PlhSymbols *symbols;
	PlhStackTexts *texts;		/* NULL: not needed so far */
} PlhNamedCauses;

/* What PlhCauses.find is, for such an argument. */
extern void plh_shared_function_causes(void *arg, const PlhShare *sites, int count,
									   uint32 *causes);

/*
 * The same of sites of a statement: what its plan's nodes allocate has no such function.  "stacks"
 * become the texts of their stacks.
 */
extern void plh_shared_function_numbers(PlhNamedCauses *named, const PlhShare *sites,
										int count, uint32 *functions, PlhStackText *stacks);

/*
 * advice.h
 *	  What to do next, in a few sentences.
 *
 * What is said of sessions that live is left out where nobody can do that.  Never called inside
 * palloc.
 */
#pragma once

#include "report/listed_site.h"
#include "report/malloc_callers.h"
#include "telling/finding_origin.h"
#include "telling/malloc_statement.h"
#include "telling/sentences.h"

/*
 * "named" is the site that the finding is named after, described; NULL where it is named after
 * none.  "origin" is where it came from, and "statement" what plh_malloc_statement_find says of it.
 */
extern void plh_advice_on_finding(PlhSaid *said, const PlhFinding *finding,
								  const PlhProfileImage *image, const PlhListedSite *named,
								  const PlhFindingOrigin *origin,
								  const PlhMallocStatement *statement);

/*
 * A sentence on what a process has loaded that keeps memory outside of contexts; NULL where that is
 * not known.
 */
extern const char *plh_advice_loaded(const PlhProfileImage *image);
extern const char *plh_advice_loaded_by(int pid, const char *noun);

/* Where to look first for memory outside of contexts, in a session that is there, or has ended. */
extern void plh_advice_where(PlhSaid *said, const PlhProfileImage *image);

/* The same of a session of which no more is known than that it runs a statement. */
extern void plh_advice_of_running(PlhSaid *said, int pid);

/* How to see the call sites of malloc, where they are not known. */
extern void plh_advice_sites(PlhSaid *said, const PlhProfileHeader *header);

/* What to do about what had memory outside of contexts that is free now, where that is known. */
extern void plh_advice_say_former(PlhSaid *said, const PlhProfileImage *image);

/* How to have it give back what malloc keeps, if it can. */
extern void plh_advice_say_trim(PlhSaid *said, const PlhProfileImage *image);

/*
 * How to see what of a process' memory is in use, where malloc does not tell: by giving back what
 * is free.
 */
extern void plh_advice_say_trim_to_see(PlhSaid *said, const PlhProfileImage *image);

/* Which libraries a process has that call malloc. */
extern void plh_advice_say_libraries(PlhSaid *said, const PlhMallocCallers *callers);

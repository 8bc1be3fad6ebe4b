/*
 * outside_advice.h
 *	  What to do about memory outside of contexts, which libraries have from malloc or have
 *	  mapped, in a few sentences.
 *
 * Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"
#include "report/malloc_callers.h"
#include "telling/sentences.h"

/*
 * A sentence on what a process has loaded that keeps memory outside of contexts; NULL where that is
 * not known.
 */
extern const char *plh_outside_advice_loaded(const PlhProfileImage *image);
extern const char *plh_outside_advice_loaded_by(int pid, const char *noun);

/* Where to look first, in a session that is there, or has ended. */
extern void plh_outside_advice_where(PlhSaid *said, const PlhProfileImage *image);

/* The same of a session of which no more is known than that it runs a statement. */
extern void plh_outside_advice_of_running(PlhSaid *said, int pid);

/* "of_running": most came while a statement ran that still runs, or may have done so. */
extern void plh_outside_advice_of_malloc(PlhSaid *said, const PlhProfileImage *image,
										 bool of_running);
extern void plh_outside_advice_of_mapped(PlhSaid *said, const PlhProfileImage *image,
										 bool of_running);

/* How to see the call sites of malloc, where they are not known. */
extern void plh_outside_advice_sites(PlhSaid *said, const PlhProfileHeader *header);

/* Where functions of a language keep values beyond a call. */
extern const char *plh_outside_advice_store(const char *language);

/* Which libraries a process has that call malloc. */
extern void plh_outside_advice_say_libraries(PlhSaid *said, const PlhMallocCallers *callers);

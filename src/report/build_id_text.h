/*
 * build_id_text.h
 *	  Writes build-ids in hexadecimal digits.
 *
 * Never called inside palloc.
 */
#ifndef PLH_BUILD_ID_TEXT_H
#define PLH_BUILD_ID_TEXT_H

#include "profile/profile_layout.h"

/* The text is palloc'd in the current memory context. */
extern char *plh_build_id_text(const PlhModuleRecord *module);

#endif							/* PLH_BUILD_ID_TEXT_H */

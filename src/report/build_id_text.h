/*
 * build_id_text.h
 *	  Build-ids as people and tools read them.
 *
 * Never called inside palloc.
 */
#ifndef PLH_BUILD_ID_TEXT_H
#define PLH_BUILD_ID_TEXT_H

#include "profile/profile_layout.h"

extern char *plh_build_id_text(const PlhModuleRecord *module);

#endif							/* PLH_BUILD_ID_TEXT_H */

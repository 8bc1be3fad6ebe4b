/*
 * server_binary.h
 *	  Finds the binary of the server that a profile is of.
 *
 * Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"

/*
 * The module, and the made-up address of its code.  NULL if it is not known, as of a dump of
 * another version in which no stack has it.
 */
extern const PlhModuleRecord *plh_server_binary_find(const PlhProfileImage *image,
													 uint64 *text_start);

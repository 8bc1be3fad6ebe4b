/*
 * page_proof.h
 *	  What the page of a process says of its last proof: what is lost, and who holds the rest.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "profile/profile_image.h"

/* A value of the document: null where nothing was proven. */
extern void plh_page_proof_append(StringInfo json, const PlhProfileImage *image);

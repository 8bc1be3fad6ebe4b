/*
 * page_unseen.h
 *	  What was not seen of a process, in sentences.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "judge/account.h"

/* Write an array of texts. */
extern void plh_page_unseen_append(StringInfo json, const PlhProfileImage *image,
								   const PlhAccount *account);

/*
 * site_owner.h
 *	  The processes that a call site is of, by what they have in common.
 *
 * Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"

/* What processes may be told apart by, a bit each. */
#define PLH_OWNER_PID			0x01
#define PLH_OWNER_BACKEND_TYPE	0x02
#define PLH_OWNER_DATABASE		0x04
#define PLH_OWNER_USER			0x08
#define PLH_OWNER_APPLICATION	0x10
#define PLH_OWNER_ALL			0x1F

/* What is not known, or was not asked for, is 0 or NULL. */
typedef struct PlhSiteOwner
{
	int			pid;
	const char *backend_type;
	const char *database;		/* as it is called now */
	const char *user;			/* as it is called now */
	const char *application;
} PlhSiteOwner;

/* The texts belong to the current memory context. */
extern void plh_site_owner_fill(PlhSiteOwner *owner, const PlhProfileImage *image, int parts);
extern bool plh_site_owner_is_same(const PlhSiteOwner *left, const PlhSiteOwner *right);

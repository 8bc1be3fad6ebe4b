/*
 * statement_limit.h
 *	  Which setting limits what a statement holds, and to how much.
 *
 * Pure functions, as those of suspect.h.
 */
#pragma once

#include "profile/profile_image.h"

typedef enum PlhLimitKind
{
	PLH_LIMIT_NONE,				/* no setting, or not one alone */
	PLH_LIMIT_NODE,				/* work_mem: nodes of a plan */
	PLH_LIMIT_MAINTENANCE,		/* maintenance_work_mem */
	PLH_LIMIT_AUTOVACUUM,		/* autovacuum_work_mem, if it is set */
	PLH_LIMIT_DECODING,			/* logical_decoding_work_mem */
	PLH_LIMIT_UNKNOWN			/* a setting that profiles don't have */
} PlhLimitKind;

/* The setting that limits what is allocated at a site, if any does. */
extern PlhLimitKind plh_statement_limit_kind(const PlhProfileImage *image,
											 const PlhSiteRecord *site);

/* What a limit of that kind allows, in bytes; 0 without a limit. */
extern int64 plh_statement_limit_bytes(const PlhProfileHeader *header, PlhLimitKind kind);

/*
 * What is allocated at a site may be that large and no suspect, in bytes; 0 where there is no such
 * size, and the largest number where it is a setting that profiles don't have.  What maintains
 * tables may run plans, too, so that the larger limit counts.
 */
extern int64 plh_statement_limit_judged(const PlhProfileImage *image, const PlhSiteRecord *site);

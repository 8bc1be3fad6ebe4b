/*
 * followed_parts.h
 *	  The parts of a process that its history follows: families of contexts, or call sites.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/family.h"
#include "profile/profile_image.h"

typedef struct PlhFollowedPart
{
	const PlhFamily *family;	/* NULL: contexts of one name that is not
								 * known, or a call site */
	uint32		context_name;	/* offset of the string: of the site, or of
								 * the contexts that were met first */
	const PlhSiteRecord *site;	/* NULL: contexts.  Others may differ from it
								 * in the statement */
	int			course_count;
	const PlhCourseRecord *courses[PLH_COURSES];
} PlhFollowedPart;

typedef struct PlhFollowedParts
{
	int			point_count;	/* of the history */
	int			count;
	PlhFollowedPart parts[PLH_COURSES]; /* the largest at the last point first */
} PlhFollowedParts;

/* Palloc'd; it refers to the image. */
extern PlhFollowedParts *plh_followed_parts_make(const PlhProfileImage *image, PlhCourseKind kind);

/*
 * What a part held at a point of the history, and how many contexts: the sum of those that were
 * followed then.  -1 if none was; of sites there is no number of contexts.
 */
extern int64 plh_followed_parts_bytes(const PlhFollowedPart *part, int point);
extern int64 plh_followed_parts_contexts(const PlhFollowedPart *part, int point);

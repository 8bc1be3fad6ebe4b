/*
 * followed_parts.c
 *	  The parts of a process that its history follows: families of contexts, or call sites.
 *
 * The owner follows contexts of one name and lifetime, and sites, which differ in the statement,
 * too (profile_courses.c).  What belongs together for the reader is added up here.  The figures may
 * be damaged ones, and no more courses count than an owner writes.
 */
#include "postgres.h"

#include "judge/followed_parts.h"

/* Fill in what the course of contexts is of.  Returns false if they have no name. */
static bool
find_contexts(PlhFollowedPart *part, const PlhProfileImage *image, const PlhCourseRecord *course)
{
	const PlhContextRecord *contexts = plh_profile_image_context(image, course->followed);
	const PlhStringRecord *name = contexts == NULL ? NULL :
		plh_profile_image_string(image, contexts->context_name);

	if (name == NULL)
		return false;
	part->family = plh_family_of(name->text);
	part->context_name = contexts->context_name;
	return true;
}

/* Fill in what the course of a site is of.  Returns false if the site was given up. */
static bool
find_site(PlhFollowedPart *part, const PlhProfileImage *image, const PlhCourseRecord *course)
{
	const PlhSiteRecord *site = plh_profile_image_site(image, course->followed);

	if (site == NULL || site->record.born != course->born ||
		memcmp(&site->key, &course->key, sizeof(PlhSiteKey)) != 0)
		return false;
	part->site = site;
	part->context_name = site->key.context_name;
	return true;
}

/* Do these belong together? */
static bool
is_same_part(const PlhFollowedPart *left, const PlhFollowedPart *right)
{
	if (left->family != NULL || right->family != NULL)
		return left->family == right->family;
	/* the parts of a list are all of contexts, or all of sites */
	Assert((left->site == NULL) == (right->site == NULL));
	return left->context_name == right->context_name &&
		(left->site == NULL ||
		 (left->site->key.stack == right->site->key.stack &&
		  left->site->key.lifetime == right->site->key.lifetime));
}

/* Returns the part that a course belongs to; it is entered if it is new. */
static PlhFollowedPart *
enter(PlhFollowedParts *parts, const PlhFollowedPart *found)
{
	int			i = 0;

	while (i < parts->count && !is_same_part(&parts->parts[i], found))
		i++;
	if (i == parts->count)
		parts->parts[parts->count++] = *found;
	return &parts->parts[i];
}

/* The sum of figures that are stored as one more, or 0; -1 if all are 0. */
static int64
add_figure(int64 sum, uint32 stored)
{
	return stored == 0 ? sum : Max(sum, 0) + stored - 1;
}

int64
plh_followed_parts_bytes(const PlhFollowedPart *part, int point)
{
	int64		kilobytes = -1;

	for (int i = 0; i < part->course_count; i++)
		kilobytes = add_figure(kilobytes, part->courses[i]->kilobytes[point]);
	return kilobytes < 0 ? -1 : kilobytes * 1024;
}

int64
plh_followed_parts_contexts(const PlhFollowedPart *part, int point)
{
	int64		contexts = -1;

	for (int i = 0; i < part->course_count && part->site == NULL; i++)
		contexts = add_figure(contexts, part->courses[i]->contexts[point]);
	return contexts;
}

/* qsort_arg comparator: the largest at a point first. */
static int
compare_parts(const void *a, const void *b, void *arg)
{
	int64		left = plh_followed_parts_bytes(a, *(const int *) arg);
	int64		right = plh_followed_parts_bytes(b, *(const int *) arg);

	return left > right ? -1 : left < right;
}

PlhFollowedParts *
plh_followed_parts_make(const PlhProfileImage *image, PlhCourseKind kind)
{
	PlhFollowedParts *parts = palloc0(sizeof(PlhFollowedParts));
	const PlhCourseRecord *course;
	uint32		position = 0;
	int			last;

	parts->point_count = Min(image->header->history_count, PLH_HISTORY_POINTS);
	for (int taken = 0; taken < PLH_COURSES &&
		 (course = plh_profile_image_next_course(image, &position)) != NULL;)
	{
		PlhFollowedPart found = {0};
		PlhFollowedPart *part;

		if (course->course_of != kind ||
			!(kind == PLH_COURSE_SITE ? find_site(&found, image, course) :
			  find_contexts(&found, image, course)))
			continue;
		part = enter(parts, &found);
		part->courses[part->course_count++] = course;
		taken++;
	}
	last = Max(parts->point_count - 1, 0);
	qsort_arg(parts->parts, parts->count, sizeof(PlhFollowedPart), compare_parts, &last);
	return parts;
}

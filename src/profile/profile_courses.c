/*
 * profile_courses.c
 *	  What a profile's largest contexts and sites held at each point of the history.
 *
 * This code runs inside palloc, once for each point of the history, and so once per second at most.
 *
 * A course begins when contexts of one name and lifetime, or a site, hold LEAST_BYTES at a point.
 * It is followed from then on, also down to 0, until its place is taken by another that holds more.
 * So a process has no course before it is large, and all courses together take a fraction of what
 * they tell of.
 *
 * A record of a course is never used for another one: it is given up, and a reader finds either of
 * them, or none.  Records of contexts stay where they are.  A site may be given up, and its key
 * then stand for another one, which is born later: its course is over.
 */
#include "postgres.h"

#include "base/page_layout.h"
#include "profile/profile.h"
#include "profile/profile_courses.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"

/* What holds less is not worth a course, whose record takes 2 kB at most. */
#define LEAST_BYTES ((int64) 1024 * 1024)

/*
 * A course whose place is taken is lost.  So another must hold several times as much: contexts that
 * have more by turns would not have a course otherwise.
 */
#define TAKEOVER_FACTOR 2

/* At each point sites are looked for in the next part of the profile, which takes some 50 us. */
#define SEARCH_BYTES ((Size) 1024 * 1024)

/* Offsets of records, by PlhCourseKind; 0: none. */
static struct
{
	uint32		courses[PLH_COURSE_KINDS][PLH_COURSES];
}			state;

/* What is done at a point of the history. */
typedef struct Visit
{
	uint32		point;
	int			begun;			/* courses that began there */
	bool		refused;		/* there was no room for one */
} Visit;

static uint32
stored(int64 figure)
{
	return 1 + (uint32) Max(0, Min(figure, (int64) PG_UINT32_MAX - 1));
}

static Size
bytes_of(PlhCourseKind kind)
{
	return offsetof(PlhCourseRecord, contexts) +
		(kind == PLH_COURSE_CONTEXTS ? sizeof(uint32) * PLH_HISTORY_POINTS : 0);
}

/* The site of a course, or NULL if it was given up or has another key now. */
static const PlhSiteRecord *
site_of(const PlhCourseRecord *course)
{
	uint32		offset =
		plh_profile_records_find_site(&course->key, plh_profile_records_hash_site(&course->key));
	const PlhSiteRecord *site = offset == 0 ? NULL : plh_profile_records_at(offset);

	return offset == course->followed && offset != 0 &&
		site->record.born == course->born ? site : NULL;
}

/* Note what is held at a point, if it is still there. */
static void
add_figures(PlhCourseRecord *course, uint32 point)
{
	if (course->course_of == PLH_COURSE_CONTEXTS)
	{
		const PlhContextRecord *record = plh_profile_records_at(course->followed);

		course->kilobytes[point] = stored(record->bytes / 1024);
		course->contexts[point] = stored(record->instances);
	}
	else
	{
		const PlhSiteRecord *site = site_of(course);

		course->kilobytes[point] = site == NULL ? 0 : stored(site->counters.live_bytes / 1024);
	}
}

/* Has that record a course, which is not over? */
static bool
is_followed(PlhCourseKind kind, const PlhRecord *record)
{
	uint32		offset = plh_profile_records_offset(record);

	for (int i = 0; i < PLH_COURSES && state.courses[kind][i] != 0; i++)
	{
		const PlhCourseRecord *course = plh_profile_records_at(state.courses[kind][i]);

		if (course->followed == offset && course->born == record->born)
			return true;
	}
	return false;
}

/*
 * Returns the place for the course of what holds so much at a point: a free one, or that of the
 * course that holds least.  NULL if that is too much to give it up.
 */
static uint32 *
place_for(PlhCourseKind kind, int64 bytes, uint32 point)
{
	uint32		least = PG_UINT32_MAX;
	uint32	   *place = NULL;

	for (int i = 0; i < PLH_COURSES; i++)
	{
		uint32	   *offset = &state.courses[kind][i];
		const PlhCourseRecord *course;

		if (*offset == 0)
			return offset;
		course = plh_profile_records_at(*offset);
		if (course->kilobytes[point] < least)
		{
			least = course->kilobytes[point];
			place = offset;
		}
	}
	return bytes / 1024 >= TAKEOVER_FACTOR * (int64) least ? place : NULL;
}

/*
 * Begin the course of a record that holds so much, if there is a place and room.  What holds
 * something is not given up while room is made.
 */
static void
begin_course(PlhCourseKind kind, const PlhRecord *followed, int64 bytes, Visit *visit)
{
	uint32	   *place = place_for(kind, bytes, visit->point);
	uint32		former;
	PlhCourseRecord *course;

	if (place == NULL || visit->refused || visit->begun == PLH_COURSES)
		return;
	course = plh_profile_recycling_take(bytes_of(kind));
	if (course == NULL)
	{
		visit->refused = true;
		return;
	}
	course->course_of = kind;
	course->followed = plh_profile_records_offset(followed);
	course->born = followed->born;
	if (kind == PLH_COURSE_SITE)
		course->key = ((const PlhSiteRecord *) followed)->key;
	add_figures(course, visit->point);
	former = *place;
	*place = plh_profile_records_add(course, PLH_RECORD_COURSE, bytes_of(kind), followed->hash);
	if (former != 0)
		plh_profile_records_give_up(former);
	visit->begun++;
}

static void
begin_contexts(Visit *visit)
{
	for (PlhContextRecord *contexts = plh_profile_next_context(NULL);
		 contexts != NULL; contexts = plh_profile_next_context(contexts))
	{
		if (contexts->bytes >= LEAST_BYTES && !is_followed(PLH_COURSE_CONTEXTS, &contexts->record))
			begin_course(PLH_COURSE_CONTEXTS, &contexts->record, contexts->bytes, visit);
	}
}

static bool
is_large_site(const PlhRecord *record)
{
	return record->kind == PLH_RECORD_SITE &&
		((const PlhSiteRecord *) record)->counters.live_bytes >= LEAST_BYTES &&
		plh_profile_records_offset(record) != plh_profile->catch_all_site;
}

/* Begin the courses of sites that have become large, in a part of the profile. */
static void
begin_sites(Visit *visit)
{
	Size		searched = 0;
	const PlhRecord *record;

	while (searched < SEARCH_BYTES && (record = plh_profile_records_step()) != NULL)
	{
		searched += record->bytes;
		if (is_large_site(record) && !is_followed(PLH_COURSE_SITE, record))
			begin_course(PLH_COURSE_SITE, record,
						 ((const PlhSiteRecord *) record)->counters.live_bytes,
						 visit);
	}
}

/*
 * Add that point of the history, which readers do not see yet, to all courses.  At the first one
 * nothing begins: many a process ends before it has another.
 */
void
plh_profile_courses_add_point(uint32 point)
{
	Visit		visit = {point};

	Assert(plh_guard_held && CritSectionCount == 0);
	Assert(point < PLH_HISTORY_POINTS);
	for (int i = 0; i < PLH_COURSE_KINDS * PLH_COURSES; i++)
	{
		uint32		offset = state.courses[i / PLH_COURSES][i % PLH_COURSES];

		if (offset != 0)
			add_figures(plh_profile_records_at(offset), point);
	}
	if (point == 0)
		return;
	begin_contexts(&visit);
	begin_sites(&visit);
	plh_profile->courses_refused = visit.refused;
}

/* "kept" are numbers of points in their order, of which each is thus no less than its index. */
static void
keep(uint32 *figures, const uint8 *kept, int count)
{
	for (int i = 0; i < count; i++)
		figures[i] = figures[kept[i]];
}

/* Keep some of the points only, those that the history keeps. */
void
plh_profile_courses_keep(const uint8 *kept, int count)
{
	for (int i = 0; i < PLH_COURSE_KINDS * PLH_COURSES; i++)
	{
		uint32		offset = state.courses[i / PLH_COURSES][i % PLH_COURSES];
		PlhCourseRecord *course;

		if (offset == 0)
			continue;
		course = plh_profile_records_at(offset);
		keep(course->kilobytes, kept, count);
		if (course->course_of == PLH_COURSE_CONTEXTS)
			keep(course->contexts, kept, count);
	}
}

/* Forget the courses in a forked child: they are the parent's. */
PLH_EVERY_PROCESS void
plh_profile_courses_forget(void)
{
	memset(&state, 0, sizeof(state));
}

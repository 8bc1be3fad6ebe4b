/*
 * test_followed_parts.c
 *	  What becomes of the courses in a profile: families and call sites over time.
 */
#include "postgres.h"

#include "profile/profile_image.h"
#include "reader_tests.h"
#include "judge/followed_parts.h"

#define POINTS 4

/* A profile that is being written, with a history of POINTS. */
static PlhProfileHeader *header;
static PlhProfileImage image;

static void *
append(PlhRecordKind kind, Size bytes)
{
	PlhRecord  *record = (PlhRecord *) ((char *) header + header->used_bytes);

	record->kind = kind;
	record->bytes = TYPEALIGN(8, bytes);
	header->used_bytes += record->bytes;
	return record;
}

static uint32
offset_of(const void *record)
{
	return (const char *) record - (const char *) header;
}

static uint32
append_string(const char *text)
{
	PlhStringRecord *string = append(PLH_RECORD_STRING,
									 offsetof(PlhStringRecord, text) + strlen(text) + 1);

	string->text_bytes = strlen(text);
	strcpy(string->text, text);
	return offset_of(string);
}

/* A course, without figures. */
static PlhCourseRecord *
append_course(PlhCourseKind kind, uint32 followed)
{
	PlhCourseRecord *course = append(PLH_RECORD_COURSE,
									 offsetof(PlhCourseRecord, contexts) +
									 (kind == PLH_COURSE_CONTEXTS ?
									  sizeof(uint32) * PLH_HISTORY_POINTS : 0));

	course->course_of = kind;
	course->followed = followed;
	return course;
}

/* The course of contexts of a name, which held that many kilobytes from a point on. */
static PlhCourseRecord *
append_contexts(uint32 name, uint32 lifetime, int since, uint32 kilobytes)
{
	PlhContextRecord *contexts = append(PLH_RECORD_CONTEXT, sizeof(PlhContextRecord));
	PlhCourseRecord *course = append_course(PLH_COURSE_CONTEXTS, offset_of(contexts));

	contexts->context_name = name;
	contexts->lifetime = lifetime;
	for (int point = since; point < POINTS; point++)
	{
		course->kilobytes[point] = 1 + kilobytes;
		course->contexts[point] = 1 + 2;
	}
	return course;
}

/* The course of a site. */
static PlhCourseRecord *
append_site(uint32 name, uint32 statement, uint32 kilobytes)
{
	PlhSiteRecord *site = append(PLH_RECORD_SITE, sizeof(PlhSiteRecord));
	PlhCourseRecord *course = append_course(PLH_COURSE_SITE, offset_of(site));

	site->key.context_name = name;
	site->key.statement = statement;
	course->key = site->key;
	for (int point = 0; point < POINTS; point++)
		course->kilobytes[point] = 1 + kilobytes;
	return course;
}

static void
begin(void)
{
	header = calloc(1, 1024 * 1024);
	header->used_bytes = MAXALIGN(sizeof(PlhProfileHeader));
	header->history_count = POINTS;
}

/* The parts of that kind in what was written. */
static PlhFollowedParts *
parts_of(PlhCourseKind kind)
{
	plh_profile_image_adopt(&image, header, header->used_bytes);
	return plh_followed_parts_make(&image, kind);
}

static void
test_families_over_time(void)
{
	PlhFollowedParts *parts;
	uint32		foo;

	begin();
	foo = append_string("foo");
	append_contexts(append_string("CachedPlan"), PLH_LIFETIME_SESSION, 1, 1000);
	append_contexts(append_string("CachedPlanSource"), PLH_LIFETIME_SESSION, 2, 500);
	append_contexts(foo, PLH_LIFETIME_SESSION, 0, 2000);
	append_contexts(foo, PLH_LIFETIME_QUERY, 0, 3000);
	append_contexts(append_string("bar"), PLH_LIFETIME_SESSION, POINTS, 1);
	parts = parts_of(PLH_COURSE_CONTEXTS);
	ok(parts->count == 3 && parts->point_count == POINTS,
	   "contexts that are of one family, or have one name, are one part");
	ok(parts->parts[0].family == NULL && parts->parts[0].context_name == foo &&
	   plh_followed_parts_bytes(&parts->parts[0], 0) == 5000 * 1024,
	   "the part that holds most comes first");
	ok(parts->parts[1].family != NULL &&
	   plh_followed_parts_bytes(&parts->parts[1], 1) == 1000 * 1024 &&
	   plh_followed_parts_bytes(&parts->parts[1], 2) == 1500 * 1024 &&
	   plh_followed_parts_contexts(&parts->parts[1], 1) == 2 &&
	   plh_followed_parts_contexts(&parts->parts[1], 2) == 4,
	   "a family is the sum of what was followed at a point");
	ok(plh_followed_parts_bytes(&parts->parts[1], 0) == -1 &&
	   plh_followed_parts_contexts(&parts->parts[1], 0) == -1,
	   "a family of which nothing was followed at a point is not known");
	ok(plh_followed_parts_bytes(&parts->parts[2], POINTS - 1) == -1,
	   "a part that is not known at the last point comes last");
	ok(parts_of(PLH_COURSE_SITE)->count == 0, "contexts are no call sites");
	free(header);
}

static void
test_sites_over_time(void)
{
	PlhFollowedParts *parts;
	PlhCourseRecord *born_later;
	PlhCourseRecord *other_key;
	uint32		name;

	begin();
	name = append_string("foo");
	append_site(name, 0, 1000);
	append_site(name, append_string("not a statement"), 500);
	append_site(append_string("bar"), 0, 200);
	parts = parts_of(PLH_COURSE_SITE);
	ok(parts->count == 2 && parts->parts[0].course_count == 2 &&
	   plh_followed_parts_bytes(&parts->parts[0], 0) == 1500 * 1024,
	   "sites that differ in the statement are one part");
	ok(plh_followed_parts_contexts(&parts->parts[0], 0) == -1,
	   "a site has no number of contexts");
	born_later = append_site(append_string("born later"), 0, 9000);
	born_later->born = 1;
	other_key = append_site(append_string("other key"), 0, 9000);
	other_key->key.statement = name;
	append_course(PLH_COURSE_SITE, name);
	append_course(PLH_COURSE_SITE, 0);
	ok(parts_of(PLH_COURSE_SITE)->count == 2,
	   "the course of a site that is there no more is of nothing");
	free(header);
}

static void
test_damaged_courses(void)
{
	PlhCourseRecord *course;
	uint32		name;

	begin();
	name = append_string("foo");
	course = append_contexts(name, PLH_LIFETIME_SESSION, 0, 1);
	header->used_bytes -= 64;
	course->record.bytes -= 64;
	ok(parts_of(PLH_COURSE_CONTEXTS)->count == 0,
	   "a course without room for its figures is passed over");
	course = append_contexts(0, PLH_LIFETIME_SESSION, 0, 1);
	course = append_contexts(name, PLH_LIFETIME_SESSION, 0, 1);
	course->course_of = 77;
	append_course(PLH_COURSE_CONTEXTS, name);
	ok(parts_of(PLH_COURSE_CONTEXTS)->count == 0,
	   "courses of contexts without a name, of unknown kinds and of other records are passed over");
	for (int i = 0; i < 10 * PLH_COURSES; i++)
		append_contexts(append_string("foo"), PLH_LIFETIME_SESSION, 0, PG_UINT32_MAX - 1);
	header->history_count = PG_UINT32_MAX;
	ok(parts_of(PLH_COURSE_CONTEXTS)->count == PLH_COURSES &&
	   parts_of(PLH_COURSE_CONTEXTS)->point_count == PLH_HISTORY_POINTS,
	   "there are no more parts and points than an owner writes");
	free(header);
}

void
test_followed_parts(void)
{
	test_families_over_time();
	test_sites_over_time();
	test_damaged_courses();
}

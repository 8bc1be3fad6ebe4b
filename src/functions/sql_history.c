/*
 * sql_history.c
 *	  The functions of SQL that show what a process held over time, as a whole and by its parts.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/compat.h"
#include "functions/sql_arguments.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "judge/followed_parts.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"
#include "report/context_list.h"
#include "report/listed_site.h"

PLH_FUNCTION(pg_leakhunt_history);

/* What a part is called: the columns name, context_name and stack_id. */
typedef struct PartName
{
	const char *name;
	const char *context_name;	/* NULL: there are several */
	bool		has_stack;
	int64		stack_id;
} PartName;

/* A row: what a part held at a time; negative figures are not known. */
static void
put_part(TimestampTz at, const PartName *name, int64 bytes, int64 contexts, PlhRowSink *sink)
{
	PlhRow		row = {0};

#include "functions/columns/history.def"
	plh_sql_rows_finish(&row, sink);
}

/* What a process held as a whole: the sums are parts with the names of columns. */
static void
put_whole(const PlhProfileHeader *header, PlhRowSink *sink)
{
	for (uint32 i = 0; i < Min(header->history_count, PLH_HISTORY_POINTS); i++)
	{
		const PlhHistoryPoint *point = &header->history[i];
		const struct
		{
			PartName	name;
			int64		bytes;
		}			sums[] = {
			{{"live_bytes"}, point->live_bytes},
			{{"context_bytes"}, point->context_bytes},
			{{"malloc_bytes"}, point->malloc_bytes},
			{{"malloc_free_bytes"}, point->malloc_free_bytes},
			{{"rss_anon_bytes"}, point->own_bytes}
		};

		for (int j = 0; j < lengthof(sums); j++)
			put_part(point->at, &sums[j].name, sums[j].bytes, -1, sink);
	}
}

/* The name of a family, or of contexts that are a family of their own. */
static void
name_contexts(PartName *name, const PlhFollowedPart *part, const PlhProfileImage *image)
{
	if (part->family != NULL)
		name->name = part->family->title;
	else
		name->name = name->context_name = plh_context_list_name(image, part->context_name);
}

/* The name of a call site, as in the report. */
static void
name_site(PartName *name, const PlhFollowedPart *part,
		  const PlhProfileImage *image, PlhStackTexts *texts)
{
	PlhSiteFacts facts;
	PlhListedSite listed;

	plh_site_facts_resolve(&facts, image, part->site, NULL);
	plh_listed_site_start(&listed, image, &facts);
	plh_listed_site_describe_stack(&listed, texts);
	name->name = listed.stack.site;
	name->context_name = listed.context_name;
	name->has_stack = listed.has_stack;
	name->stack_id = listed.stack.stack_id;
}

static PartName *
name_parts(const PlhFollowedParts *parts, const PlhProfileImage *image,
		   PlhCourseKind kind, PlhRowSink *sink)
{
	PartName   *names = palloc0(sizeof(PartName) * PLH_COURSES);
	PlhStackTexts *texts = kind != PLH_COURSE_SITE ? NULL :
		plh_stack_text_open(plh_sql_rows_symbols(sink), image);

	for (int i = 0; i < parts->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (kind == PLH_COURSE_SITE)
			name_site(&names[i], &parts->parts[i], image, texts);
		else
			name_contexts(&names[i], &parts->parts[i], image);
	}
	return names;
}

static void
report_missing_parts(const PlhProfileHeader *header)
{
	if (header->courses_refused != 0)
		ereport(NOTICE, (errmsg("the history of process %d is incomplete", header->pid),
						 errdetail("Its profile is full."),
						 errhint("pg_leakhunt.max_profile_size limits the size of a profile.")));
	else if (!plh_profile_image_is_whole(header))
		ereport(NOTICE, (errmsg("the profile of process %d is incomplete", header->pid),
						 errdetail("The file system is too full for all of its profile.")));
}

/* The history of the parts of a process: at each point, the largest first. */
static void
put_parts(const PlhProfileImage *image, PlhCourseKind kind, PlhRowSink *sink)
{
	const PlhFollowedParts *parts = plh_followed_parts_make(image, kind);
	const PartName *names = name_parts(parts, image, kind, sink);

	for (int point = 0; point < parts->point_count; point++)
	{
		for (int i = 0; i < parts->count; i++)
			put_part(image->header->history[point].at, &names[i],
					 plh_followed_parts_bytes(&parts->parts[i], point),
					 plh_followed_parts_contexts(&parts->parts[i], point), sink);
	}
	report_missing_parts(image->header);
}

/* The kind of parts that "by" names. */
static PlhCourseKind
kind_of(const char *name)
{
	if (strcmp(name, "family") == 0)
		return PLH_COURSE_CONTEXTS;
	if (strcmp(name, "site") == 0)
		return PLH_COURSE_SITE;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("cannot show a history by \"%s\"", name),
					errhint("A history is by family or site.")));
}

/*
 * pg_leakhunt_history(target, by): what a process or the process of a dump held at times, as a
 * whole or by its parts.
 */
Datum
pg_leakhunt_history(PG_FUNCTION_ARGS)
{
	PlhTarget	target = plh_sql_source_target(fcinfo, 2);
	const char *by = plh_sql_arguments_text(fcinfo, 1);
	PlhCourseKind kind = by == NULL ? PLH_COURSE_CONTEXTS : kind_of(by);
	PlhSourceProfile profile;
	PlhRowSink	sink;

	plh_sql_rows_start(fcinfo, &sink);
	if (!plh_sql_source_profile(&profile, &target))
		return (Datum) 0;
	if (by == NULL)
		put_whole(profile.image->header, &sink);
	else
		put_parts(profile.image, kind, &sink);
	return (Datum) 0;
}

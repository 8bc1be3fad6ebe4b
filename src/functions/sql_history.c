/*
 * sql_history.c
 *	  The functions of SQL that show what a process held over time, as a whole and by
 *	  its parts.
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

/* A figure, or null where it is negative. */
static void
put_if_known(PlhRow *row, int64 value)
{
	if (value < 0)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_bigint(row, value);
}

/* The history of a process as a whole. */
static void
put_whole(const PlhProfileHeader *header, PlhRowSink *sink)
{
	for (uint32 i = 0; i < Min(header->history_count, PLH_HISTORY_POINTS); i++)
	{
		const PlhHistoryPoint *point = &header->history[i];
		PlhRow		row = {0};

		plh_sql_rows_put_timestamptz(&row, point->at);
		plh_sql_rows_put_bigint(&row, point->live_bytes);
		plh_sql_rows_put_bigint(&row, point->context_bytes);
		put_if_known(&row, point->malloc_bytes);
		put_if_known(&row, point->malloc_free_bytes);
		plh_sql_rows_put_bigint(&row, point->own_bytes);
		plh_sql_rows_finish(&row, sink);
	}
}

/* The name of a family, or of contexts that are a family of their own. */
static void
name_contexts(PartName *name, const PlhFollowedPart *part,
			  const PlhProfileImage *image)
{
	if (part->family != NULL)
		name->name = part->family->title;
	else
		name->name = name->context_name =
			plh_context_list_name(image, part->context_name);
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

/* The names of all parts. */
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

/* What a part held at a point. */
static void
put_part(const PlhFollowedPart *part, const PartName *name, int point,
		 TimestampTz at, PlhRowSink *sink)
{
	PlhRow		row = {0};

	plh_sql_rows_put_timestamptz(&row, at);
	plh_sql_rows_put_text(&row, name->name);
	plh_sql_rows_put_text(&row, name->context_name);
	put_if_known(&row, plh_followed_parts_bytes(part, point));
	put_if_known(&row, plh_followed_parts_contexts(part, point));
	put_if_known(&row, name->has_stack ? name->stack_id : -1);
	plh_sql_rows_finish(&row, sink);
}

/* Say where a part may be missing. */
static void
report_missing_parts(const PlhProfileHeader *header)
{
	if (header->courses_refused != 0)
		ereport(NOTICE,
				(errmsg("the history of process %d is incomplete",
						header->pid),
				 errdetail("Its profile is full."),
				 errhint("pg_leakhunt.max_profile_size limits the size of a profile.")));
	else if (!plh_profile_image_is_whole(header))
		ereport(NOTICE,
				(errmsg("the profile of process %d is incomplete",
						header->pid),
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
			put_part(&parts->parts[i], &names[i], point,
					 image->header->history[point].at, sink);
	}
	report_missing_parts(image->header);
}

/* The kind of parts that the argument "by" names. */
static PlhCourseKind
get_kind(FunctionCallInfo fcinfo, int number)
{
	const char *name;

	plh_sql_rows_check_not_null(fcinfo, number, "by");
	name = plh_sql_arguments_text(fcinfo, number);
	if (strcmp(name, "family") == 0)
		return PLH_COURSE_CONTEXTS;
	if (strcmp(name, "site") == 0)
		return PLH_COURSE_SITE;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("cannot show a history by \"%s\"", name),
			 errhint("A history is by family or site.")));
}

/* The profile that argument 0 names; NULL, after a WARNING, if there is none. */
static const PlhProfileImage *
get_image(FunctionCallInfo fcinfo)
{
	int			pid;

	if (!plh_sql_source_names_process(fcinfo))
	{
		plh_sql_rows_check_not_null(fcinfo, 0, "file");
		return plh_sql_source_dump(plh_sql_arguments_text(fcinfo, 0), false)->image;
	}
	pid = plh_sql_rows_get_pid(fcinfo, 0);
	return plh_sql_source_publish_and_save() ?
		plh_sql_source_process(pid, WARNING) : NULL;
}

/*
 * pg_leakhunt_history(pid), and with file: what a process held at times;
 * pg_leakhunt_history(pid, by), and with file: what its parts did.
 */
Datum
pg_leakhunt_history(PG_FUNCTION_ARGS)
{
	bool		by_parts = PG_NARGS() == 2;
	PlhCourseKind kind = PLH_COURSE_CONTEXTS;
	PlhRowSink	sink;
	const PlhProfileImage *image;

	if (by_parts)
		kind = get_kind(fcinfo, 1);
	else
		plh_sql_rows_check_arguments(fcinfo, 1);
	plh_sql_rows_start(fcinfo, &sink);
	image = get_image(fcinfo);
	if (image == NULL)
		return (Datum) 0;
	if (by_parts)
		put_parts(image, kind, &sink);
	else
		put_whole(image->header, &sink);
	return (Datum) 0;
}

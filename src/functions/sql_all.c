/*
 * sql_all.c
 *	  The call sites of all processes that the caller may see, merged, for
 *	  functions of SQL that show a source.
 *
 * These are the processes of pg_leakhunt_report, crashed ones included.  A
 * profile that goes away meanwhile is left out, as there.
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "functions/sql_all.h"
#include "functions/sql_rows.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "reader/profile_merge.h"

/* What is collected from the profiles. */
typedef struct Collection
{
	PlhProfileMerge *merge;
	bool		growth;			/* only of processes that have a baseline */
	int			left_out;		/* others */
} Collection;

/* PlhProfileVisitor: add the sites of a process. */
static void
add_process(PlhProfileImage *image, void *arg)
{
	Collection *collection = arg;
	PlhBaseline *baseline = !collection->growth ? NULL :
		plh_baseline_file_read(plh_profile_directory_path(), image);

	if (collection->growth && baseline == NULL)
		collection->left_out++;
	else
		plh_profile_merge_add(collection->merge, image, baseline);
}

/* Say that there is nothing to show, and why: at that level, if nobody is. */
static void
report_nothing(const Collection *collection, int level)
{
	if (collection->left_out > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there is no baseline of any process"),
				 errhint("Growth is counted from the last call of pg_leakhunt_baseline_all.")));
	else
		ereport(level,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no process has a profile"),
				 errdetail("None that you may see has kept enough samples yet.")));
}

/* Say if only a part of the processes is shown. */
static void
report_left_out(int count)
{
	if (count == 0)
		return;
	ereport(NOTICE,
			(errmsg_plural("%d process without a baseline is left out",
						   "%d processes without a baseline are left out",
						   count, count),
			 errhint("Call pg_leakhunt_baseline_all to have one of each.")));
}

/*
 * The sites of all processes together.
 */
PlhSiteList *
plh_sql_all_sites(const PlhSource *source, PlhSymbols *symbols)
{
	PlhRowSink	sink = {.sees_all = plh_sql_rows_may_see_all()};
	Collection	collection = {.growth = source->growth};
	const PlhMergedProfiles *merged;

	if (!plh_sql_rows_look_around())
		return NULL;
	collection.merge = plh_profile_merge_begin(source->queries,
											   source->owner_parts);
	plh_sql_rows_visit(&sink, add_process, &collection);
	merged = plh_profile_merge_end(collection.merge);
	if (merged->process_count == 0)
	{
		report_nothing(&collection,
					   source->required && !source->may_be_empty ?
					   ERROR : WARNING);
		if (!source->may_be_empty)
			return NULL;
	}
	report_left_out(collection.left_out);
	return plh_site_list_make_merged(symbols, merged, source->growth,
									 GetCurrentTimestamp());
}

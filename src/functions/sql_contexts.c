/*
 * sql_contexts.c
 *	  The function of SQL that shows memory contexts by name.
 */
#include "postgres.h"

#include "base/compat.h"
#include "functions/sql_rows.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "report/context_list.h"

#define CONTEXT_COLUMNS 10

PLH_FUNCTION(pg_leakhunt_contexts);

/* The columns context_name and lifetime. */
static void
put_kind(PlhRow *row, const PlhProfileImage *image,
		 const PlhListedContext *context)
{
	const PlhStringRecord *name = plh_profile_image_string(image, context->name);

	if (name == NULL)
	{
		plh_sql_rows_put_nulls(row, 2);
		return;
	}
	plh_sql_rows_put_foreign_text(row, image, name->text, name->text_bytes);
	plh_sql_rows_put_text(row, plh_profile_image_lifetime_name(context->lifetime));
}

/* The columns instances and context_bytes, null where none were counted. */
static void
put_counts(PlhRow *row, const PlhListedContext *context)
{
	if (context->instances == 0)
	{
		plh_sql_rows_put_nulls(row, 2);
		return;
	}
	plh_sql_rows_put_int64(row, context->instances);
	plh_sql_rows_put_int64(row, context->context_bytes);
}

/* The rows of a process. */
static void
put_contexts(PlhProfileImage *image, void *arg)
{
	PlhRowSink *sink = arg;
	const PlhBaseline *baseline =
		plh_baseline_file_read(plh_profile_directory_path(), image);
	PlhContextList *list = plh_context_list_make(image, baseline);

	for (int i = 0; i < list->count; i++)
	{
		const PlhListedContext *context = &list->contexts[i];
		PlhRow		row = {0};

		plh_sql_rows_put_pid(&row, image->header->pid);
		plh_sql_rows_put_backend_type(&row, image);
		put_kind(&row, image, context);
		put_counts(&row, context);
		plh_sql_rows_put_int64(&row, context->live_bytes);
		plh_sql_rows_put_int64(&row, context->live_count);
		if (baseline != NULL && context->sites > 0)
			plh_sql_rows_put_int64(&row, context->live_bytes -
								   context->baseline_bytes);
		else
			plh_sql_rows_put_null(&row);
		plh_sql_rows_put_int64(&row, context->sites);
		plh_sql_rows_finish(&row, sink);
	}
}

/*
 * The memory contexts of all processes: the rows of pg_leakhunt_contexts.
 */
Datum
pg_leakhunt_contexts(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;

	if (!plh_sql_rows_start(fcinfo, &sink, CONTEXT_COLUMNS))
		return (Datum) 0;
	plh_sql_rows_visit(&sink, put_contexts, &sink);
	return (Datum) 0;
}

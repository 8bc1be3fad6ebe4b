/*
 * sql_rows.c
 *	  What functions that return rows about processes have in common: who may
 *	  see what, and columns of each type.
 *
 * Roles without the privileges of pg_read_all_stats get the rows of their own
 * processes only.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "functions/sql_rows.h"
#include "process/process.h"
#include "profile/profile_image.h"
#include "reader/database_text.h"
#include "sampler/owner.h"

void
plh_sql_rows_put_datum(PlhRow *row, Datum value)
{
	row->nulls[row->column] = false;
	row->values[row->column++] = value;
}

void
plh_sql_rows_put_null(PlhRow *row)
{
	row->nulls[row->column++] = true;
}

/* Several columns without a value. */
void
plh_sql_rows_put_nulls(PlhRow *row, int count)
{
	while (count-- > 0)
		plh_sql_rows_put_null(row);
}

void
plh_sql_rows_put_int64(PlhRow *row, int64 value)
{
	plh_sql_rows_put_datum(row, Int64GetDatum(value));
}

/* Text that is ours, or from a file; NULL gives NULL. */
void
plh_sql_rows_put_text(PlhRow *row, const char *text)
{
	if (text == NULL)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_datum(row, CStringGetTextDatum(plh_database_text_fit(text)));
}

void
plh_sql_rows_put_time(PlhRow *row, TimestampTz time)
{
	if (time == 0)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_datum(row, TimestampTzGetDatum(time));
}

/*
 * Text that another process wrote, in its database's encoding.
 */
void
plh_sql_rows_put_foreign_text(PlhRow *row, const PlhProfileImage *image,
					 const char *text, Size bytes)
{
	plh_sql_rows_put_datum(row, CStringGetTextDatum(plh_database_text_fit_foreign(text, bytes,
																		 image->header->encoding)));
}

/*
 * The stack of a site, in the current memory context; NULL if it has none, or
 * if stacks are not wanted.
 */
PlhStackText *
plh_sql_rows_stack(PlhRowSink *sink, const PlhProfileImage *image,
			   const PlhSiteRecord *site)
{
	const PlhStackRecord *stack = plh_profile_image_stack(image,
														   site->key.stack);
	PlhStackText *text;

	if (!sink->with_stacks || stack == NULL)
		return NULL;
	if (sink->symbols == NULL)
	{
		MemoryContext old_context =
			MemoryContextSwitchTo(sink->symbols_context);

		sink->symbols = plh_symbols_open();
		MemoryContextSwitchTo(old_context);
	}
	text = palloc(sizeof(PlhStackText));
	plh_stack_text_describe(NULL, sink->symbols, image, stack, text);
	return text;
}

/*
 * The columns site and stack.
 */
void
plh_sql_rows_put_site(PlhRow *row, const PlhSiteRecord *site, const PlhStackText *stack)
{
	Datum	   *frames;

	if (stack == NULL)
	{
		plh_sql_rows_put_text(row, plh_stack_text_absent(site));
		plh_sql_rows_put_null(row);
		return;
	}
	frames = palloc(sizeof(Datum) * Max(stack->frame_count, 1));
	for (int i = 0; i < stack->frame_count; i++)
		frames[i] = CStringGetTextDatum(stack->frames[i].text);
	plh_sql_rows_put_text(row, stack->site);
	plh_sql_rows_put_datum(row, PointerGetDatum(construct_array(frames,
													   stack->frame_count,
													   TEXTOID, -1, false,
													   TYPALIGN_INT)));
}

void
plh_sql_rows_finish(PlhRow *row, PlhRowSink *sink)
{
	Assert(row->column == sink->result->setDesc->natts);
	tuplestore_putvalues(sink->result->setResult, sink->result->setDesc,
						 row->values, row->nulls);
}

/*
 * May the caller see all processes?
 */
bool
plh_sql_rows_may_see_all(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

/*
 * If not, may he see those of that role?
 */
bool
plh_sql_rows_may_see_role(Oid role)
{
	return OidIsValid(role) && has_privs_of_role(GetUserId(), role);
}

/*
 * May the caller see that process' rows?
 */
bool
plh_sql_rows_may_show(const PlhRowSink *sink, const PlhProfileHeader *header)
{
	return sink->sees_all || plh_sql_rows_may_see_role(header->role_oid);
}

void
plh_sql_rows_put_backend_type(PlhRow *row, const PlhProfileImage *image)
{
	const char *type = plh_profile_image_backend_type(image);

	plh_sql_rows_put_foreign_text(row, image, type, strlen(type));
}

/*
 * Say, where it is so, that there is less to see than the caller may think.
 */
static void
report_coverage(void)
{
	static bool noticed = false;

	if (plh_process_refusal() != NULL)
		ereport(WARNING,
				(errmsg("pg_leakhunt is inactive in this session"),
				 errdetail_internal("%s", plh_process_refusal())));
	else if (!plh_process_is_preloaded() && !noticed)
	{
		noticed = true;
		ereport(NOTICE,
				(errmsg("pg_leakhunt shows only processes that have loaded it"),
				 errhint("Add pg_leakhunt to shared_preload_libraries and restart the server to see all processes.")));
	}
}

/*
 * An ERROR where nothing can be sampled in this session.
 */
void
plh_sql_rows_check_active(void)
{
	if (plh_process_refusal() != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pg_leakhunt is inactive in this session"),
				 errdetail_internal("%s", plh_process_refusal())));
}

/*
 * What functions that return rows about this session alone begin with.
 */
void
plh_sql_rows_start_silently(FunctionCallInfo fcinfo, PlhRowSink *sink)
{
	InitMaterializedSRF(fcinfo, 0);
	memset(sink, 0, sizeof(*sink));
	sink->result = (ReturnSetInfo *) fcinfo->resultinfo;
	sink->symbols_context = CurrentMemoryContext;
	sink->sees_all = plh_sql_rows_may_see_all();
}

/*
 * What functions that return rows about processes begin with.  Returns false
 * where there are none, as nothing is sampled.
 */
bool
plh_sql_rows_start(FunctionCallInfo fcinfo, PlhRowSink *sink)
{
	plh_sql_rows_start_silently(fcinfo, sink);
	report_coverage();

	/* a session that looks at itself should see itself */
	plh_owner_publish();
	return plh_process_refusal() == NULL;
}

/*
 * sql_rows.c
 *	  The shared part of functions that return rows about processes: how they
 *	  begin, and columns of each type.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "base/compat.h"
#include "functions/sql_access.h"
#include "functions/sql_rows.h"
#include "profile/profile_image.h"
#include "reader/database_text.h"
#include "reader/server_processes.h"
#include "watch/keeper.h"

void
plh_sql_rows_put_datum(PlhRow *row, Datum value)
{
	Assert(row->column < lengthof(row->values));
	row->nulls[row->column] = false;
	row->values[row->column++] = value;
}

void
plh_sql_rows_put_null(PlhRow *row)
{
	Assert(row->column < lengthof(row->values));
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
plh_sql_rows_put_pid(PlhRow *row, int pid)
{
	plh_sql_rows_put_datum(row, Int32GetDatum(pid));
}

void
plh_sql_rows_put_int64(PlhRow *row, int64 value)
{
	plh_sql_rows_put_datum(row, Int64GetDatum(value));
}

/* A figure, or null where it is not known. */
void
plh_sql_rows_put_if(PlhRow *row, bool is_known, int64 value)
{
	if (is_known)
		plh_sql_rows_put_int64(row, value);
	else
		plh_sql_rows_put_null(row);
}

/* Text that is ours, or comes from a file; NULL gives NULL. */
void
plh_sql_rows_put_text(PlhRow *row, const char *text)
{
	if (text == NULL)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_datum(row,
							   CStringGetTextDatum(plh_database_text_fit(text)));
}

/*
 * A time; NULL for none, and for what no timestamp can be, as one damaged profile
 * would make an ERROR of all rows.
 */
void
plh_sql_rows_put_time(PlhRow *row, TimestampTz time)
{
	if (time == 0 || !IS_VALID_TIMESTAMP(time))
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
	char	   *fit = plh_database_text_fit_foreign(text, bytes,
													image->header->encoding);

	plh_sql_rows_put_datum(row, CStringGetTextDatum(fit));
}

void
plh_sql_rows_put_backend_type(PlhRow *row, const PlhProfileImage *image)
{
	const char *type = plh_profile_image_backend_type(image);

	plh_sql_rows_put_foreign_text(row, image, type, strlen(type));
}

/*
 * The type of a process without a profile, of which the server's statistics know
 * that, or nothing (NULL), as of the postmaster and the keeper.
 */
const char *
plh_sql_rows_unprofiled_type(int pid, const PlhServerActivity *activity)
{
	if (activity != NULL)
		return activity->backend_type;
	if (pid == PostmasterPid)
		return "postmaster";
	return plh_server_processes_is_titled(pid, PLH_KEEPER_NAME) ?
		PLH_KEEPER_NAME : NULL;
}

/* The column username; null where there is no role. */
void
plh_sql_rows_put_role(PlhRow *row, Oid role)
{
	plh_sql_rows_put_text(row, OidIsValid(role) ?
						  GetUserNameFromId(role, true) : NULL);
}

/* The column database; null where there is none. */
void
plh_sql_rows_put_database(PlhRow *row, Oid database)
{
	plh_sql_rows_put_text(row, OidIsValid(database) ?
						  get_database_name(database) : NULL);
}

/* The column state of a process that has a profile. */
void
plh_sql_rows_put_state(PlhRow *row, const PlhProfileImage *image)
{
	plh_sql_rows_put_text(row, !image->alive ? "crashed" :
						  plh_profile_image_is_whole(image->header) ?
						  "live" : "unpublished");
}

/*
 * The column application_name, null if the session has set none.
 */
void
plh_sql_rows_put_application(PlhRow *row, const PlhProfileImage *image)
{
	const char *name = image->header->application_name;

	if (name[0] == '\0')
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_foreign_text(row, image, name, strlen(name));
}

/* The column query_id; null for 0, which stands for none. */
void
plh_sql_rows_put_query_id(PlhRow *row, int64 query_id)
{
	plh_sql_rows_put_if(row, query_id != 0, query_id);
}

/*
 * The columns query_id and query.
 */
void
plh_sql_rows_put_query(PlhRow *row, const PlhListedSite *listed)
{
	plh_sql_rows_put_query_id(row, listed->query_id);
	plh_sql_rows_put_text(row, listed->query);
}

/*
 * The column survival, which is 1 at most: the owner may be between counting the
 * one figure and the other.
 */
void
plh_sql_rows_put_survival(PlhRow *row, int64 live_bytes, int64 total_bytes)
{
	if (total_bytes <= 0)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_datum(row,
							   Float8GetDatum(Min(1.0, (double) live_bytes /
												  (double) total_bytes)));
}

/* Put an array of texts. */
static void
put_array(PlhRow *row, Datum *texts, int count)
{
	plh_sql_rows_put_datum(row,
						   PointerGetDatum(construct_array(texts, count, TEXTOID,
														   -1, false,
														   TYPALIGN_INT)));
}

/*
 * The columns site and routine of a site, which may not have been described.
 */
void
plh_sql_rows_put_site(PlhRow *row, const PlhListedSite *listed)
{
	plh_sql_rows_put_text(row, listed->stack.site);
	plh_sql_rows_put_text(row, plh_stack_text_routine(&listed->stack));
}

/*
 * The column stack of a site whose stack was described; null if it has none.
 */
void
plh_sql_rows_put_frames(PlhRow *row, const PlhListedSite *listed)
{
	const PlhStackText *stack = &listed->stack;
	Datum	   *frames;

	if (!listed->has_stack)
	{
		plh_sql_rows_put_null(row);
		return;
	}
	frames = palloc(sizeof(Datum) * Max(stack->frame_count, 1));
	for (int i = 0; i < stack->frame_count; i++)
		frames[i] = CStringGetTextDatum(stack->frames[i].text);
	put_array(row, frames, stack->frame_count);
}

/*
 * Put an array of texts; null if there are none.
 */
void
plh_sql_rows_put_texts(PlhRow *row, char *const *texts, int count)
{
	Datum	   *values;

	if (count == 0)
	{
		plh_sql_rows_put_null(row);
		return;
	}
	values = palloc(sizeof(Datum) * count);
	for (int i = 0; i < count; i++)
		values[i] = CStringGetTextDatum(texts[i]);
	put_array(row, values, count);
}

/*
 * Return a row that has all its columns.
 */
void
plh_sql_rows_finish(PlhRow *row, PlhRowSink *sink)
{
	Assert(row->column == sink->result->setDesc->natts);
	tuplestore_putvalues(sink->result->setResult, sink->result->setDesc,
						 row->values, row->nulls);
}

/* The ERROR for a function that a script of another version has created. */
static void
throw_wrong_version(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the SQL objects of extension pg_leakhunt do not match its library"),
			 errdetail("Another version of the extension's script has created this function."),
			 errhint("Run ALTER EXTENSION pg_leakhunt UPDATE.")));
}

/*
 * Throw an ERROR unless the function was created with that many arguments.
 */
void
plh_sql_rows_check_arguments(FunctionCallInfo fcinfo, int count)
{
	if (PG_NARGS() != count)
		throw_wrong_version();
}

/*
 * Throw an ERROR for an argument that is null and must not be.
 */
void
plh_sql_rows_check_not_null(FunctionCallInfo fcinfo, int number,
							const char *name)
{
	if (PG_ARGISNULL(number))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

/*
 * An argument that is a pid.  Null is no process, and must never mean all of them:
 * a subquery that finds no row gives it.
 */
int
plh_sql_rows_get_pid(FunctionCallInfo fcinfo, int number)
{
	if (PG_ARGISNULL(number))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("pid must not be null"),
				 errhint("The functions whose names end with _all are for all processes.")));
	return PG_GETARG_INT32(number);
}

/*
 * Begin a function that returns rows.  An ERROR unless it was created with that many columns: a row of another width
 * would be read with its columns shifted.
 */
void
plh_sql_rows_start(FunctionCallInfo fcinfo, PlhRowSink *sink, int columns)
{
	if (columns > PLH_MAX_COLUMNS)
		elog(ERROR, "rows have no room for %d columns", columns);
	PLH_INIT_MATERIALIZED(fcinfo, 0);
	memset(sink, 0, sizeof(*sink));
	sink->result = (ReturnSetInfo *) fcinfo->resultinfo;
	sink->memory = CurrentMemoryContext;
	sink->sees_all = plh_sql_access_sees_all();
	if (sink->result->setDesc->natts != columns)
		throw_wrong_version();
}

/*
 * The symbols that serve the whole call; opened when first asked for.
 */
PlhSymbols *
plh_sql_rows_symbols(PlhRowSink *sink)
{
	if (sink->symbols == NULL)
	{
		MemoryContext caller_context = MemoryContextSwitchTo(sink->memory);

		sink->symbols = plh_symbols_open();
		MemoryContextSwitchTo(caller_context);
	}
	return sink->symbols;
}

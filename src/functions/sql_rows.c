/*
 * sql_rows.c
 *	  The shared part of functions of SQL: how they are called, and how they return rows, with
 *	  columns of each type.
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
#include "reader/redaction.h"
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

/* Text that is ours, or comes from a file; NULL gives NULL. */
void
plh_sql_rows_put_text(PlhRow *row, const char *text)
{
	if (text == NULL)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_datum(row, CStringGetTextDatum(plh_database_text_fit(text)));
}

/* An array that plh_sql_rows_texts has made; NULL gives NULL. */
void
plh_sql_rows_put_text_array(PlhRow *row, ArrayType *array)
{
	if (array == NULL)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_datum(row, PointerGetDatum(array));
}

/*
 * A time; NULL for none, and for what no timestamp can be, as one damaged profile would make an
 * ERROR of all rows.
 */
void
plh_sql_rows_put_timestamptz(PlhRow *row, TimestampTz time)
{
	if (time == 0 || !IS_VALID_TIMESTAMP(time))
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_datum(row, TimestampTzGetDatum(time));
}

const char *
plh_sql_rows_foreign(const char *text, int encoding)
{
	return text[0] == '\0' ? NULL : plh_database_text_fit_foreign(text, strlen(text), encoding);
}

/* Returns the type of a process that has a profile. */
const char *
plh_sql_rows_backend_type(const PlhProfileImage *image)
{
	return plh_sql_rows_foreign(plh_profile_image_backend_type(image), image->header->encoding);
}

/* Returns the application of a process; NULL where it has set none. */
const char *
plh_sql_rows_active_application(const PlhServerActivity *activity)
{
	const char *name = activity->application_name;

	return name == NULL || name[0] == '\0' ? NULL : name;
}

/* Returns that of a process that has a profile: the last one, if it is gone. */
const char *
plh_sql_rows_application(const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	PlhServerActivity activity;

	return image->alive && plh_server_activity_find(header->pid, &activity) ?
		plh_sql_rows_active_application(&activity) :
		plh_sql_rows_foreign(header->application_name, header->encoding);
}

/*
 * Returns the type of a process without a profile, of which the server's statistics know that, or
 * nothing (NULL), as of the postmaster and the keeper.
 */
const char *
plh_sql_rows_unprofiled_type(int pid, const PlhServerActivity *activity)
{
	if (activity != NULL)
		return activity->backend_type;
	if (pid == PostmasterPid)
		return "postmaster";
	return plh_server_processes_is_titled(pid, PLH_KEEPER_NAME) ? PLH_KEEPER_NAME : NULL;
}

/* Returns the name of a role; NULL where there is none. */
const char *
plh_sql_rows_role(Oid role)
{
	return OidIsValid(role) ? GetUserNameFromId(role, true) : NULL;
}

/* Returns the name of a database; NULL where there is none. */
const char *
plh_sql_rows_database(Oid database)
{
	return OidIsValid(database) ? get_database_name(database) : NULL;
}

/* Returns the state of a process that has a profile. */
const char *
plh_sql_rows_state(const PlhProfileImage *image)
{
	return !image->alive ? "crashed" :
		plh_profile_image_is_whole(image->header) ? "live" : "unpublished";
}

/* Returns what of total_bytes is live: 1 at most, as the owner may be counting. */
double
plh_sql_rows_survival(int64 live_bytes, int64 total_bytes)
{
	return Min(1.0, (double) live_bytes / (double) total_bytes);
}

/* Returns an array of texts; NULL if there are none. */
ArrayType *
plh_sql_rows_texts(char *const *texts, int count)
{
	Datum	   *values;

	if (count == 0)
		return NULL;
	values = palloc(sizeof(Datum) * count);
	for (int i = 0; i < count; i++)
		values[i] = CStringGetTextDatum(texts[i]);
	return construct_array(values, count, TEXTOID, -1, false, TYPALIGN_INT);
}

/* Returns the frames of a site whose stack was described; NULL if it has none. */
ArrayType *
plh_sql_rows_frames(const PlhListedSite *listed)
{
	const PlhStackText *stack = &listed->stack;
	Datum	   *frames;

	if (!listed->has_stack)
		return NULL;
	frames = palloc(sizeof(Datum) * Max(stack->frame_count, 1));
	for (int i = 0; i < stack->frame_count; i++)
		frames[i] = CStringGetTextDatum(stack->frames[i].text);
	return construct_array(frames, stack->frame_count, TEXTOID, -1, false, TYPALIGN_INT);
}

/* The ERROR for a function that a script of another version has created. */
static void
throw_wrong_version(void)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("the SQL objects of extension pg_leakhunt do not match its library"),
					errdetail("Another version of the extension's script has created this function."),
					errhint("Run ALTER EXTENSION pg_leakhunt UPDATE.  If it says that this version is installed already, drop the extension and create it again.")));
}

/*
 * Return a row that has all its columns.  An ERROR where the function was created with other
 * columns: they would be read shifted.
 */
void
plh_sql_rows_finish(PlhRow *row, PlhRowSink *sink)
{
	if (row->column != sink->result->setDesc->natts)
		throw_wrong_version();
	tuplestore_putvalues(sink->result->setResult, sink->result->setDesc, row->values, row->nulls);
}

void
plh_sql_rows_check_arguments(FunctionCallInfo fcinfo, int count)
{
	if (PG_NARGS() != count)
		throw_wrong_version();
}

void
plh_sql_rows_check_not_null(FunctionCallInfo fcinfo, int number, const char *name)
{
	if (PG_ARGISNULL(number))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s must not be null", name)));
}

/*
 * Call the function that does the work of one whose last argument says whether names and literals
 * are left out.  They become text in many places: so it is said once for the whole call, and taken
 * back when it ends, in whatever way.
 */
Datum
plh_sql_rows_redacted(FunctionCallInfo fcinfo, PGFunction function)
{
	volatile Datum result = (Datum) 0;
	int			last = PG_NARGS() - 1;

	plh_redaction_begin(!PG_ARGISNULL(last) && PG_GETARG_BOOL(last));
	PG_TRY();
	{
		result = function(fcinfo);
	}
	PG_FINALLY();
	{
		plh_redaction_end();
	}
	PG_END_TRY();
	return result;
}

void
plh_sql_rows_start(FunctionCallInfo fcinfo, PlhRowSink *sink)
{
	PLH_INIT_MATERIALIZED(fcinfo, 0);
	memset(sink, 0, sizeof(*sink));
	sink->result = (ReturnSetInfo *) fcinfo->resultinfo;
	sink->memory = CurrentMemoryContext;
	sink->sees_all = plh_sql_access_sees_all();
}

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

/*
 * scenario_rows.c
 *	  Calls functions of SQL, and writes the rows that they return as text.
 */
#include "postgres.h"

/* Versions of PostgreSQL declare it with and without "const". */
#define tuplestore_putvalues declared_elsewhere
#include "funcapi.h"
#include "utils/tuplestore.h"
#undef tuplestore_putvalues

#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "scenario_rows.h"

/* The most columns that are shown. */
#define SHOWN 40

/* The rows of the call that goes on. */
static struct
{
	StringInfoData text;
	const Column *columns;
	int			shown[SHOWN];	/* their numbers */
	int			shown_count;
	const char *only;			/* rows without that text are left out; NULL:
								 * none */
}			rows;

/* An array of texts, which nobody else looks into. */
typedef struct Texts
{
	int			count;
	Datum		texts[FLEXIBLE_ARRAY_MEMBER];
} Texts;

/* What stands for the server's own. */
text *
cstring_to_text(const char *string)
{
	Size		length = strlen(string);
	text	   *result = palloc(length + VARHDRSZ);

	SET_VARSIZE(result, length + VARHDRSZ);
	memcpy(VARDATA(result), string, length);
	return result;
}

char *
text_to_cstring(const text * text)
{
	return pnstrdup(VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text));
}

struct varlena *
pg_detoast_datum_packed(struct varlena *datum)
{
	return datum;
}

ArrayType *
construct_array(Datum *elements, int count, Oid type, int length, bool by_value, char align)
{
	Texts	   *texts = palloc(offsetof(Texts, texts) + sizeof(Datum) * count);

	texts->count = count;
	memcpy(texts->texts, elements, sizeof(Datum) * count);
	return (ArrayType *) texts;
}

Datum
timestamp_mi(PG_FUNCTION_ARGS)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->time = PG_GETARG_INT64(0) - PG_GETARG_INT64(1);
	return PointerGetDatum(interval);
}

Datum
DirectFunctionCall2Coll(PGFunction function, Oid collation, Datum first, Datum second)
{
	LOCAL_FCINFO(fcinfo, 2);

	memset(fcinfo, 0, SizeForFunctionCallInfo(2));
	fcinfo->nargs = 2;
	fcinfo->args[0].value = first;
	fcinfo->args[1].value = second;
	return function(fcinfo);
}

static int
count_columns(const Column *columns)
{
	int			count = 0;

	while (columns[count].name != NULL)
		count++;
	return count;
}

void
PLH_INIT_MATERIALIZED(FunctionCallInfo fcinfo, uint32 flags)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	result->setDesc = palloc0(sizeof(*result->setDesc));
	result->setDesc->natts = count_columns(rows.columns);
}

/* A text, whose further lines stand below the first; to the right, beside other columns. */
static void
append_text(const char *string)
{
	for (; *string != '\0'; string++)
	{
		appendStringInfoChar(&rows.text, *string);
		if (*string == '\n' && rows.shown_count > 1)
			appendStringInfoString(&rows.text, "   ");
	}
}

static void
append_texts(const Texts *texts)
{
	for (int i = 0; i < texts->count; i++)
	{
		if (i > 0)
			appendStringInfoString(&rows.text, " < ");
		append_text(TextDatumGetCString(texts->texts[i]));
	}
}

static void
append_value(ColumnType type, Datum value)
{
	switch (type)
	{
		case SQL_int:
		case SQL_oid:
			appendStringInfo(&rows.text, "%d", DatumGetInt32(value));
			break;
		case SQL_bigint:
			appendStringInfo(&rows.text, INT64_FORMAT, DatumGetInt64(value));
			break;
		case SQL_bool:
			appendStringInfoString(&rows.text, DatumGetBool(value) ? "true" : "false");
			break;
		case SQL_text:
			append_text(TextDatumGetCString(value));
			break;
		case SQL_timestamptz:
			appendStringInfoString(&rows.text, timestamptz_to_str(DatumGetTimestampTz(value)));
			break;
		case SQL_float8:
			appendStringInfo(&rows.text, "%.2f", DatumGetFloat8(value));
			break;
		case SQL_interval:
			appendStringInfo(&rows.text, INT64_FORMAT " s",
							 ((Interval *) DatumGetPointer(value))->time / USECS_PER_SEC);
			break;
		case SQL_text_array:
			append_texts((const Texts *) DatumGetPointer(value));
			break;
	}
}

extern void tuplestore_putvalues(Tuplestorestate *state, TupleDesc description,
								 Datum *values, bool *nulls);
void
tuplestore_putvalues(Tuplestorestate *state, TupleDesc description, Datum *values,
					 bool *nulls)
{
	int			before = rows.text.len;

	for (int i = 0; i < rows.shown_count; i++)
	{
		int			column = rows.shown[i];

		if (i > 0)
			appendStringInfoString(&rows.text, " | ");
		if (nulls[column])
			appendStringInfoChar(&rows.text, '-');
		else
			append_value(rows.columns[column].type, values[column]);
	}
	appendStringInfoChar(&rows.text, '\n');
	if (rows.only == NULL || strstr(rows.text.data + before, rows.only) != NULL)
		return;
	rows.text.len = before;
	rows.text.data[before] = '\0';
}

/* Show the column of that name, too. */
static void
show(const Words *words, const char *name)
{
	for (int i = 0; rows.columns[i].name != NULL; i++)
	{
		if (strcmp(rows.columns[i].name, name) != 0)
			continue;
		rows.shown[rows.shown_count++] = i;
		return;
	}
	words_fail(words, "\"%s\" is no column of it", name);
}

/* Show the columns that the words name, or those that are shown without. */
static void
choose_columns(const SqlCall *call, Words *words)
{
	Words		shown;

	rows.columns = call->columns;
	rows.shown_count = 0;
	rows.only = words_take(words, "only") ? strdup(words_next(words)) : NULL;
	if (!words_are_left(words))
	{
		words_split(&shown, words->path, words->number, call->shown);
		words = &shown;
	}
	while (words_are_left(words) && rows.shown_count < SHOWN)
		show(words, words_next(words));
}

const char *
scenario_rows_of(const SqlCall *call, Words *words)
{
	LOCAL_FCINFO(fcinfo, 4);
	FmgrInfo	function = {.fn_oid = call->argument_count};
	ReturnSetInfo result = {.type = T_ReturnSetInfo};

	choose_columns(call, words);
	initStringInfo(&rows.text);
	memset(fcinfo, 0, SizeForFunctionCallInfo(4));
	fcinfo->flinfo = &function;
	fcinfo->resultinfo = (struct Node *) &result;
	fcinfo->nargs = call->argument_count;
	memcpy(fcinfo->args, call->arguments, sizeof(call->arguments));
	(void) call->function(fcinfo);
	return rows.text.data;
}

/*
 * without_server.c
 *	  What pg_leakhunt_look needs where a server would be: memory, lists, errors, and a database
 *	  whose encoding is UTF-8.
 *
 * palloc and its kin come from PostgreSQL's library for client programs, by malloc.  The program
 * reads, says what it has to say, and ends: so nothing is freed in between, and there is one
 * memory context, which is none.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "nodes/memnodes.h"
#include "utils/memutils.h"

MemoryContext CurrentMemoryContext;
MemoryContext TopMemoryContext;

/* An id that is valid: texts are checked against the encoding of the database. */
Oid			MyDatabaseId = 1;

void *
MemoryContextAllocHuge(MemoryContext context, Size size)
{
	void	   *chunk = malloc(size);

	if (chunk == NULL)
		ereport(ERROR, (errmsg("out of memory")));
	return chunk;
}

void *
repalloc_huge(void *chunk, Size size)
{
	return repalloc(chunk, size);
}

/* What is redacted wants a context of its own for its names. */
MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name, Size min_bytes,
							  Size first_bytes, Size max_bytes)
{
	return palloc0(sizeof(MemoryContextData));
}

void
MemoryContextDelete(MemoryContext context)
{
	pfree(context);
}

/* Make room for one more element, as often as lists double. */
static List *
add_element(List *list, NodeTag type)
{
	if (list == NIL)
	{
		list = palloc0(sizeof(List));
		list->type = type;
	}
	if (list->length == list->max_length)
	{
		list->max_length = Max(8, 2 * list->max_length);
		list->elements = list->elements == NULL ?
			palloc(sizeof(ListCell) * list->max_length) :
			repalloc(list->elements, sizeof(ListCell) * list->max_length);
	}
	list->length++;
	return list;
}

List *
lappend(List *list, void *datum)
{
	list = add_element(list, T_List);
	llast(list) = datum;
	return list;
}

List *
lappend_int(List *list, int datum)
{
	list = add_element(list, T_IntList);
	llast_int(list) = datum;
	return list;
}

/* An error ends the program, with its message. */
bool
errstart(int level, const char *domain)
{
	return true;
}

bool
errstart_cold(int level, const char *domain)
{
	return errstart(level, domain);
}

int
errcode(int sqlstate)
{
	return 0;
}

static void put_message(const char *format, va_list args) pg_attribute_printf(1, 0);

static void
put_message(const char *format, va_list args)
{
	fputs("pg_leakhunt_look: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int
errmsg(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	put_message(format, args);
	va_end(args);
	return 0;
}

/* In a line of its own. */
int
errhint(const char *format,...)
{
	va_list		args;

	fputs("HINT:  ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return 0;
}

int
errmsg_internal(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	put_message(format, args);
	va_end(args);
	return 0;
}

void
errfinish(const char *file, int line, const char *function)
{
	exit(1);
}

int
GetDatabaseEncoding(void)
{
	return PG_UTF8;
}

int
pg_database_encoding_max_length(void)
{
	return pg_encoding_max_length(PG_UTF8);
}

bool
pg_verifymbstr(const char *text, int bytes, bool no_error)
{
	return pg_encoding_verifymbstr(PG_UTF8, text, bytes) == bytes;
}

/* The bytes of the whole characters up to a limit. */
int
pg_encoding_mbcliplen(int encoding, const char *text, int bytes, int limit)
{
	int			clipped = Min(bytes, limit);

	while (clipped > 0 && clipped < bytes && ((unsigned char) text[clipped] & 0xC0) == 0x80)
		clipped--;
	return clipped;
}

/* The same, of so many characters. */
int
pg_mbcharcliplen(const char *text, int bytes, int limit)
{
	int			clipped = 0;

	for (int i = 0; i < limit && clipped < bytes; i++)
		clipped += pg_encoding_mblen_bounded(PG_UTF8, text + clipped);
	return Min(clipped, bytes);
}

/* There is nothing to convert. */
Oid
FindDefaultConversionProc(int32 from, int32 to)
{
	return InvalidOid;
}

int
pg_do_encoding_conversion_buf(Oid procedure, int from, int to, unsigned char *source,
							  int source_bytes, unsigned char *target, int target_bytes,
							  bool no_error)
{
	return 0;
}

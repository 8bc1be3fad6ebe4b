/*
 * named_segments.c
 *	  Dynamic shared memory that extensions have registered by a name.
 *
 * The server tells sizes, but not which segment of the operating system it is, or whether it is in
 * the main one.
 */
#include "postgres.h"

#include "executor/spi.h"

#include "base/compat.h"
#include "reader/named_segments.h"

#if PLH_LISTS_DSM_REGISTRY

#define QUERY \
	"SELECT name, type, size FROM pg_catalog.pg_dsm_registry_allocations" \
	" WHERE size IS NOT NULL ORDER BY size DESC"

/* A text of a row, in that memory context. */
static const char *
text_of(HeapTuple tuple, int column, MemoryContext memory)
{
	const char *text = SPI_getvalue(tuple, SPI_tuptable->tupdesc, column);

	return MemoryContextStrdup(memory, text == NULL ? "" : text);
}

static PlhNamedSegment *
segment_of(HeapTuple tuple, MemoryContext memory)
{
	PlhNamedSegment *segment = MemoryContextAlloc(memory, sizeof(PlhNamedSegment));
	bool		is_null;

	segment->name = text_of(tuple, 1, memory);
	segment->type = text_of(tuple, 2, memory);
	segment->bytes = DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 3, &is_null));
	return segment;
}

List *
plh_named_segments_read(void)
{
	MemoryContext memory = CurrentMemoryContext;
	List	   *segments = NIL;

	SPI_connect();
	if (SPI_execute(QUERY, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "pg_dsm_registry_allocations could not be read");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		PlhNamedSegment *segment = segment_of(SPI_tuptable->vals[i], memory);
		MemoryContext spi_context = MemoryContextSwitchTo(memory);

		segments = lappend(segments, segment);
		MemoryContextSwitchTo(spi_context);
	}
	SPI_finish();
	return segments;
}

#else

List *
plh_named_segments_read(void)
{
	return NIL;
}

#endif

/*
 * profile_statement.c
 *	  The owner's side of a profile: records of statements.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "base/fork.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"
#include "profile/profile_statement.h"
#include "profile/statement_shape.h"
#include "profile/statement_text.h"

/*
 * Statements take at most a quarter of the profile, so that a process that
 * runs long ones has room left for call sites.
 */
#define STATEMENTS_SHARE 4

/*
 * The shape of the text that was looked up last, with all that is never kept of it: its
 * statement is pinned.  Empty if core had an id for it, or it lost its text.  The same
 * statement comes again and again with other literals, and to see what may be kept of
 * one takes several times as long as its shape.  In a forked child no statement is
 * pinned at first.
 */
static PLH_SURVIVES_FORK PLH_LARGE PlhStatementShape last_shape;

static uint32
hash_statement(uint64 query_id, const PlhStatementShape *shape)
{
	if (query_id != 0)
		return plh_profile_records_hash(&query_id, sizeof(query_id));
	return plh_profile_records_hash(shape->text, shape->length);
}

/*
 * Returns the offset of a statement, or 0 if there is none yet.  Its shape
 * matters only if it has no query id.
 */
static uint32
find_statement(uint64 query_id, const PlhStatementShape *shape)
{
	uint32		hash = hash_statement(query_id, shape);
	uint32		offset = *plh_profile_records_bucket(hash);

	while ((offset = plh_profile_records_next(offset, PLH_RECORD_STATEMENT,
											  hash)) != 0)
	{
		PlhStatementRecord *statement = plh_profile_records_at(offset);

		if (statement->query_id == query_id &&
			(query_id != 0 ||
			 plh_statement_shape_equals(shape, statement->text,
										statement->text_bytes)))
			break;
		offset = PLH_CHAIN_OF(offset);
	}
	return offset;
}

/* Add a statement.  Returns its offset, or 0 if there is no room. */
static uint32
add_statement(uint64 query_id, const PlhStatementShape *shape,
			  const char *text, Size length)
{
	Size		bytes = offsetof(PlhStatementRecord, text) + length + 1;
	PlhStatementRecord *statement = plh_profile_recycling_take(bytes);

	if (statement == NULL)
		return 0;
	statement->query_id = query_id;
	statement->text_bytes = length;
	memcpy(statement->text, text, length);
	return plh_profile_records_add(statement, PLH_RECORD_STATEMENT, bytes,
								   hash_statement(query_id, shape));
}

/* Do statements leave room for a text of that length in their share? */
static bool
has_share(Size length)
{
	Size		bytes = offsetof(PlhStatementRecord, text) + length + 1;

	return plh_profile_records_bytes(PLH_RECORD_STATEMENT) +
		plh_profile_records_size(bytes) <=
		plh_load_settings.max_profile_size / STATEMENTS_SHARE;
}

/*
 * Returns the offset of a statement, or 0 if there is no room.  Once statements have
 * used up their share, new ones lose their text.
 */
static uint32
look_up(uint64 query_id, const char *text, Size text_bytes)
{
	char		kept[PLH_STATEMENT_MAX + 1];
	Size		length = 0;
	PlhStatementShape shape;
	uint32		offset;

	shape.length = 0;
	if (query_id == 0)
	{
		length = plh_statement_text_keep(kept, text, text_bytes);
		plh_statement_shape_of(&shape, kept, length);
	}
	offset = find_statement(query_id, &shape);
	if (offset == 0 && query_id != 0)
		length = plh_statement_text_keep(kept, text, text_bytes);
	if (offset == 0 && !has_share(length))
		plh_profile_recycling_hurry();
	if (offset == 0 && !has_share(length))
	{
		/* the profile may have this statement without a text: look again */
		length = 0;
		shape.length = 0;
		offset = find_statement(query_id, &shape);
	}
	if (offset == 0)
		offset = add_statement(query_id, &shape, kept, length);
	return offset;
}

/* Is that the shape of the text that was looked up last? */
static bool
is_last(const PlhStatementShape *shape)
{
	return plh_profile_recycling_pins.statement != 0 && shape->length > 0 &&
		shape->length == last_shape.length &&
		memcmp(shape->text, last_shape.text, shape->length) == 0;
}

/* Remember the shape of the text whose statement is at that offset, or at none. */
static void
remember(const PlhStatementShape *shape, uint32 offset)
{
	const PlhStatementRecord *statement = offset == 0 ? NULL : plh_profile_records_at(offset);
	Size		length = statement != NULL && statement->text_bytes > 0 ? shape->length : 0;

	last_shape.length = length;
	memcpy(last_shape.text, shape->text, Min(length, sizeof(last_shape.text)));
}

/*
 * Returns the offset of a statement.  If core has computed a query id, the id
 * identifies the statement; else what may be kept of its text does, without
 * its literals.  The record has the first text seen.
 *
 * The statement is not given up before the next call, so that the caller may
 * keep the offset until then.
 */
uint32
plh_profile_statement(uint64 query_id, const char *text)
{
	Size		text_bytes = strnlen(text, PLH_STATEMENT_MAX);
	PlhStatementShape shape;
	uint32		offset;

	plh_profile_records_assert_growth();
	shape.length = 0;
	if (query_id == 0)
		plh_statement_shape_of(&shape, text, text_bytes);
	if (is_last(&shape))
		return plh_profile_recycling_pins.statement;
	offset = look_up(query_id, text, text_bytes);
	plh_profile_recycling_pins.statement = offset;
	remember(&shape, offset);
	return offset;
}

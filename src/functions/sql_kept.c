/*
 * sql_kept.c
 *	  What statements have left in sessions that live.
 *
 * It is what samples at their sites stand for now.  A sum of what each call has added would count
 * what a later one replaces as often as it is replaced.
 */
#include "postgres.h"

#include "functions/sql_access.h"
#include "functions/sql_kept.h"
#include "profile/statement_entries.h"
#include "profile/statements_file.h"
#include "reader/collections.h"

/* What a statement has left in a session. */
typedef struct Left
{
	uint32		statement;		/* offset in the profile; the key */
	int64		bytes;
} Left;

/* The listed statements, by the index of their entries. */
typedef struct Listed
{
	PlhListedStatement **statements;
	uint32		count;
} Listed;

static void
note_site(HTAB *left, const PlhSiteRecord *site)
{
	Left	   *noted;
	bool		found;

	if (!plh_lifetime_is_lasting(site->key.lifetime) || site->key.statement == 0 ||
		site->counters.live_bytes <= 0)
		return;
	noted = hash_search(left, &site->key.statement, HASH_ENTER, &found);
	if (!found)
		noted->bytes = 0;
	noted->bytes += Min(site->counters.live_bytes, PG_INT64_MAX / 65536);
}

static HTAB *
add_up_sites(const PlhProfileImage *image)
{
	HTAB	   *left = plh_hash_table("pg_leakhunt kept bytes", sizeof(uint32), sizeof(Left));
	const PlhSiteRecord *site;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		note_site(left, site);
	return left;
}

/* The listed statement that the process' statement is; NULL: it is not listed. */
static PlhListedStatement *
listed_as(const Listed *listed, const PlhProfileImage *image, uint32 offset)
{
	const PlhStatementRecord *statement = plh_profile_image_statement(image, offset);
	PlhStatementPart part = {
		.database_oid = image->header->database_oid,
		.role_oid = image->header->role_oid
	};
	const PlhStatementEntry *entry;
	PlhListedStatement *found;
	uint32		index;

	if (statement == NULL)
		return NULL;
	part.query_id = statement->query_id;
	part.text = statement->text;
	part.text_bytes = statement->text_bytes;
	entry = plh_statement_entries_find(&part);
	index = entry == NULL ? listed->count : entry - plh_statements_file->entries;
	found = index < listed->count ? listed->statements[index] : NULL;

	/* its place may be another one's since the list was made */
	return found != NULL && found->entry.born == entry->born ? found : NULL;
}

/* PlhProfileVisitor */
static void
add_session(PlhProfileImage *image, void *arg)
{
	HASH_SEQ_STATUS sequence;
	HTAB	   *left;
	const Left *one;

	if (!image->alive)
		return;
	left = add_up_sites(image);
	hash_seq_init(&sequence, left);
	while ((one = hash_seq_search(&sequence)) != NULL)
	{
		PlhListedStatement *statement = listed_as(arg, image, one->statement);

		if (statement != NULL)
			statement->kept_bytes += one->bytes;
	}
	hash_destroy(left);
}

void
plh_sql_kept_add_up(PlhStatementList *list)
{
	Listed		listed = {0};
	ListCell   *cell;

	foreach(cell, list->statements)
		listed.count = Max(listed.count, ((PlhListedStatement *) lfirst(cell))->index + 1);
	if (listed.count == 0)
		return;
	listed.statements = palloc0(sizeof(PlhListedStatement *) * listed.count);
	foreach(cell, list->statements)
	{
		PlhListedStatement *statement = lfirst(cell);

		listed.statements[statement->index] = statement;
	}
	plh_sql_access_visit(plh_sql_access_sees_all(), 0, add_session, &listed);
	pfree(listed.statements);
}

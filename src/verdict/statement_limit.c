/*
 * statement_limit.c
 *	  What a statement may hold at one site without being suspect, by the
 *	  settings of its process.
 *
 * A node of a plan may take work_mem times hash_mem_multiplier, and what builds
 * an index, vacuums, or decodes the log, maintenance_work_mem or settings like
 * it.  Which of the two counts is told by the process, the statement and the
 * context: where in doubt it is the larger one.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "verdict/statement_limit.h"

/* Statements that begin with these words maintain tables, or may. */
static const char *const maintaining_words[] = {
	"alter", "analyze", "cluster", "create", "reindex", "refresh", "repack",
	"vacuum"
};

/* The same of contexts whose names begin so. */
static const char *const maintaining_contexts[] = {
	"BRIN", "Bloom", "Caller tuples", "Gin", "GiST", "TupleSort", "Vacuum"
};

/* The contexts in which the log is decoded, up to logical_decoding_work_mem. */
static const char *const decoding_contexts[] = {
	"Change", "ReorderBuffer", "ReorderBufferByXid", "TXN", "Tuples"
};

/* The context of buffers of temporary tables, up to temp_buffers. */
static const char temporary_buffers[] = "LocalBufferContext";

/* Does a text begin with one of those words, in whatever case? */
static bool
begins_with_any(const char *text, Size bytes, const char *const *words,
				int count)
{
	for (int i = 0; i < count; i++)
	{
		Size		length = strlen(words[i]);

		if (bytes >= length && pg_strncasecmp(text, words[i], length) == 0)
			return true;
	}
	return false;
}

/* Is the context one of those in which a setting limits the decoding? */
static bool
is_decoding(const PlhStringRecord *context)
{
	for (int i = 0; i < lengthof(decoding_contexts); i++)
		if (strcmp(context->text, decoding_contexts[i]) == 0)
			return true;
	return false;
}

/* Does a statement maintain tables?  What precedes its first word is blank. */
static bool
is_maintenance(const PlhStatementRecord *statement)
{
	const char *text = statement->text;
	Size		blanks = strspn(text, " \t\r\n(");

	return begins_with_any(text + blanks, statement->text_bytes - blanks,
						   maintaining_words, lengthof(maintaining_words));
}

/*
 * The limit in bytes of what is allocated at a site; 0 where there is none, and the
 * largest number where it is a setting that profiles don't have.
 */
int64
plh_statement_limit(const PlhProfileImage *image, const PlhSiteRecord *site)
{
	const PlhProfileHeader *header = image->header;
	const PlhStringRecord *context =
		plh_profile_image_string(image, site->key.context_name);
	const PlhStatementRecord *statement =
		plh_profile_image_statement(image, site->key.statement);

	if (context != NULL && header->backend_type == B_WAL_SENDER &&
		is_decoding(context))
		return header->maintenance_bytes;
	if (plh_lifetime_is_lasting(site->key.lifetime))
		return context != NULL &&
			strcmp(context->text, temporary_buffers) == 0 ? PG_INT64_MAX : 0;
	/* functions of SQL decode the log, too, for a statement like any other */
	if (header->backend_type == B_AUTOVAC_WORKER ||
		(statement != NULL && is_maintenance(statement)) ||
		(context != NULL && is_decoding(context)) ||
		(context != NULL &&
		 begins_with_any(context->text, context->text_bytes,
						 maintaining_contexts, lengthof(maintaining_contexts))))
		return Max(header->node_memory_bytes, header->maintenance_bytes);
	return header->node_memory_bytes;
}

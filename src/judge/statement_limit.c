/*
 * statement_limit.c
 *	  Which setting limits what a statement holds, and to how much.
 *
 * A node of a plan may take work_mem times hash_mem_multiplier.  What builds an index or vacuums
 * may take maintenance_work_mem, and the changes of transactions that are decoded
 * logical_decoding_work_mem.  Nothing limits what ANALYZE samples, or what a rewrite of a table
 * remembers of old rows.  Which of these counts is told by the process, the statement and the
 * context.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "judge/statement_limit.h"
#include "profile/statement_tokens.h"

/* Contexts whose names begin so are of an index build or a VACUUM. */
static const char *const maintaining_contexts[] = {
	"BRIN", "Bloom", "Gin", "GiST", "Vacuum"
};

/* And these of maintenance that no setting limits. */
static const char *const unlimited_contexts[] = {
	"Analyze", "Table rewrite"
};

/* The contexts in which the log is decoded. */
static const char *const decoding_contexts[] = {
	"Change", "ReorderBuffer", "ReorderBufferByXid", "TXN", "Tuples"
};

/*
 * Functions of SQL decode the log in a subtransaction, whose context gets the output of the whole
 * transaction that is decoded.
 */
static const char decoding_output[] = "CurTransactionContext";
static const char decoding_parent[] = "Logical decoding context";

/* The context of buffers of temporary tables, up to temp_buffers. */
static const char temporary_buffers[] = "LocalBufferContext";

/* Does the name of a context, which may be NULL, begin with one of these? */
static bool
begins_with(const PlhStringRecord *context, const char *const *names, int count)
{
	return context != NULL &&
		plh_statement_tokens_begin_with(context->text, context->text_bytes, names, count);
}

/* Is it, or NULL, one of the contexts in which a setting limits the decoding? */
static bool
is_decoding(const PlhStringRecord *context)
{
	for (int i = 0; context != NULL && i < lengthof(decoding_contexts); i++)
		if (strcmp(context->text, decoding_contexts[i]) == 0)
			return true;
	return false;
}

/* Is it, or NULL, that of the output of a process that decodes the log? */
static bool
is_decoding_output(const PlhProfileImage *image, const PlhStringRecord *context)
{
	const PlhContextRecord *counted;
	uint32		position = 0;

	if (context == NULL || strcmp(context->text, decoding_output) != 0)
		return false;
	while ((counted = plh_profile_image_next_context(image, &position)) != NULL)
	{
		const PlhStringRecord *name = plh_profile_image_string(image, counted->context_name);

		if (name != NULL && counted->instances > 0 && strcmp(name->text, decoding_parent) == 0)
			return true;
	}
	return false;
}

/* What limits a statement by its first words: some may run plans, or maintain tables. */
static PlhLimitKind
kind_of_statement(const PlhStatementRecord *statement)
{
	if (statement == NULL)
		return PLH_LIMIT_NODE;
	if (plh_statement_tokens_maintain(statement->text, statement->text_bytes))
		return PLH_LIMIT_MAINTENANCE;
	return plh_statement_tokens_may_maintain(statement->text, statement->text_bytes) ?
		PLH_LIMIT_NONE : PLH_LIMIT_NODE;
}

PlhLimitKind
plh_statement_limit_kind(const PlhProfileImage *image, const PlhSiteRecord *site)
{
	const PlhStringRecord *context = plh_profile_image_string(image, site->key.context_name);
	uint32		backend_type = image->header->backend_type;

	if (backend_type == B_WAL_SENDER && is_decoding(context))
		return PLH_LIMIT_DECODING;
	if (plh_lifetime_is_lasting(site->key.lifetime))
		return context != NULL && strcmp(context->text, temporary_buffers) == 0 ?
			PLH_LIMIT_UNKNOWN : PLH_LIMIT_NONE;
	if (begins_with(context, unlimited_contexts, lengthof(unlimited_contexts)))
		return PLH_LIMIT_NONE;
	/* functions of SQL decode the log, too, for a statement like any other */
	if (is_decoding(context) || is_decoding_output(image, context))
		return PLH_LIMIT_DECODING;
	if (backend_type == B_AUTOVAC_WORKER)
		return PLH_LIMIT_AUTOVACUUM;
	if (begins_with(context, maintaining_contexts, lengthof(maintaining_contexts)))
		return PLH_LIMIT_MAINTENANCE;
	return kind_of_statement(plh_profile_image_statement(image, site->key.statement));
}

int64
plh_statement_limit_bytes(const PlhProfileHeader *header, PlhLimitKind kind)
{
	switch (kind)
	{
		case PLH_LIMIT_NODE:
			return header->node_memory_bytes;
		case PLH_LIMIT_MAINTENANCE:
		case PLH_LIMIT_AUTOVACUUM:
			return header->maintenance_bytes;
		case PLH_LIMIT_DECODING:
			return header->decoding_bytes;
		case PLH_LIMIT_UNKNOWN:
			return PG_INT64_MAX;
		case PLH_LIMIT_NONE:
			break;
	}
	return 0;
}

int64
plh_statement_limit_judged(const PlhProfileImage *image, const PlhSiteRecord *site)
{
	const PlhProfileHeader *header = image->header;
	PlhLimitKind kind = plh_statement_limit_kind(image, site);

	if (plh_lifetime_is_lasting(site->key.lifetime))
		return plh_statement_limit_bytes(header, kind);
	/* ordinary tables are sampled and rewritten within as much as is vacuumed */
	if (kind == PLH_LIMIT_NONE)
		kind = PLH_LIMIT_MAINTENANCE;
	return Max(header->node_memory_bytes, plh_statement_limit_bytes(header, kind));
}

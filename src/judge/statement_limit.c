/*
 * statement_limit.c
 *	  What a statement may hold at one site without being suspect, by the settings of its
 *	  process.
 *
 * A node of a plan may take work_mem times hash_mem_multiplier, and what builds an index, vacuums,
 * or decodes the log, maintenance_work_mem or settings like it.  Which of the two counts is told by
 * the process, the statement and the context.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "judge/statement_limit.h"
#include "profile/statement_tokens.h"

/* Contexts whose names begin so are of an index build or a VACUUM. */
static const char *const maintaining_contexts[] = {
	"BRIN", "Bloom", "Gin", "GiST", "Vacuum"
};

/* The contexts in which the log is decoded, up to logical_decoding_work_mem. */
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

/* Is the context one of those in which a setting limits the decoding? */
static bool
is_decoding(const PlhStringRecord *context)
{
	for (int i = 0; i < lengthof(decoding_contexts); i++)
		if (strcmp(context->text, decoding_contexts[i]) == 0)
			return true;
	return false;
}

/* Is the context that of the output of a process that decodes the log? */
static bool
is_decoding_output(const PlhProfileImage *image, const PlhStringRecord *context)
{
	const PlhContextRecord *counted;
	uint32		position = 0;

	if (strcmp(context->text, decoding_output) != 0)
		return false;
	while ((counted = plh_profile_image_next_context(image, &position)) != NULL)
	{
		const PlhStringRecord *name = plh_profile_image_string(image, counted->context_name);

		if (name != NULL && counted->instances > 0 && strcmp(name->text, decoding_parent) == 0)
			return true;
	}
	return false;
}

/*
 * The limit in bytes of what is allocated at a site; 0 where there is none, and the largest number
 * where it is a setting that profiles don't have.
 */
int64
plh_statement_limit(const PlhProfileImage *image, const PlhSiteRecord *site)
{
	const PlhProfileHeader *header = image->header;
	const PlhStringRecord *context = plh_profile_image_string(image, site->key.context_name);
	const PlhStatementRecord *statement = plh_profile_image_statement(image, site->key.statement);

	if (context != NULL && header->backend_type == B_WAL_SENDER && is_decoding(context))
		return header->maintenance_bytes;
	if (plh_lifetime_is_lasting(site->key.lifetime))
		return context != NULL && strcmp(context->text, temporary_buffers) == 0 ? PG_INT64_MAX : 0;
	/* functions of SQL decode the log, too, for a statement like any other */
	if (header->backend_type == B_AUTOVAC_WORKER ||
		(statement != NULL &&
		 plh_statement_tokens_maintain(statement->text, statement->text_bytes)) ||
		(context != NULL && (is_decoding(context) || is_decoding_output(image, context))) ||
		(context != NULL &&
		 plh_statement_tokens_begin_with(context->text, context->text_bytes, maintaining_contexts,
										 lengthof(maintaining_contexts))))
		return Max(header->node_memory_bytes, header->maintenance_bytes);
	return header->node_memory_bytes;
}

/*
 * statement_suspect.c
 *	  What the statement or transaction that runs is suspect of: that it holds more than its
 *	  settings allow.
 *
 * The total is what the last census counted, brought up to date by what samples say has come and
 * gone since.  Nodes of a plan have limits, each its own; what functions, aggregates and the
 * executor keep has none, and shows at a site.
 *
 * A node of a plan may take work_mem times hash_mem_multiplier, and what builds an index, vacuums,
 * or decodes the log, maintenance_work_mem or settings like it.  Which of the two counts is told by
 * the process, the statement and the context.
 */
#include "postgres.h"

#include <math.h>

#include "datatype/timestamp.h"
#include "miscadmin.h"

#include "base/sampling.h"
#include "judge/course.h"
#include "judge/statement_suspect.h"
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

/*
 * Was what a statement holds counted in its transaction?  What another one held may be gone;
 * samples of a cursor WITH HOLD stay.
 */
bool
plh_statement_suspect_is_counted(const PlhAccount *account, const PlhProfileHeader *header)
{
	return account->is_counted && header->census_at >= header->transaction_began_at;
}

/* The total, and the part of it that is an estimate. */
static int64
total_of(const PlhStatementSamples *samples, const PlhAccount *account,
		 const PlhProfileHeader *header, int64 *estimated)
{
	int64		now = plh_course_sound(samples->bytes);
	int64		then = plh_course_sound(header->passing_sampled_bytes);

	if (!plh_statement_suspect_is_counted(account, header))
	{
		*estimated = now;
		return now;
	}
	*estimated = now > then ? now - then : 0;
	if (now >= then)
		return account->passing_bytes + *estimated;
	return (int64) ((double) account->passing_bytes * now / then);
}

/* The 95% bound of the part that is an estimate. */
static int64
error_of(const PlhStatementSamples *samples, int64 estimated)
{
	double		part = samples->bytes <= 0 ? 0.0 :
		Min(1.0, (double) estimated / (double) samples->bytes);
	double		error;

	if (estimated <= 0)
		return 0;
	error = plh_sampling_error_bytes(samples->variance * part, estimated,
									 (int64) ceil(samples->samples * part));
	return (int64) Min((double) PG_INT64_MAX / 2, error);
}

/*
 * The nodes that have a limit, and what they hold; and the largest family that no setting limits
 * and that no node holds, such as parse trees.
 */
static void
count_nodes(PlhStatementFound *statement, const PlhAccount *account)
{
	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (family->lasting || family->family == NULL)
			continue;
		if (family->family->kind == PLH_FAMILY_STATEMENT)
			statement->unlimited_bytes = Max(statement->unlimited_bytes, family->bytes);
		if (family->family->kind != PLH_FAMILY_NODES)
			continue;
		statement->nodes += plh_course_sound(family->largest->instances);
		statement->node_bytes += family->bytes;
	}
}

/* Does it hold more than the settings allow, or does the plan have very many nodes? */
static bool
is_beyond(const PlhFinding *finding, const PlhStatementSamples *samples)
{
	const PlhStatementFound *statement = &finding->statement;
	double		limit = (double) statement->limit_bytes;
	double		rest = (double) finding->bytes - (double) statement->node_bytes;

	/* what is allowed is not known before the first census */
	if (statement->limit_bytes <= 0 || finding->bytes < PLH_SUSPECT_LARGE_BYTES)
		return false;
	return statement->node_bytes > PLH_SUSPECT_QUERY_LIMITS * limit * Max(statement->nodes, 1) ||
		(statement->nodes > PLH_SUSPECT_MANY_LIMITS / 2 &&
		 statement->node_bytes > PLH_SUSPECT_MANY_LIMITS * limit) ||
		rest > PLH_SUSPECT_MANY_LIMITS * limit ||
		Min(statement->unlimited_bytes, finding->bytes) >= PLH_SUSPECT_SURE_BYTES ||
		(samples->largest_bytes > PLH_SUSPECT_QUERY_LIMITS * limit &&
		 samples->largest_bytes >= PLH_SUSPECT_LARGE_BYTES / 2);
}

/* The rate at which it grows, while it does. */
static void
note_rate(PlhFinding *finding, const PlhProfileHeader *header, TimestampTz now)
{
	PlhCourse	course;
	double		passed_us;

	if (!plh_course_follow(&course, header, PLH_SERIES_PASSING, finding->bytes, now) ||
		plh_course_rests(&course) || course.end_unknown)
		return;
	passed_us = (double) course.rests_since - (double) course.grown_since;
	if (course.grown_bytes <= 0 || passed_us < PLH_SUSPECT_LEAK_RATE_US)
		return;
	finding->rate = plh_suspect_rate(course.grown_bytes, passed_us);
}

/* Judge all that a statement or transaction holds at that time. */
bool
plh_statement_suspect_judge(PlhFinding *finding, const PlhStatementSamples *samples,
							const PlhAccount *account,
							const PlhProfileHeader *header, TimestampTz now)
{
	PlhStatementFound *statement = &finding->statement;
	int64		estimated;

	memset(finding, 0, sizeof(*finding));
	finding->kind = PLH_KIND_STATEMENT;
	finding->counted_at = now;
	finding->bytes = total_of(samples, account, header, &estimated);
	statement->limit_bytes = samples->limit_bytes;
	if (plh_statement_suspect_is_counted(account, header))
	{
		count_nodes(statement, account);
		statement->counted_bytes = Min(account->passing_bytes, finding->bytes);
	}
	statement->node_bytes = Min(statement->node_bytes, finding->bytes);
	if (!is_beyond(finding, samples))
		return false;
	finding->error_bytes = error_of(samples, estimated);
	finding->score = 1.0 - Min(1.0, (double) finding->error_bytes / finding->bytes);
	note_rate(finding, header, now);
	return true;
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
plh_statement_suspect_limit(const PlhProfileImage *image, const PlhSiteRecord *site)
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

/*
 * statement_suspect.c
 *	  What the statement or transaction that runs is suspect of: that it holds more than its
 *	  settings allow.
 *
 * The total is what the last census counted, brought up to date by what samples say has come and
 * gone since.  Nodes of a plan have limits, each its own; what functions, aggregates and the
 * executor keep has none, and shows at a site.
 */
#include "postgres.h"

#include <math.h>

#include "datatype/timestamp.h"

#include "base/sampling.h"
#include "judge/course.h"
#include "judge/statement_suspect.h"

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

/*
 * How many times a limit may be taken in all: by each node of a plan, but by what maintains a table
 * only once.
 */
static double
most_limits(PlhLimitKind limit)
{
	return limit == PLH_LIMIT_MAINTENANCE || limit == PLH_LIMIT_AUTOVACUUM ?
		PLH_SUSPECT_QUERY_LIMITS : PLH_SUSPECT_MANY_LIMITS;
}

/*
 * What no setting limits of "sure" bytes: contexts that are known to be of that kind, or all that
 * samples show nothing else for, as far as they can stand for it.
 */
static int64
unlimited_of(const PlhStatementFound *statement, const PlhStatementSamples *samples, int64 sure)
{
	int64		rest = sure - statement->node_bytes - samples->other_bytes;

	return Max(Min(statement->unlimited_bytes, sure), Min(samples->unlimited_bytes, rest));
}

/*
 * Does it hold more than the settings allow, or does the plan have very many nodes?  "sure" are
 * bytes that were counted, or that samples stand for whatever their error.
 */
static bool
is_beyond(const PlhFinding *finding, const PlhStatementSamples *samples, int64 sure)
{
	const PlhStatementFound *statement = &finding->statement;
	double		limit = (double) statement->limit_bytes;
	double		rest = (double) sure - (double) statement->node_bytes;

	/* what is allowed is not known before the first census */
	if (statement->limit_bytes <= 0 || sure < PLH_SUSPECT_LARGE_BYTES)
		return false;
	return statement->node_bytes > PLH_SUSPECT_QUERY_LIMITS * limit * Max(statement->nodes, 1) ||
		(statement->nodes > PLH_SUSPECT_MANY_LIMITS / 2 &&
		 statement->node_bytes > PLH_SUSPECT_MANY_LIMITS * limit) ||
		rest > most_limits(statement->limit) * limit ||
		unlimited_of(statement, samples, sure) >= PLH_SUSPECT_SURE_BYTES ||
		(samples->largest_bytes > PLH_SUSPECT_QUERY_LIMITS * limit &&
		 samples->largest_bytes >= PLH_SUSPECT_FUNCTION_BYTES);
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
	if (course.grown_bytes <= 0 || passed_us < PLH_SUSPECT_RATE_US)
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
	statement->limit = samples->limit;
	statement->limit_bytes = samples->limit_bytes;
	if (plh_statement_suspect_is_counted(account, header))
	{
		count_nodes(statement, account);
		statement->counted_bytes = Min(account->passing_bytes, finding->bytes);
	}
	statement->node_bytes = Min(statement->node_bytes, finding->bytes);
	finding->error_bytes = error_of(samples, estimated);
	if (!is_beyond(finding, samples, finding->bytes - Min(finding->error_bytes, estimated)))
		return false;
	finding->score = 1.0 - Min(1.0, (double) finding->error_bytes / finding->bytes);
	note_rate(finding, header, now);
	return true;
}

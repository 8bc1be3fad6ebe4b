/*
 * malloc_statement.c
 *	  The statement during which a process has got memory from malloc, or mapped it, outside of
 *	  contexts, or memory that malloc keeps since it was freed, where that is known.
 *
 * Samples of malloc have their statement.  Without these, only a statement that runs, or was the
 * last one, is known to have run at a time: what was counted then and since it began tells how much
 * came meanwhile.  Of several short statements nobody knows which, but that it came when the one
 * that runs began.
 */
#include "postgres.h"

#include "judge/course.h"
#include "judge/kept_memory.h"
#include "judge/process_suspect.h"
#include "judge/suspect.h"
#include "profile/site_facts.h"
#include "reader/collections.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "reader/server_activity.h"
#include "report/words.h"
#include "telling/malloc_statement.h"
#include "telling/sentences.h"

/* What samples of malloc stand for, of one statement. */
typedef struct SampledStatement
{
	uint32		statement;		/* its offset in the image; the key */
	const PlhSiteRecord *site;	/* one of its sites */
	int64		bytes;
} SampledStatement;

/* What the finding is about. */
static int64
all_bytes(const PlhFinding *finding)
{
	if (finding->kind == PLH_KIND_MALLOC_KEEPS)
		return finding->bytes;
	return finding->kind != PLH_KIND_MAPPED_GROWS ? plh_process_suspect_malloc_bytes(finding) :
		finding->growth_bytes;
}

/* Are they most of what the finding is about? */
static bool
are_most(const PlhFinding *finding, int64 bytes)
{
	int64		all = all_bytes(finding);

	return bytes > 0 && bytes >= PLH_SUSPECT_EXPLAINED_PART * (double) all;
}

/* The statement for which samples of malloc stand for most; bytes 0 without samples. */
static SampledStatement
most_sampled(const PlhProfileImage *image)
{
	HTAB	   *sums = plh_hash_table("pg_leakhunt statements", sizeof(uint32),
									  sizeof(SampledStatement));
	SampledStatement most = {0};
	const PlhSiteRecord *site;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		SampledStatement *sum;
		bool		found;

		if (site->key.lifetime != PLH_LIFETIME_PROCESS ||
			site->counters.live_bytes <= 0 ||
			site->counters.live_bytes > PG_INT64_MAX / 65536)
			continue;
		sum = hash_search(sums, &site->key.statement, HASH_ENTER, &found);
		sum->site = site;
		sum->bytes = site->counters.live_bytes + (found ? sum->bytes : 0);
		if (sum->bytes > most.bytes)
			most = *sum;
	}
	hash_destroy(sums);
	return most;
}

/* Find it by samples of malloc, which know it better. */
static void
find_sampled(PlhMallocStatement *found, const PlhFinding *finding, const PlhProfileImage *image)
{
	SampledStatement most = most_sampled(image);
	const PlhStatementRecord *statement;
	PlhSiteFacts facts;

	if (!are_most(finding, most.bytes))
		return;
	plh_site_facts_resolve(&facts, image, most.site, NULL);
	statement = facts.statement;
	if (statement == NULL || statement->text_bytes == 0)
		return;
	found->query =
		plh_redaction_statement(plh_database_text_fit_foreign(statement->text,
															  statement->text_bytes,
															  image->header->encoding));
	found->query_id = (int64) statement->query_id;
	found->evidence = PLH_PHRASE(true, malloc_by_samples,
								 .bytes = plh_words_size(Min(most.bytes, finding->bytes)));
}

static PlhSentence
grown_while_ran(PlhKind kind)
{
	if (kind == PLH_KIND_MALLOC_KEEPS)
		return PLH_SAYS_kept_while_ran;
	if (kind == PLH_KIND_OUTSIDE_GROWS)
		return PLH_SAYS_outside_while_ran;
	return kind == PLH_KIND_MAPPED_GROWS ? PLH_SAYS_mapped_while_ran : PLH_SAYS_malloc_while_ran;
}

/* What was counted since then of what the finding is about. */
static int64
gained_since(const PlhFinding *finding, const PlhProfileHeader *header, TimestampTz since)
{
	return finding->kind == PLH_KIND_MALLOC_KEEPS ? plh_kept_memory_came_since(header, since) :
		plh_course_gained_since(header, plh_process_suspect_series(finding->kind), since);
}

/* Find it by what was counted while it ran. */
static bool
find_running(PlhMallocStatement *found, const PlhFinding *finding,
			 const PlhProfileImage *image, const PlhServerQuery *query)
{
	int64		gained = gained_since(finding, image->header, query->started_at);

	if (!are_most(finding, gained))
		return false;
	found->query =
		plh_redaction_statement(plh_database_text_fit_foreign(query->text, strlen(query->text),
															  image->header->encoding));
	found->query_id = query->query_id;
	found->may_run = query->runs;
	found->evidence = plh_sentences_phrase(grown_while_ran(finding->kind), true,
										   PLH_FIELDS(.bytes = plh_words_size(gained)));
	return true;
}

static bool
is_counted_before(const PlhProfileHeader *header, TimestampTz at)
{
	return header->history_count > 0 && header->history[0].at < at;
}

/*
 * Was most counted between a time before the statement that runs now began, and a time after that?
 * Then it may be of another one, which was short.
 */
static bool
find_beginning(PlhMallocStatement *found, const PlhFinding *finding,
			   const PlhProfileImage *image, const PlhServerQuery *query)
{
	int64		gained = plh_course_gained_around(image->header,
												  plh_process_suspect_series(finding->kind),
												  query->started_at);

	if (!query->runs || !are_most(finding, gained))
		return false;
	found->may_run = true;
	found->evidence = is_counted_before(image->header, query->started_at) ?
		PLH_PHRASE(true, malloc_at_begin,.bytes = plh_words_size(gained)) :
		PLH_PHRASE(true, malloc_before_counts);
	return true;
}

/* Find what is known of it by the statement that runs, or was the last one. */
static void
find_by_activity(PlhMallocStatement *found, const PlhFinding *finding, const PlhProfileImage *image)
{
	PlhServerQuery query;

	if (!image->alive ||
		!plh_server_activity_query(image->header->pid, &query) ||
		find_running(found, finding, image, &query) ||
		finding->kind == PLH_KIND_MALLOC_KEEPS ||
		find_beginning(found, finding, image, &query))
		return;
	found->evidence = PLH_PHRASE(true, malloc_of_unknown);
}

PlhMallocStatement
plh_malloc_statement_find(const PlhFinding *finding, const PlhProfileImage *image)
{
	PlhMallocStatement found = {NULL};

	if (!plh_finding_is_outside(finding) && finding->kind != PLH_KIND_MALLOC_KEEPS)
		return found;
	find_by_activity(&found, finding, image);
	if (plh_finding_is_outside(finding) && finding->kind != PLH_KIND_MAPPED_GROWS)
		find_sampled(&found, finding, image);
	return found;
}

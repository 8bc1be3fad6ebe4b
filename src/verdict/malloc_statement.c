/*
 * malloc_statement.c
 *	  The statement during which a process has got memory from malloc, or mapped it,
 *	  outside of contexts, where that is known.
 *
 * Samples of malloc have their statement.  Without these, only a statement that runs, or
 * was the last one, is known to have run at a time: what was counted then and since it
 * began tells how much came meanwhile.  Of several short statements nobody knows which.
 */
#include "postgres.h"

#include "profile/site_facts.h"
#include "reader/collections.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "reader/server_activity.h"
#include "report/words.h"
#include "verdict/course.h"
#include "verdict/malloc_statement.h"
#include "verdict/process_suspect.h"

/* What samples of malloc stand for, of one statement. */
typedef struct SampledStatement
{
	uint32		statement;		/* its offset in the image; the key */
	const PlhSiteRecord *site;	/* one of its sites */
	int64		bytes;
} SampledStatement;

/* Are they most of what the finding is about? */
static bool
are_most(const PlhSuspect *suspect, int64 bytes)
{
	int64		all = suspect->judgement.verdict == PLH_VERDICT_MALLOC ?
		plh_process_suspect_malloc_bytes(&suspect->facts) : suspect->facts.growth_bytes;

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

/* Find it by samples of malloc. */
static bool
find_sampled(PlhMallocStatement *found, const PlhSuspect *suspect,
			 const PlhProfileImage *image)
{
	SampledStatement most = most_sampled(image);
	const PlhStatementRecord *statement;
	PlhSiteFacts facts;

	if (!are_most(suspect, most.bytes))
		return false;
	plh_site_facts_resolve(&facts, image, most.site, NULL);
	statement = facts.statement;
	if (statement == NULL || statement->text_bytes == 0)
		return false;
	found->query =
		plh_redaction_statement(plh_database_text_fit_foreign(statement->text,
															  statement->text_bytes,
															  image->header->encoding));
	found->query_id = (int64) statement->query_id;
	found->evidence = psprintf(" By its samples, %s of that was allocated for one statement.",
							   plh_words_size(Min(most.bytes, suspect->facts.live_bytes)));
	return true;
}

/* Find it by what was counted while it ran. */
static bool
find_running(PlhMallocStatement *found, const PlhSuspect *suspect,
			 const PlhProfileImage *image)
{
	PlhServerQuery query;
	int64		gained;

	if (!image->alive ||
		!plh_server_activity_query(image->header->pid, &query))
		return false;
	gained = plh_course_gained_since(image->header,
									 plh_process_suspect_series(suspect->judgement.verdict),
									 query.started_at);
	if (!are_most(suspect, gained))
		return false;
	found->query = plh_database_text_fit_foreign(query.text, strlen(query.text),
												 image->header->encoding);
	found->query_id = query.query_id;
	found->evidence = psprintf(" While one statement ran, it grew by at least %s.",
							   plh_words_size(gained));
	return true;
}

/* Does it run statements, as a session does? */
static bool
runs_statements(const PlhProfileImage *image)
{
	PlhServerQuery query;

	return image->alive &&
		plh_server_activity_query(image->header->pid, &query) &&
		query.text[0] != '\0';
}

/*
 * Find it for a finding on a process, in the current memory context.
 */
PlhMallocStatement
plh_malloc_statement_find(const PlhSuspect *suspect,
						  const PlhProfileImage *image)
{
	PlhMallocStatement found = {NULL, 0, ""};

	if (suspect->site != NULL ||
		(suspect->judgement.verdict != PLH_VERDICT_MALLOC &&
		 suspect->judgement.verdict != PLH_VERDICT_MAPPED))
		return found;
	if ((suspect->judgement.verdict != PLH_VERDICT_MALLOC ||
		 !find_sampled(&found, suspect, image)) &&
		!find_running(&found, suspect, image) && runs_statements(image))
		found.evidence = " It is not known which statement allocated this.";
	return found;
}

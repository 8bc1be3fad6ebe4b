/*
 * test_suspect_evidence.c
 *	  What is said of a suspect, and what to do about it.
 */
#include "postgres.h"

#include "base/settings.h"
#include "report/size_text.h"
#include "suspect_facts.h"
#include "unit_tests.h"
#include "verdict/suspect_evidence.h"

/* The server's own words for sizes need the server. */
char *
plh_size_text(int64 bytes)
{
	return psprintf(INT64_FORMAT " B", bytes);
}

static void
test_evidence(void)
{
	PlhSuspectFacts facts = steady_leak();
	PlhJudgement judgement = plh_suspect_judge(&facts);
	PlhProfileHeader header = {{0}};
	PlhProfileImage image = {.header = &header,.alive = true};
	char	   *expected;
	char	   *evidence = plh_suspect_evidence(&facts, &judgement, &image);
	int			wrong_verdicts = 0;

	expected = psprintf("Of 100000000 B allocated there it keeps 100000000 B (+/- " INT64_FORMAT " B), and goes on: 500000 B per transaction in the last 100, 500000 B in the 100 before (of a long transaction, each second counts as one).",
						judgement.error_bytes);
	ok(strcmp(evidence, expected) == 0, "evidence of a leak");

	facts = fresh_growth();
	judgement = plh_suspect_judge(&facts);
	evidence = plh_suspect_evidence(&facts, &judgement, &image);
	expected = psprintf("It holds 100000000 B (+/- " INT64_FORMAT " B), 100000000 B more than at the baseline, from 100 samples; too little has happened since its first allocation to tell a leak from a cache.",
						judgement.error_bytes);
	ok(strcmp(evidence, expected) == 0, "evidence of growth");
	facts.statements = 400;
	ok(strstr(plh_suspect_evidence(&facts, &judgement, &image),
			  "; each of 400 statements has too few to tell") != NULL,
	   "evidence of growth in many statements");
	facts = large_query();
	judgement = plh_suspect_judge(&facts);
	ok(strstr(plh_suspect_evidence(&facts, &judgement, &image),
			  "50000000 B of it since the middle of its time; its settings, such as work_mem and hash_mem_multiplier, allow 20000000 B") != NULL,
	   "evidence of a query");
	image.alive = false;
	evidence = plh_suspect_evidence(&facts, &judgement, &image);
	ok(strstr(evidence, "that ran held ") != NULL &&
	   strstr(evidence, "allowed 20000000 B to each node of its plan.") != NULL &&
	   strstr(evidence, "ends") == NULL,
	   "evidence of a query whose process is gone");
	for (int verdict = PLH_VERDICT_NONE + 1; verdict < PLH_VERDICTS; verdict++)
	{
		judgement.verdict = verdict;
		if (plh_suspect_evidence_next(&facts, &judgement, &image) == NULL)
			wrong_verdicts++;
	}
	ok(wrong_verdicts == 0, "something to do about each verdict");
	judgement.verdict = PLH_VERDICT_NONE;
	ok(plh_suspect_evidence_next(&facts, &judgement, &image) == NULL,
	   "nothing to do without a verdict");
	ok(plh_suspect_evidence(&facts, &judgement, &image) == NULL,
	   "no verdict, no evidence");
}

static void
test_evidence_of_malloc(void)
{
	PlhSuspectFacts leak = steady_leak();
	PlhSuspectFacts facts = {.live_bytes = 90 * MB,.growth_bytes = 80 * MB};
	PlhJudgement judgement = plh_suspect_judge(&leak);
	PlhProfileHeader header = {
		.malloc_sampled_bytes = 5 * MB,
		.malloc_sampled_error = MB,
		.malloc_other_bytes = 99 * MB
	};
	PlhProfileImage image = {.header = &header,.alive = true};
	const char *as_leak = plh_suspect_evidence(&leak, &judgement, &image);
	const char *next_of_leak = plh_suspect_evidence_next(&leak, &judgement, &image);

	leak.is_malloc = true;
	judgement = plh_suspect_judge(&leak);
	ok(strcmp(plh_suspect_evidence(&leak, &judgement, &image), as_leak) == 0 &&
	   strcmp(plh_suspect_evidence_next(&leak, &judgement, &image), next_of_leak) == 0,
	   "evidence of a leak of malloc is that of any leak");
	ok(strstr(plh_suspect_evidence(&facts, &judgement, &image),
			  "malloc has given out 90000000 B outside of memory contexts, 80000000 B more") != NULL &&
	   strstr(plh_suspect_evidence(&facts, &judgement, &image), "call site") == NULL,
	   "evidence of malloc as a whole");
	ok(strstr(plh_suspect_evidence_next(&facts, &judgement, &image),
			  "; start the server with pg_leakhunt_malloc.so preloaded, and") != NULL,
	   "with how to see more");
	plh_track_malloc = false;
	ok(strstr(plh_suspect_evidence_next(&facts, &judgement, &image),
			  "; turn pg_leakhunt.track_malloc on, and") != NULL,
	   "where that was not unwanted");
	plh_track_malloc = true;
	header.malloc_tracked = 1;
	ok(strstr(plh_suspect_evidence(&facts, &judgement, &image),
			  " 5000000 B (+/- 1000000 B) of that are known by call site; threads that are not sampled have allocated 99000000 B in all.") != NULL &&
	   strstr(plh_suspect_evidence_next(&facts, &judgement, &image), "preloaded") == NULL,
	   "and with what is seen, where malloc is sampled");
}

void
test_suspect_evidence(void)
{
	test_evidence();
	test_evidence_of_malloc();
}

/*
 * test_suspect_sums.c
 *	  What is known of sites that are judged together, and of the first half of a life.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "suspect_facts.h"
#include "unit_tests.h"

static int64
age_of(uint32 first_epoch, uint32 last_epoch, uint32 now)
{
	PlhSiteRecord site = {{0}};
	PlhProfileHeader header = {{0}};

	site.first_epoch = first_epoch;
	site.last_epoch = last_epoch;
	header.epoch = now;
	return plh_suspect_age(&header, &site);
}

/* Epochs of the early checkpoint of a site of that age; 0 for none. */
static uint32
early_epochs_at(int64 age)
{
	PlhSiteRecord site = {{0}};
	const PlhCheckpoint *early;

	site.checkpoints[1].epochs = 4;
	site.checkpoints[2].epochs = 8;
	early = plh_suspect_early_checkpoint(&site, age);
	return early != NULL ? early->epochs : 0;
}

static void
test_epochs(void)
{
	ok(age_of(10, 10, 10) == 1, "the age of a site counts its first epoch");
	ok(age_of(10, 15, 19) == 10, "the age of a site counts the current epoch");
	ok(age_of(10, 10, 9) == 1, "a header may be older than the site");
	ok(age_of(10, 15, 9) == 6 && age_of(10, 15, 12) == 6,
	   "a header may be older than the site's last sample");
	ok(age_of(PG_UINT32_MAX - 5, PG_UINT32_MAX - 5, 4) == 11,
	   "epochs may wrap around");
	ok(age_of(0, 0, 3000000000U) == INT64CONST(3000000001),
	   "a life may have more epochs than a signed integer");
	ok(early_epochs_at(7) == 0 && early_epochs_at(8) == 4,
	   "the early checkpoint is in the first half of a life");
	ok(early_epochs_at(15) == 4 && early_epochs_at(16) == 8,
	   "the early checkpoint is the youngest in the first half of a life");
}

/* Sums of sites, whose errors are not those of the sites added up. */
static void
test_pooling(void)
{
	PlhSuspectFacts one = fresh_growth();
	PlhSuspectFacts sum = {0};
	PlhJudgement judgement;

	for (int i = 0; i < 4; i++)
		plh_suspect_pool(&sum, &one);
	judgement = plh_suspect_judge(&sum);
	ok(sum.statements == 4 && sum.live_bytes == 400 * MB &&
	   sum.growth_bytes == 400 * MB && sum.live_samples == 400,
	   "figures of sites are added up");
	ok(sum.epochs == 12 && sum.age_epochs == 3, "epochs of sites are added up, and ages are not");
	ok(judgement.error_bytes ==
	   (int64) plh_sampling_error_bytes(400.0 * MB * MB, 400.0 * MB, 400),
	   "the error of several sites is that of their sum");

	one.live_bytes = one.live_samples = 0;
	one.growth_bytes = -350 * MB;
	plh_suspect_pool(&sum, &one);
	ok(sum.statements == 4 && sum.growth_bytes == 50 * MB &&
	   is_judged(sum, PLH_VERDICT_NONE),
	   "what one statement has freed is no growth of another");
	one.growth_bytes = PG_INT64_MAX;
	plh_suspect_pool(&sum, &one);
	plh_suspect_pool(&sum, &one);
	ok(sum.growth_bytes == PG_INT64_MAX, "sums do not wrap around");
}

/* What a sum held in the middle of its life, by what its sites did. */
static void
test_pooled_course(void)
{
	PlhSuspectFacts facts = {.age_epochs = 100,.live_bytes = 100 * MB,.live_samples = 100};
	PlhSuspectFacts sum = {.age_epochs = 100};
	PlhSiteRecord site = {{0}};

	/* all of it in the first ten epochs */
	site.first_epoch = 1;
	site.last_epoch = 10;
	site.counters.last_at = SOME_TIME;
	plh_suspect_pool_early(&sum, &site, &facts);
	ok(sum.early.epochs == 50 && sum.early.live_bytes == 100 * MB &&
	   sum.early.live_samples == 100 && sum.early.at == SOME_TIME,
	   "what is older than the middle of a life counts as early");

	/* up to now, half of it by epoch 25 */
	site.last_epoch = 100;
	site.checkpoints[2].epochs = 25;
	site.checkpoints[2].live_bytes = 50 * MB;
	site.checkpoints[2].live_samples = 50;
	memset(&sum.early, 0, sizeof(sum.early));
	plh_suspect_pool_early(&sum, &site, &facts);
	ok(sum.early.live_bytes > 66 * MB && sum.early.live_bytes < 67 * MB &&
	   sum.early.live_samples == 66,
	   "what grows over the middle of a life counts as early in part");

	/* the youngest checkpoint is behind the middle */
	site.checkpoints[1] = site.checkpoints[2];
	site.checkpoints[2].epochs = 75;
	site.checkpoints[2].live_bytes = 90 * MB;
	memset(&sum.early, 0, sizeof(sum.early));
	plh_suspect_pool_early(&sum, &site, &facts);
	ok(sum.early.live_bytes == 70 * MB, "the checkpoints around the middle of a life tell what is early");

	facts.age_epochs = 50;
	memset(&sum.early, 0, sizeof(sum.early));
	plh_suspect_pool_early(&sum, &site, &facts);
	ok(sum.early.epochs == 0 && sum.early.live_bytes == 0,
	   "what began after the middle of a life is not early");
}

void
test_suspect_sums(void)
{
	test_epochs();
	test_pooling();
	test_pooled_course();
}

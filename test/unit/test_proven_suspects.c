/*
 * test_proven_suspects.c
 *	  What a proof makes of verdicts: on what is lost, on what can be reached, and on sums.
 */
#include "postgres.h"

#include "judge/process_suspect.h"
#include "judge/proven_suspect.h"
#include "profile/proof_image.h"
#include "suspect_facts.h"
#include "unit_tests.h"

#define KB 1024

static bool
is(PlhSuspectFacts facts, PlhVerdict verdict)
{
	return plh_proven_suspect_judge(&facts).verdict == verdict;
}

/* A few chunks, of which figures say nothing. */
static PlhSuspectFacts
small_site(void)
{
	PlhSuspectFacts facts = {0};

	facts.live_bytes = facts.total_bytes = 400 * KB;
	facts.live_count = facts.live_samples = 100;
	facts.epochs = facts.age_epochs = facts.transactions = 2;
	facts.sites = facts.statements = 1;
	facts.is_session = true;
	facts.counted_to = SOME_TIME;
	return facts;
}

static PlhSuspectFacts
lost_site(int64 bytes)
{
	PlhSuspectFacts facts = small_site();

	facts.proven = (PlhProven)
	{
		.at = SOME_TIME,.lost_bytes = bytes,.lost_samples = 10,
			.held_bytes = facts.live_bytes - bytes
	};
	return facts;
}

static void
test_lost(void)
{
	PlhSuspectFacts facts = lost_site(128 * KB);
	PlhJudgement judgement = plh_proven_suspect_judge(&facts);

	ok(is(small_site(), PLH_VERDICT_NONE), "without a proof, a few chunks are no suspect");
	ok(judgement.verdict == PLH_VERDICT_LEAK && judgement.basis == PLH_BY_LOSS &&
	   judgement.bytes == 128 * KB && judgement.score == 1.0 && !judgement.rate.is_known,
	   "128 kB that are lost are a leak, about what is lost, which has no rate");
	ok(is(lost_site(128 * KB - 1), PLH_VERDICT_NONE), "what is lost and less is none");
	facts.is_session = false;
	ok(is(facts, PLH_VERDICT_NONE), "what ends with a statement is freed with it, lost or not");
	facts = lost_site(128 * KB);
	facts.proven.resettable_bytes = 1;
	ok(is(facts, PLH_VERDICT_NONE), "what is freed with its context is not lost for good");
	facts = lost_site(128 * KB);
	facts.is_malloc = true;
	ok(is(facts, PLH_VERDICT_MALLOC), "malloc's blocks that are lost have the verdict of malloc");
	facts = lost_site(400 * KB);
	facts.proven.lost_samples = 7;
	facts.proven.lost_variance = 400.0 * KB * 400 * KB / 7;
	ok(is(facts, PLH_VERDICT_NONE), "seven samples of small chunks are too few");
	facts.proven.lost_samples = 8;
	facts.proven.lost_variance = 400.0 * KB * 400 * KB / 8;
	ok(is(facts, PLH_VERDICT_LEAK), "eight do");
}

/* A leak by its figures, of which that part can be reached, and the rest is lost. */
static PlhSuspectFacts
reached_leak(double held_part)
{
	PlhSuspectFacts facts = steady_leak();

	facts.proven = (PlhProven)
	{
		.at = SOME_TIME,.held_bytes = (int64) (held_part * facts.live_bytes)
	};
	return facts;
}

static void
test_reached(void)
{
	PlhSuspectFacts facts = reached_leak(0.25);
	PlhJudgement judgement = plh_proven_suspect_judge(&facts);

	ok(judgement.verdict == PLH_VERDICT_GROWING && judgement.basis == PLH_BY_REACH &&
	   judgement.bytes == facts.live_bytes && judgement.rate.is_known && judgement.score <= 0.5,
	   "a leak of which a quarter can be reached grows, at its rate");
	ok(is(reached_leak(0.2499), PLH_VERDICT_LEAK), "less does not help it");
	facts = reached_leak(1.0);
	facts.is_malloc = true;
	ok(is(facts, PLH_VERDICT_GROWING), "the same of malloc");
	facts = reached_leak(1.0);
	facts.live_bytes = facts.total_bytes = 134217727;
	ok(is(facts, PLH_VERDICT_GROWING), "what can be reached grows below 128 MB");
	facts.live_bytes = facts.total_bytes = 134217728;
	ok(is(facts, PLH_VERDICT_LEAK), "from there on, it is a leak by its figures");

	facts = reached_leak(0.5);
	facts.proven.lost_bytes = 20 * MB;
	facts.proven.lost_samples = 20;
	facts.proven.lost_variance = 20.0 * MB * MB;
	judgement = plh_proven_suspect_judge(&facts);
	ok(judgement.verdict == PLH_VERDICT_LEAK && judgement.basis == PLH_BY_LOSS &&
	   judgement.bytes == 20 * MB && !judgement.rate.is_known,
	   "of what can be reached in part, the other part is the leak");
	facts.proven.held_bytes = 0;
	judgement = plh_proven_suspect_judge(&facts);
	ok(judgement.basis == PLH_BY_FIGURES && judgement.bytes == facts.live_bytes,
	   "where nothing was found to be reached, all is");
}

/* Left by few transactions. */
static void
test_left(void)
{
	PlhSuspectFacts facts = fresh_growth();

	facts.has_baseline = false;
	facts.first_at = SOME_TIME;
	facts.last_at = SOME_TIME + 20 * USECS_PER_SEC;
	facts.counted_to = SOME_TIME + 40 * USECS_PER_SEC - 1;
	ok(is(facts, PLH_VERDICT_HELD), "what few transactions have left is held");
	facts.proven.at = SOME_TIME;
	facts.proven.held_bytes = facts.live_bytes;
	ok(is(facts, PLH_VERDICT_GROWING), "what can be reached may still fill");
	facts.counted_to++;
	ok(is(facts, PLH_VERDICT_HELD), "it does no more when it has rested for as long");
}

static void
test_begun(void)
{
	PlhSuspectFacts facts = small_site();

	facts.epochs = 3;
	ok(!plh_proven_suspect_is_begun(&facts), "three transactions are not worth a proof");
	facts.epochs = 4;
	ok(plh_proven_suspect_is_begun(&facts), "four are");
	facts.proven.held_bytes = 100 * KB;
	ok(plh_proven_suspect_is_begun(&facts), "nor is what is four times what was proven");
	facts.proven.held_bytes++;
	ok(!plh_proven_suspect_is_begun(&facts), "nothing less than that");
	facts = small_site();
	facts.epochs = 4;
	facts.live_variance = 400.0 * KB * 400 * KB;
	ok(!plh_proven_suspect_is_begun(&facts), "what is not known yet has not begun");
	facts.live_variance = 0;
	facts.live_bytes = 128 * KB - 1;
	ok(!plh_proven_suspect_is_begun(&facts), "nor has what is small");
	facts = small_site();
	facts.epochs = 4;
	facts.is_session = false;
	ok(!plh_proven_suspect_is_begun(&facts), "nor what ends with its statement");
}

/* Sums over sites. */
static void
test_sums(void)
{
	PlhProven	sum = {0};
	const PlhProven sites[] = {
		{.at = SOME_TIME,.lost_bytes = 10,.lost_samples = 1,.lost_variance = 4.0,
		.held_bytes = 50,.holder_bytes = 50,.holder = "a stack"},
		{.at = SOME_TIME,.lost_bytes = 20,.resettable_bytes = 20,.lost_samples = 2,
		.held_bytes = 60,.holder_bytes = 60,.holder = "a table",.path = "x"},
		{.held_bytes = 0},
		{.at = SOME_TIME,.held_bytes = 7,.holder_bytes = 7,.holder = "a table"}
	};

	for (int i = 0; i < lengthof(sites); i++)
		plh_proven_pool(&sum, &sites[i]);
	ok(sum.at == SOME_TIME && sum.lost_bytes == 30 && sum.resettable_bytes == 20 &&
	   sum.lost_samples == 3 && sum.lost_variance == 4.0 && sum.held_bytes == 117,
	   "what was proven of several sites adds up");
	ok(strcmp(sum.holder, "a table") == 0 && sum.holder_bytes == 67 && strcmp(sum.path, "x") == 0,
	   "the holder of most of them is told");
	plh_proven_bound(&sum, 147, 73);
	ok(sum.lost_bytes == 14 && sum.held_bytes == 58 && sum.holder_bytes <= sum.held_bytes,
	   "parts of less are less");
	sum.lost_bytes = PG_INT64_MAX - 5;
	plh_proven_pool(&sum, &sites[0]);
	ok(sum.lost_bytes == PG_INT64_MAX, "damaged figures don't wrap around");
}

/* A proof of one group, in memory. */
static union
{
	PlhProof	proof;
	char		bytes[offsetof(PlhProof, groups) + sizeof(PlhProofGroup) + 16];
}			only;

static PlhProofGroup *
prove_one(void)
{
	memset(&only, 0, sizeof(only));
	memcpy(only.proof.magic, PLH_PROOF_MAGIC, sizeof(PLH_PROOF_MAGIC));
	only.proof.at = SOME_TIME;
	only.proof.group_count = 1;
	only.proof.site_count = 1;
	only.proof.text_bytes = 16;
	strcpy((char *) &only.proof.groups[1] + 1, "a stack");
	only.proof.groups[0].holder = 1;
	return &only.proof.groups[0];
}

static void
test_collecting(void)
{
	static struct
	{
		PlhProfileHeader header;
		PlhSiteRecord site;
	}			profile;
	PlhProfileImage image = {.header = &profile.header,.proof = &only.proof};
	PlhProofGroup *group = prove_one();
	PlhProven	proven;

	profile.site.record.born = group->born = 7;
	profile.site.counters.live_bytes = profile.site.counters.total_bytes = 1000;
	group->site = plh_profile_image_offset(&image, &profile.site);
	group->bytes = 800;
	group->lost_bytes = 200;
	group->resettable_bytes = 100;
	group->holder_bytes = 600;
	group->lost_variance = 4.0;
	plh_proven_collect(&proven, &image, &profile.site);
	ok(proven.at == SOME_TIME && proven.lost_bytes == 200 && proven.resettable_bytes == 100 &&
	   proven.held_bytes == 600 && proven.holder_bytes == 600 && proven.lost_variance == 4.0 &&
	   strcmp(proven.holder, "a stack") == 0 && proven.path == NULL,
	   "what a proof says of a site is proven");
	profile.site.counters.live_bytes = 150;
	plh_proven_collect(&proven, &image, &profile.site);
	ok(proven.lost_bytes == 150 && proven.resettable_bytes == 75 && proven.held_bytes == 0 &&
	   proven.holder_bytes == 0, "no more is proven than there is");
	group->born++;
	plh_proven_collect(&proven, &image, &profile.site);
	ok(proven.at == 0 && proven.lost_bytes == 0, "nothing is proven of a site that came later");
	group->born--;
	only.proof.outcome = PLH_PROOF_NO_TIME;
	plh_proven_collect(&proven, &image, &profile.site);
	ok(proven.at == 0, "nor by what is none");

	only.proof.outcome = PLH_PROOF_PROVEN;
	plh_proven_collect_malloc(&proven, &image);
	ok(proven.held_bytes == 0, "contexts' groups are none of malloc's");
	group->lifetime = PLH_LIFETIME_PROCESS;
	plh_proven_collect_malloc(&proven, &image);
	ok(proven.lost_bytes == 200 && proven.held_bytes == 600, "those of malloc add up");
}

/* Of malloc as a whole. */
static void
test_malloc(void)
{
	PlhProfileImage image = {.proof = &only.proof};
	PlhProofGroup *group = prove_one();
	PlhFinding	finding = {.kind = PLH_KIND_MALLOC_GROWS,.bytes = 100 * MB};

	group->lifetime = PLH_LIFETIME_PROCESS;
	group->bytes = 25 * MB;
	ok(!plh_process_suspect_fits_proof(&finding, &image), "a quarter that can be reached is enough");
	finding.kind = PLH_KIND_MALLOC_REACHED;
	ok(plh_process_suspect_fits_proof(&finding, &image) &&
	   finding.process.proven.held_bytes == 25 * MB, "it has a kind of its own");
	finding.bytes = 134217728;
	ok(!plh_process_suspect_fits_proof(&finding, &image), "until it is large");
	finding.kind = PLH_KIND_MAPPED_GROWS;
	ok(plh_process_suspect_fits_proof(&finding, &image), "of mapped memory nothing is proven");
}

void
test_proven_suspects(void)
{
	test_lost();
	test_reached();
	test_left();
	test_begun();
	test_sums();
	test_collecting();
	test_malloc();
}

/*
 * judge.c
 *	  Lets the judge look at generated processes, and compares what it says with their
 *	  truth.
 *
 *	  judge [--proofs] odd|even N [KIND]
 *
 * Seeds are the N first odd or even numbers, from 1 or 2 on.  With the name of a kind, only
 * processes of that one are run, and each that was missed or accused is listed.  With
 * --proofs, processes are proven when something in them begins to grow, as a server's are.
 * Exits with 1 where the shares fall below the goal.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/pg_bitutils.h"

#include "base/guard.h"
#include "kinds.h"
#include "stacks.h"
#include "judge/findings.h"
#include "profile/profile.h"
#include "profile/profile_image.h"
#include "simulated_proof.h"
#include "reader/database_text.h"
#include "telling/function_shares.h"

/* The goal. */
#define NAMED_PART 0.97
#define ACCUSED_PART 0.001

/* With proofs. */
#define PROVEN_NAMED_PART 0.99
#define ACCUSED_TOO_EARLY 10

/* What is left at once is to be named within this time. */
#define NAMED_US INT64CONST(10000000)

/* So many looks at a process, or at each growth by this part. */
#define LOOKS 60
#define LOOK_PART 0.04

/* The number of processes that a child runs; it is gone with what they leave behind. */
#define BATCH 100

typedef struct Result
{
	bool		done;
	bool		is_judged;		/* it held twice what makes it judgeable, or for
								 * long enough */
	bool		is_named;		/* by then */
	double		named_at;		/* part of what makes it judgeable; 0: never */
	int			right_looks;	/* since it was named, while it was true */
	int			lost_looks;		/* and those of them without a right finding */
	PlhVerdict	verdict;		/* on the cause when last looked at, or on a
								 * healthy process */
	bool		is_told_once;	/* there was one finding on each cause when it
								 * was last looked at */
	bool		is_asked;		/* it was asked to count at each look */
	int			accused;		/* set of verdicts on who is innocent */
	int			too_early;		/* the same before a healthy one was settled */
} Result;

/* Of the reader's side: not needed here, or not in libpgcommon. */
char *
plh_database_text_fit_foreign(const char *text, Size bytes, int encoding)
{
	return pstrdup(text);
}

void *
repalloc_huge(void *pointer, Size size)
{
	return repalloc(pointer, size);
}

/* Of a doorbell that nobody rings. */
volatile sig_atomic_t InterruptPending;

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name,
							  Size min_bytes, Size first_bytes, Size max_bytes)
{
	return NULL;
}

static Result *result;			/* of the process that is run */
static struct
{
	int64		held_bytes;		/* at the last look */
	int64		at_us;
	int64		judgeable_us;	/* since when it holds what makes it judgeable */
	int64		unproven_bytes; /* that were begun behind the last proof, too */
} last;

static bool with_proofs;

/* Who allocates at the site of a finding; 0: it has none. */
static int
who_of(const PlhSiteRecord *site)
{
	const PlhStackRecord *stack;

	if (site == NULL)
		return 0;
	stack = (const PlhStackRecord *) ((const char *) plh_profile + site->key.stack);
	return WHO_AT(PLH_FRAME_ADDRESS(stack->frames[0]));
}

static bool
is_culprit(const Process *process, const PlhSiteRecord *site)
{
	int			who = who_of(site);

	return who != 0 && who >= process->first_who && who <= process->last_who;
}

/* Are contexts those of the cause? */
static bool
are_culprits(const Process *process, const PlhFamilyAccount *family)
{
	const PlhStringRecord *name;

	if (process->context == NULL || family == NULL)
		return false;
	name = plh_profile_image_string(plh_profile_image_own(plh_profile),
									family->largest->context_name);
	return strcmp(name->text, process->context) == 0 ||
		(family->family != NULL && family->family == plh_family_of(process->context));
}

/* Is one of the largest sites of a statement that of the cause? */
static bool
has_share(const Process *process, const PlhFinding *finding)
{
	for (int i = 0; i < Min(finding->statement.share_count, PLH_TOLD_SHARES); i++)
		if (is_culprit(process, finding->statement.shares[i].site))
			return true;
	return false;
}

/* Is the finding about the cause, whatever it says of it? */
static bool
is_about_cause(const Process *process, const PlhFinding *finding)
{
	switch (plh_finding_subject(finding))
	{
		case PLH_SUBJECT_CONTEXTS:
			return are_culprits(process, finding->contexts.family) ||
				is_culprit(process, finding->site);
		case PLH_SUBJECT_PROCESS:
			return process->is_whole;
		case PLH_SUBJECT_STATEMENT:
			return process->verdicts & BIT(PLH_VERDICT_QUERY) &&
				(finding->statement.share_count == 0 || has_share(process, finding));
		case PLH_SUBJECT_SITE:
			break;
	}
	return is_culprit(process, finding->site);
}

/* Is it a finding that users don't see?  PostgreSQL's caches are known by their stacks. */
static bool
is_known_cache(const PlhFinding *finding)
{
	return plh_finding_subject(finding) == PLH_SUBJECT_SITE &&
		who_of(finding->site) == CORE_CACHE;
}

/* Is it a cache of PostgreSQL's that grows, rightly told so and as no leak? */
static bool
is_filling_cache(const Process *process, const PlhFinding *finding)
{
	return finding->kind == PLH_KIND_CACHE_GROWS && process->is_filling;
}

/* What PlhCauses.fills_cache is here. */
static bool
fills_cache(void *arg, const PlhSiteRecord *site)
{
	return who_of(site) == CORE_CACHE;
}

/* The finding on the cause that says most: a right one, if there is one. */
static PlhVerdict
verdict_on_cause(const Process *process, const PlhFindings *findings, bool *is_right)
{
	PlhVerdict	verdict = PLH_VERDICT_NONE;

	*is_right = false;
	for (int i = 0; i < findings->count && !*is_right; i++)
	{
		const PlhFinding *finding = &findings->list[i];

		if (is_known_cache(finding) || !is_about_cause(process, finding))
			continue;
		verdict = plh_finding_verdict(finding);
		*is_right = (process->verdicts & BIT(verdict)) != 0;
	}
	return verdict;
}

/* Note who is accused though he is innocent. */
static void
note_accused(const Process *process, const PlhFindings *findings)
{
	for (int i = 0; i < findings->count; i++)
	{
		const PlhFinding *finding = &findings->list[i];
		PlhVerdict	verdict = plh_finding_verdict(finding);

		if (is_known_cache(finding) || is_filling_cache(process, finding) ||
			(!process->kind->is_healthy && is_about_cause(process, finding)))
			continue;
		if (!process->kind->is_healthy || process->is_settled)
			result->accused |= BIT(verdict);
		else
			result->too_early |= BIT(verdict);
		if (process->kind->is_healthy)
			result->verdict = Max(result->verdict, verdict);
	}
}

/*
 * Has each cause one finding, and the process none beside?  Where there are several causes, each
 * has a function of its own.
 */
static bool
is_told_once(const Process *process, const PlhFindings *findings)
{
	int			told = 0;
	uint64		functions = 0;

	for (int i = 0; i < findings->count; i++)
	{
		const PlhFinding *finding = &findings->list[i];

		if (is_known_cache(finding) ||
			(!is_about_cause(process, finding) &&
			 plh_finding_subject(finding) != PLH_SUBJECT_PROCESS))
			continue;
		told++;
		functions |= UINT64CONST(1) << stacks_function(who_of(finding->site));
	}
	return told == process->causes &&
		(told == 1 || pg_popcount64(functions) == told);
}

/* Compare what was found with the truth about a cause that is judgeable. */
static void
note_cause(const Process *process, const PlhFindings *findings)
{
	bool		is_right;
	PlhVerdict	verdict = verdict_on_cause(process, findings, &is_right);
	int64		now_us = simulated_now_us();
	double		part = (double) process->held_bytes / process->judgeable_bytes;
	int64		passed_us;

	if (is_right && result->named_at == 0)
		result->named_at = part;
	result->is_named |= is_right && part <= 2.0;
	if (part < 1.0)
		return;
	if (last.judgeable_us == 0)
		last.judgeable_us = now_us;
	passed_us = now_us - Max(last.judgeable_us, process->held_since_us);
	result->is_named |= is_right && passed_us <= NAMED_US;
	result->is_judged |= part >= 2.0 ||
		(process->held_since_us != 0 && passed_us >= NAMED_US);
	if (result->named_at != 0)
	{
		result->right_looks++;
		result->lost_looks += !is_right;
	}
	result->verdict = verdict;
	result->is_told_once = is_told_once(process, findings);
}

static void
free_findings(PlhFindings *findings)
{
	pfree(findings->account->families);
	pfree(findings->account);
	pfree(findings->list);
	pfree(findings);
}

static PlhFindings *
find(void)
{
	static const PlhCauses causes = {
		stacks_find_causes, stacks_find_origins, fills_cache, NULL
	};
	PlhProfileImage *image = plh_profile_image_own(plh_profile);

	image->proof = simulated_proof();
	return plh_findings_make(image, NULL, simulated_time(), &causes);
}

/* Prove what has begun, as the keeper asks for it: again once it is four times what it was. */
static PlhFindings *
find_proven(const Process *process)
{
	PlhFindings *findings = find();

	if (!process->is_proven || findings->begun_bytes <= 4 * last.unproven_bytes)
		return findings;
	free_findings(findings);
	process_prove(process);
	findings = find();
	last.unproven_bytes = findings->begun_bytes;
	return findings;
}

void
look(Process *process)
{
	PlhFindings *findings;

	if (process->held_bytes < last.held_bytes * (1.0 + LOOK_PART) &&
		process->held_bytes >= last.held_bytes &&
		simulated_now_us() - last.at_us < USECS_PER_SEC)
		return;
	last.held_bytes = process->held_bytes;
	last.at_us = simulated_now_us();
	if (process->is_asked)
		simulated_count();
	findings = find_proven(process);
	note_accused(process, findings);
	if (!process->kind->is_healthy && !process->is_over && process->held_bytes > 0)
		note_cause(process, findings);
	free_findings(findings);
}

/* The session is idle after its last transaction, or after the one that left something. */
static void
be_idle(Process *process)
{
	for (int i = 0; i < 13; i++)
	{
		simulated_wait(USECS_PER_SEC);
		look(process);
	}
}

static void
run_process(Process *process, const Kind *kind, uint64 seed, Result *where)
{
	memset(&last, 0, sizeof(last));
	result = where;
	process_prepare(process, kind, seed, with_proofs);
	result->is_asked = process->is_asked;
	for (int step = 0; step < process->steps; step++)
	{
		process_step(process, step);
		if (step % Max(1, process->steps / LOOKS) == 0)
			last.at_us = -USECS_PER_DAY;
		look(process);
	}
	be_idle(process);
	free(process->keys);
	simulated_end();
	result->done = true;
}

/* Healthy kinds come twice as often as others. */
static const Kind *
kind_of(uint64 seed)
{
	int			healthy = 0;
	int			place;

	for (int i = 0; i < kind_count; i++)
		healthy += kinds[i].is_healthy;
	place = (seed / 2) % (kind_count + healthy);
	return &kinds[place < kind_count ? place : place - healthy];
}

/* Run processes, as many as a child may. */
static void
run_batch(Result *results, uint64 first_seed, int count, const Kind *only)
{
	pid_t		child = fork();
	int			status;

	if (child == 0)
	{
		Process    *process = malloc(sizeof(Process));

		plh_guard_held = true;
		for (int i = 0; i < count; i++)
			run_process(process, only != NULL ? only : kind_of(first_seed + 2 * i),
						first_seed + 2 * i, &results[i]);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
	{
		fprintf(stderr, "A process of the seeds from " UINT64_FORMAT " on failed.\n",
				first_seed);
		exit(2);
	}
}

/* The sums of a kind. */
typedef struct Sums
{
	int			processes;
	int			judged;
	int			named;
	int			accused;
	int			too_early;
	int			gone;			/* right findings that went away */
	int			told_once;
	int			verdicts[PLH_VERDICTS];
	double	   *named_at;
	int			named_count;
} Sums;

#define NO_ACCUSATION BIT(PLH_VERDICT_GROWING)

static void
add_result(Sums *sums, const Result *one, bool is_healthy)
{
	sums->processes++;
	if (is_healthy || one->is_judged)
		sums->verdicts[one->verdict]++;
	sums->accused += (one->accused & ~NO_ACCUSATION) != 0;
	sums->too_early += (one->too_early & ~NO_ACCUSATION) != 0;
	if (!one->is_judged)
		return;
	sums->judged++;
	sums->named += one->is_named;
	sums->gone += one->lost_looks > 0;
	sums->told_once += one->is_told_once;
	if (one->named_at > 0)
		sums->named_at[sums->named_count++] = one->named_at;
}

static int
compare_doubles(const void *a, const void *b)
{
	double		left = *(const double *) a;
	double		right = *(const double *) b;

	return left < right ? -1 : left > right;
}

static double
quantile(Sums *sums, double part)
{
	if (sums->named_count == 0)
		return 0;
	qsort(sums->named_at, sums->named_count, sizeof(double), compare_doubles);
	return sums->named_at[(int) (part * (sums->named_count - 1))];
}

static void
print_head(void)
{
	printf("| truth | processes |");
	for (int i = 0; i < PLH_VERDICTS; i++)
		printf(" %s |", plh_verdict_name(i));
	printf(" named in time | named at, median, 90%%, 99%% | went away | told once | others accused |\n|---|");
	for (int i = 0; i < PLH_VERDICTS + 6; i++)
		printf("---:|");
	printf("\n");
}

static void
print_sums(const char *name, Sums *sums, bool is_healthy)
{
	printf("| %s | %d |", name, is_healthy ? sums->processes : sums->judged);
	for (int i = 0; i < PLH_VERDICTS; i++)
		if (sums->verdicts[i] == 0)
			printf(" |");
		else
			printf(" %d |", sums->verdicts[i]);
	if (is_healthy)
		printf(" | | | | %d |\n", sums->accused);
	else
		printf(" %.1f%% | %.2f, %.2f, %.2f | %d | %.0f%% | %d |\n",
			   100.0 * sums->named / Max(1, sums->judged), quantile(sums, 0.5),
			   quantile(sums, 0.9), quantile(sums, 0.99), sums->gone,
			   100.0 * sums->told_once / Max(1, sums->judged), sums->accused);
}

static void
add_sums(Sums *all, const Sums *sums)
{
	all->processes += sums->processes;
	all->judged += sums->judged;
	all->named += sums->named;
	all->accused += sums->accused;
	all->too_early += sums->too_early;
	all->gone += sums->gone;
	all->told_once += sums->told_once;
	for (int i = 0; i < PLH_VERDICTS; i++)
		all->verdicts[i] += sums->verdicts[i];
	for (int i = 0; i < sums->named_count; i++)
		all->named_at[all->named_count++] = sums->named_at[i];
}

/* Print the table; returns whether the goal is met. */
static bool
print_table(Sums *sums, int count)
{
	Sums		causes = {.named_at = malloc(sizeof(double) * count)};
	Sums		healthy = {.named_at = malloc(sizeof(double) * count)};
	double		named;
	double		accused;
	double		goal = with_proofs ? PROVEN_NAMED_PART : NAMED_PART;

	print_head();
	for (int i = 0; i < kind_count; i++)
		if (sums[i].processes > 0)
		{
			print_sums(kinds[i].name, &sums[i], kinds[i].is_healthy);
			add_sums(kinds[i].is_healthy ? &healthy : &causes, &sums[i]);
		}
	print_sums("all causes", &causes, false);
	print_sums("all healthy", &healthy, true);
	named = (double) causes.named / Max(1, causes.judged);
	accused = (double) healthy.accused / Max(1, healthy.processes);
	printf("\nCauses named within twice the memory that makes them judgeable, or 10 s: "
		   "%.2f%% of %d (goal %.0f%%).\n", 100 * named, causes.judged, 100 * goal);
	printf("Healthy processes accused: %.3f%% of %d (goal %.1f%%); beside a cause, others: %.3f%% of %d.\n",
		   100 * accused, healthy.processes, 100 * ACCUSED_PART,
		   100.0 * causes.accused / Max(1, causes.processes), causes.processes);
	printf("Right findings that went away while they were true: %.2f%%.\n",
		   100.0 * causes.gone / Max(1, causes.named_count));
	printf("Accused before they had shown that they are healthy: %d.\n", healthy.too_early);
	return (causes.judged == 0 || named >= goal) && accused <= ACCUSED_PART &&
		(!with_proofs || healthy.too_early <= ACCUSED_TOO_EARLY);
}

/* Tell how many were named and accused of those that were asked to count at each look, or not. */
static void
print_asked(const Result *results, const Kind *const *kind_of_result, int count, bool is_asked)
{
	Sums		causes = {.named_at = malloc(sizeof(double) * count)};
	Sums		healthy = {.named_at = malloc(sizeof(double) * count)};

	for (int i = 0; i < count; i++)
		if (results[i].is_asked == is_asked)
			add_result(kind_of_result[i]->is_healthy ? &healthy : &causes, &results[i],
					   kind_of_result[i]->is_healthy);
	printf("%s to count at each look: %.2f%% of %d named in time, %d of %d healthy accused, "
		   "%d before, %.2f%% went away.\n", is_asked ? "Asked" : "Not asked",
		   100.0 * causes.named / Max(1, causes.judged), causes.judged, healthy.accused,
		   healthy.processes, healthy.too_early,
		   100.0 * causes.gone / Max(1, causes.named_count));
}

/* Tell of a process that was missed or accused. */
static void
print_fault(uint64 seed, const Result *one, bool is_healthy)
{
	if ((one->is_judged && !one->is_named) || one->lost_looks > 0 ||
		((one->accused | one->too_early) & ~NO_ACCUSATION) != 0)
		printf("seed " UINT64_FORMAT ": %s%s, said %s, named at %.2f, %d of %d looks without, accused 0x%x, before it was settled 0x%x\n",
			   seed, one->is_judged ? "judged" : "not judged",
			   one->is_named ? " and named" : "", plh_verdict_name(one->verdict),
			   one->named_at, one->lost_looks, one->right_looks, one->accused,
			   one->too_early);
}

int
main(int argc, char **argv)
{
	int			count;
	uint64		first_seed;
	const Kind *only = NULL;
	const Kind **kind_of_result;
	Result	   *results;
	Sums	   *sums = calloc(kind_count, sizeof(Sums));
	bool		is_met;

	with_proofs = argc > 1 && strcmp(argv[1], "--proofs") == 0;
	argc -= with_proofs;
	argv += with_proofs;
	count = argc > 2 ? atoi(argv[2]) : 0;
	if (count <= 0 || (strcmp(argv[1], "odd") != 0 && strcmp(argv[1], "even") != 0))
	{
		fprintf(stderr, "Usage: judge [--proofs] odd|even N [KIND]\n");
		return 2;
	}
	first_seed = strcmp(argv[1], "odd") == 0 ? 1 : 2;
	for (int i = 0; i < kind_count; i++)
	{
		sums[i].named_at = malloc(sizeof(double) * count);
		if (argc > 3 && strcmp(kinds[i].name, argv[3]) == 0)
			only = &kinds[i];
	}
	results = mmap(NULL, sizeof(Result) * count, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < count; i += BATCH)
		run_batch(&results[i], first_seed + 2 * i, Min(BATCH, count - i), only);
	kind_of_result = malloc(sizeof(Kind *) * count);
	for (int i = 0; i < count; i++)
	{
		const Kind *kind = only != NULL ? only : kind_of(first_seed + 2 * i);

		kind_of_result[i] = kind;
		add_result(&sums[kind - kinds], &results[i], kind->is_healthy);
		if (only != NULL)
			print_fault(first_seed + 2 * i, &results[i], kind->is_healthy);
	}
	printf("%d processes, %s seeds, %s proofs\n\n", count, argv[1],
		   with_proofs ? "with" : "without");
	is_met = print_table(sums, count);
	print_asked(results, kind_of_result, count, true);
	print_asked(results, kind_of_result, count, false);
	return is_met ? 0 : 1;
}

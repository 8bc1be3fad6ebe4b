/*
 * leak_check.c
 *	  Runs a statement again and again and tells what stays behind each time.
 *
 * Every allocation in a context that lives as long as the session is a sample
 * meanwhile, so that the figures are exact.  Three things are not leaks though
 * they make a call site hold more:
 *
 * - Caches that fill when a statement first runs: the warm-up fills them.
 * - Caches that fill, or are built anew, now and then: a site must have grown
 *	 in the first half of the iterations and in the second.  The catalog caches
 *	 are emptied before we look.
 * - Memory that the server keeps in session-long contexts until the transaction
 *	 ends, such as locks, and the files that a DROP TABLE is to delete.  The
 *	 caller's transaction can't be ended here.  So if a site has grown, all
 *	 iterations are repeated, each in a subtransaction that is rolled back: a
 *	 site that no longer grows in both halves was bound to a transaction.  Memory
 *	 that the server gives back only after the whole transaction is known by its
 *	 stack: plh_core_cache_has.
 *
 * Memory that malloc gives to libraries, and not to contexts, has call sites like
 * any other where malloc is sampled.  What these do not explain, as all of it where
 * malloc is not sampled, is only summed up: it must grow in both halves and in both
 * of their repetitions, each time from the end of the first iteration on, which
 * fills the caches that were emptied.
 *
 * Some memory has no call site: the blocks of a context in which nothing is ever
 * allocated, or was before the context got its place in the tree.  It shows as
 * contexts whose number grows.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "utils/inval.h"

#include "profile/bounded_growth.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "profile/profile_recycling.h"
#include "sampler/countdown.h"
#include "sampler/owner.h"
#include "sampler/plan_nodes.h"
#include "verdict/checked_statement.h"
#include "verdict/leak_check.h"
#include "verdict/leak_snapshot.h"

/* Error context callback: name the execution during which an error came. */
typedef struct Iteration
{
	const char *phase;
	int			number;
} Iteration;

static void
describe_iteration(void *arg)
{
	const Iteration *iteration = arg;

	errcontext("%s %d of pg_leakhunt_check", iteration->phase,
			   iteration->number);
}

/* Executions of the statement between two snapshots. */
typedef struct Phase
{
	const char *name;
	int			first;			/* numbers of its iterations */
	int			last;
	bool		roll_back;		/* each of them */
	bool		silent;			/* the first of them, too */
} Phase;

enum
{
	WARM_UP, FIRST_HALF, SECOND_HALF, FIRST_REPETITION, SECOND_REPETITION, PHASES
};

/*
 * Run the statement as often as that phase says.  Returns what malloc has gained
 * per iteration, other than for memory contexts.
 */
static pg_noinline int64
run_phase(const List *statements, const Phase *phase)
{
	Iteration	iteration = {.phase = phase->name};
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = describe_iteration,
		.arg = &iteration
	};
	PlhMallocSnapshot first = {0};	/* after the first iteration */
	int			counted = phase->last - phase->first;	/* iterations since */

	error_context_stack = &callback;
	for (iteration.number = phase->first; iteration.number <= phase->last;
		 iteration.number++)
	{
		CHECK_FOR_INTERRUPTS();
		plh_checked_statement_execute(statements, phase->roll_back,
									  !phase->silent && iteration.number == phase->first);
		if (iteration.number == phase->first)
			first = plh_leak_snapshot_malloc();
	}
	error_context_stack = callback.previous;
	return counted <= 0 ? 0 : plh_leak_snapshot_malloc_since(&first, counted);
}

static void
add_leak(PlhLeakCheck *check, const PlhSiteRecord *site,
		 const PlhContextRecord *contexts, int number, PlhHeld gained)
{
	PlhLeak    *leak = &check->leaks[check->leak_count++];

	leak->site = site;
	leak->contexts = contexts;
	leak->number = number;
	leak->bytes = gained.bytes;
	leak->count = gained.count;
}

/* Is there a site in contexts of that name among the leaks? */
static bool
has_site(const PlhLeakCheck *check, const PlhContextRecord *contexts)
{
	for (int i = 0; i < check->leak_count; i++)
	{
		if (check->leaks[i].site != NULL &&
			check->leaks[i].site->key.context_name == contexts->context_name)
			return true;
	}
	return false;
}

/* Find the sites that have gained in both halves. */
static void
find_sites(PlhLeakCheck *check, const PlhLeakHalves *halves)
{
	PlhProfileImage *image = plh_profile_image_own(plh_profile);
	const PlhSiteRecord *site;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		int			number = plh_profile_image_offset(image, site);

		if (plh_leak_snapshot_grows(halves, PLH_HOLDER_SITE, number))
			add_leak(check, site, NULL, number,
					 plh_leak_snapshot_gain(halves, PLH_HOLDER_SITE, number));
	}
}

/*
 * Find the names of contexts that have become more in both halves, and no site in
 * them says why.  The newest record is the first.
 */
static void
find_contexts(PlhLeakCheck *check, const PlhLeakHalves *halves)
{
	int			count = halves->end->series[PLH_HOLDER_CONTEXTS].count;
	PlhContextRecord *record = NULL;

	for (int i = count - 1; i >= 0 &&
		 (record = plh_profile_next_context(record)) != NULL; i--)
	{
		if (record->lifetime == PLH_LIFETIME_SESSION &&
			plh_leak_snapshot_grows(halves, PLH_HOLDER_CONTEXTS, i) &&
			!has_site(check, record))
			add_leak(check, NULL, record, i,
					 plh_leak_snapshot_gain(halves, PLH_HOLDER_CONTEXTS, i));
	}
}

/* Find what may be leaks, in an array that "memory" has. */
static void
find_leaks(PlhLeakCheck *check, const PlhLeakHalves *halves,
		   MemoryContext memory)
{
	int			room = 1;

	for (int holder = 0; holder < PLH_HOLDERS; holder++)
		room += halves->end->series[holder].count;
	check->leak_count = 0;
	check->leaks = MemoryContextAllocHuge(memory, sizeof(PlhLeak) * room);
	find_sites(check, halves);
	find_contexts(check, halves);
}

/* Keep those that grew in both halves again, and count no more than that. */
static void
confirm_leaks(PlhLeakCheck *check, const PlhLeakHalves *halves)
{
	int			confirmed = 0;

	for (int i = 0; i < check->leak_count; i++)
	{
		PlhLeak		leak = check->leaks[i];
		PlhHolder	holder = leak.site != NULL ? PLH_HOLDER_SITE :
			PLH_HOLDER_CONTEXTS;
		PlhHeld		gained = plh_leak_snapshot_gain(halves, holder, leak.number);

		if (!plh_leak_snapshot_grows(halves, holder, leak.number))
			continue;
		if (gained.bytes < leak.bytes)
		{
			leak.bytes = gained.bytes;
			leak.count = gained.count;
		}
		check->leaks[confirmed++] = leak;
	}
	check->leak_count = confirmed;
}

/* qsort comparator: most bytes first. */
static int
compare_leaks(const void *a, const void *b)
{
	const PlhLeak *one = a;
	const PlhLeak *other = b;

	if (one->bytes != other->bytes)
		return one->bytes < other->bytes ? 1 : -1;
	return (one->site == NULL) != (other->site == NULL) ?
		(one->site == NULL ? 1 : -1) : one->number - other->number;
}

/*
 * Throw an ERROR for lost samples: they may be a leak, or make one look small.
 */
static void
check_nothing_lost(int64 lost, bool bounded)
{
	if (lost > 0)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("pg_leakhunt_check could not follow all allocations"),
				 errdetail("%lld of them did not fit into the profile, or were made in a critical section.",
						   (long long) lost),
				 bounded ?
				 errhint("Checks by roles without privileges of \"%s\" may use %d kB of a session's profile. Run fewer iterations in a new session, or run the check as another role.",
						 "pg_read_all_stats", PLH_BOUNDED_ROOM / 1024) :
				 errhint("Run fewer iterations in a new session, or raise pg_leakhunt.max_live_samples and pg_leakhunt.max_profile_size.")));
}

/* What malloc has gained in each iteration beside what leaks at sites of malloc. */
static int64
unexplained_gain(const PlhLeakCheck *check, int64 gained, int iterations)
{
	double		bytes = 0;
	double		chunks = 0;

	for (int i = 0; i < check->leak_count; i++)
	{
		const PlhLeak *leak = &check->leaks[i];

		if (leak->site == NULL ||
			leak->site->key.lifetime != PLH_LIFETIME_PROCESS)
			continue;
		bytes += (double) leak->bytes / iterations;
		chunks += (double) leak->count / iterations;
	}
	return plh_leak_snapshot_malloc_beside(gained, bytes, chunks);
}

/* Iterate and compare; the leaks that are found are allocated in "memory". */
static void
run(const List *statements, int iterations, int warmup, bool bounded,
	PlhLeakCheck *check, MemoryContext memory)
{
	int			half = iterations / 2;
	const Phase phases[PHASES] = {
		[WARM_UP] = {"warm-up iteration", 1, warmup, false, false},
		[FIRST_HALF] = {"iteration", 1, half, false, warmup > 0},
		[SECOND_HALF] = {"iteration", half + 1, iterations, false, true},
		[FIRST_REPETITION] = {"repeated iteration", 1, half, true, true},
		[SECOND_REPETITION] = {"repeated iteration", half + 1, iterations, true, true}
	};
	PlhLeakSnapshot after[PHASES];
	int64		gains[PHASES];	/* of malloc */
	const PlhLeakHalves iterated = {
		&after[WARM_UP], &after[FIRST_HALF], &after[SECOND_HALF]
	};
	const PlhLeakHalves repeated = {
		&after[SECOND_HALF], &after[FIRST_REPETITION], &after[SECOND_REPETITION]
	};
	int64		lost_before;

	lost_before = plh_profile_image_lost_samples(plh_profile);
	for (int phase = WARM_UP; phase < PHASES; phase++)
	{
		if (phase == FIRST_REPETITION)
		{
			find_leaks(check, &iterated, memory);
			check->malloc_bytes = Min(gains[FIRST_HALF], gains[SECOND_HALF]);
			if (check->leak_count == 0 && check->malloc_bytes == 0)
				return;
		}
		gains[phase] = run_phase(statements, &phases[phase]);
		check_nothing_lost(plh_profile_image_lost_samples(plh_profile) -
						   lost_before, bounded);
		InvalidateSystemCaches();
		plh_leak_snapshot_take(&after[phase], memory);
	}
	confirm_leaks(check, &repeated);
	check->malloc_bytes =
		unexplained_gain(check, Min(check->malloc_bytes,
									Min(gains[FIRST_REPETITION],
										gains[SECOND_REPETITION])),
						 iterations);
	qsort(check->leaks, check->leak_count, sizeof(PlhLeak), compare_leaks);
	check_nothing_lost(plh_profile_image_lost_samples(plh_profile) -
					   lost_before, bounded);
}

/* See to it that this process has a profile. */
static void
need_profile(void)
{
	if (plh_profile == NULL && !plh_owner_begin_profile())
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Could not allocate a profile.")));
}

/*
 * Run the statement "warmup" times, then "iterations" times, at least 2, and
 * find what each of these left behind.  The statement's effects stay, but those
 * of the repetition that confirms a finding are rolled back.  A "bounded" check
 * takes little room for its profile, which lies in memory that is all sessions'.
 */
void
plh_leak_check_run(const char *query, int iterations, int warmup, bool bounded,
				   PlhLeakCheck *check)
{
	static bool running = false;
	bool		with_jit = jit_enabled;
	Size		bytes_before;
	MemoryContext caller_context = CurrentMemoryContext;

	if (running)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("pg_leakhunt_check is running already"),
				 errdetail("A statement that is checked cannot check another one.")));
	if (plh_plan_nodes_are_watched)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("pg_leakhunt_check cannot run within EXPLAIN (LEAKHUNT)"),
				 errdetail("The nodes of the plan would not see what they hold meanwhile.")));
	need_profile();
	memset(check, 0, sizeof(*check));
	running = true;

	/*
	 * JIT compiles anew for each execution, to other addresses, so that no
	 * stack would come a second time.
	 */
	jit_enabled = false;
	bytes_before = plh_bounded_growth_begin(bounded);
	plh_countdown_track_all(true);
	plh_profile_recycling_suspend();
	PG_TRY();
	{
		SPI_connect();
		run(plh_checked_statement_split(query), iterations, warmup, bounded,
			check, caller_context);
		SPI_finish();
	}
	PG_FINALLY();
	{
		plh_countdown_track_all(false);
		plh_bounded_growth_end(bounded, bytes_before);
		plh_profile_recycling_resume();
		jit_enabled = with_jit;
		running = false;
	}
	PG_END_TRY();
}

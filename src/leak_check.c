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
 * - What is kept in session-long contexts until the transaction ends, as locks,
 *	 and the files that a DROP TABLE is to delete.  The caller's transaction
 *	 can't be ended here.  So if a site has grown, all iterations are repeated,
 *	 each in a subtransaction that is rolled back: what grows no more was bound
 *	 to a transaction.  One thing is given back by a whole transaction only, the
 *	 former descriptors of tables that it changed: plh_leak_check_is_relcache.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "leak_check.h"
#include "method_hooks.h"
#include "profile.h"
#include "profile_reader.h"

/* What a site holds at some time. */
typedef struct SiteFigures
{
	int64		bytes;
	int64		count;
} SiteFigures;

/* What all sites hold at some time, in the order of the profile, which stays. */
typedef struct Mark
{
	int			count;
	SiteFigures *sites;
} Mark;

/* Error context: which of the many executions it was. */
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

/* Explain what SPI does not run; its other failures are errors already. */
static void
check_result(int result)
{
	if (result == SPI_ERROR_TRANSACTION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("pg_leakhunt_check cannot run transaction commands"),
				 errdetail("All iterations run in the transaction of the caller.")));
	if (result == SPI_ERROR_COPY)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("pg_leakhunt_check cannot COPY to or from the client")));
	if (result < 0)
		elog(ERROR, "SPI_execute_extended failed: %s",
			 SPI_result_code_string(result));
}

/* Executions of the statement between two marks. */
typedef struct Phase
{
	const char *name;
	int			first;			/* numbers of its iterations */
	int			last;
	bool		roll_back;		/* each of them */
} Phase;

enum
{
	WARM_UP, FIRST_HALF, SECOND_HALF, REPETITION, PHASES
};

/*
 * Run the statement once; its result is dropped.  The return addresses of this
 * and its callers are part of the stacks that sites are told apart by: so all
 * phases must come here by the same calls.
 */
static void
execute(const char *query, bool roll_back)
{
	SPIExecuteOptions options = {.dest = None_Receiver};
	MemoryContext caller_context = CurrentMemoryContext;
	ResourceOwner caller_owner = CurrentResourceOwner;

	if (roll_back)
	{
		BeginInternalSubTransaction(NULL);
		MemoryContextSwitchTo(caller_context);
	}
	check_result(SPI_execute_extended(query, &options));
	if (roll_back)
	{
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(caller_context);
		CurrentResourceOwner = caller_owner;
	}
}

/* Run the statement as often as that phase says. */
static pg_noinline void
run_phase(const char *query, const Phase *phase)
{
	Iteration	iteration = {.phase = phase->name};
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = describe_iteration,
		.arg = &iteration
	};

	error_context_stack = &callback;
	for (iteration.number = phase->first; iteration.number <= phase->last;
		 iteration.number++)
	{
		CHECK_FOR_INTERRUPTS();
		execute(query, phase->roll_back);
	}
	error_context_stack = callback.previous;
}

/* Note in that memory context what all sites hold now. */
static void
take_mark(Mark *mark, MemoryContext memory)
{
	const PlhSiteRecord *site;
	PlhProfileImage *image;
	uint32		position = 0;

	mark->count = 0;
	if (plh_profile == NULL)
		return;

	/* with the catch-all site, which site_count leaves out */
	image = plh_profile_reader_own(plh_profile);
	mark->sites = MemoryContextAllocHuge(memory, sizeof(SiteFigures) *
										 (plh_profile->site_count + 1));
	while (mark->count <= plh_profile->site_count &&
		   (site = plh_profile_reader_next_site(image, &position)) != NULL)
	{
		mark->sites[mark->count].bytes = site->counters.live_bytes;
		mark->sites[mark->count].count = site->counters.live_count;
		mark->count++;
	}
}

/* What a site has gained between two marks. */
static SiteFigures
gain(const Mark *from, const Mark *to, int site)
{
	SiteFigures result = {0};

	if (site < to->count)
		result = to->sites[site];
	if (site < from->count)
	{
		result.bytes -= from->sites[site].bytes;
		result.count -= from->sites[site].count;
	}
	return result;
}

/* Is it more than it was?  Chunks may be of 0 bytes, and grow by realloc. */
static bool
is_more(SiteFigures gained)
{
	return gained.bytes > 0 || (gained.bytes == 0 && gained.count > 0);
}

/* The sites that have gained in both halves. */
static void
find_leaks(PlhLeakCheck *check, const Mark *start, const Mark *middle,
		   const Mark *end, MemoryContext memory)
{
	const PlhSiteRecord *site;
	PlhProfileImage *image;
	uint32		position = 0;

	check->leak_count = 0;
	if (end->count == 0)
		return;
	image = plh_profile_reader_own(plh_profile);
	check->leaks = MemoryContextAllocHuge(memory,
										  sizeof(PlhLeak) * end->count);
	for (int i = 0; i < end->count &&
		 (site = plh_profile_reader_next_site(image, &position)) != NULL; i++)
	{
		SiteFigures gained = gain(start, end, i);

		if (is_more(gain(start, middle, i)) && is_more(gain(middle, end, i)))
			check->leaks[check->leak_count++] =
				(PlhLeak) {site, i, gained.bytes, gained.count};
	}
}

/* Leave those that gained again between these marks, and no more than that. */
static void
confirm_leaks(PlhLeakCheck *check, const Mark *from, const Mark *to)
{
	int			confirmed = 0;

	for (int i = 0; i < check->leak_count; i++)
	{
		PlhLeak		leak = check->leaks[i];
		SiteFigures gained = gain(from, to, leak.number);

		if (!is_more(gained))
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

/*
 * Is that a stack by which the relation cache allocates, calling nothing that
 * is not the server's own?  It keeps what described a table before it changed
 * until the transaction ends.
 */
bool
plh_leak_check_is_relcache(const PlhStackText *stack)
{
	static const char *const relcache_functions[] = {
		"RelationBuildLocalRelation",
		"RelationCacheInvalidate",
		"RelationCacheInvalidateEntry",
		"RelationIdGetRelation"
	};

	for (int i = 0; i < stack->frame_count; i++)
	{
		const PlhFrameText *frame = &stack->frames[i];

		if (frame->module == NULL ||
			strcmp(frame->module, stack->frames[0].module) != 0)
			return false;
		for (int j = 0; j < lengthof(relcache_functions); j++)
		{
			if (frame->function != NULL &&
				strcmp(frame->function, relcache_functions[j]) == 0)
				return true;
		}
	}
	return false;
}

/* The most bytes first. */
static int
compare_leaks(const void *a, const void *b)
{
	const PlhLeak *one = a;
	const PlhLeak *other = b;

	if (one->bytes != other->bytes)
		return one->bytes < other->bytes ? 1 : -1;
	return one->number - other->number;
}

/* Samples that found no room in this process so far. */
static int64
lost_samples(void)
{
	int64		sum = 0;

	for (int loss = 0; plh_profile != NULL && loss < PLH_LOSSES; loss++)
		sum += plh_profile->lost_samples[loss];
	return sum;
}

/* Iterate and compare; what is found is allocated in "memory". */
static void
run(const char *query, int iterations, int warmup, PlhLeakCheck *check,
	MemoryContext memory)
{
	int			half = iterations / 2;
	const Phase phases[PHASES] = {
		[WARM_UP] = {"warm-up iteration", 1, warmup},
		[FIRST_HALF] = {"iteration", 1, half},
		[SECOND_HALF] = {"iteration", half + 1, iterations},
		[REPETITION] = {"repeated iteration", 1, iterations, true}
	};
	Mark		after[PHASES];
	int64		lost_before = 0;

	for (int phase = WARM_UP; phase < PHASES; phase++)
	{
		if (phase == REPETITION)
		{
			find_leaks(check, &after[WARM_UP], &after[FIRST_HALF],
					   &after[SECOND_HALF], memory);
			if (check->leak_count == 0)
				break;
		}
		run_phase(query, &phases[phase]);
		InvalidateSystemCaches();
		take_mark(&after[phase], memory);
		if (phase == WARM_UP)
			lost_before = lost_samples();
	}
	if (check->leak_count > 0)
		confirm_leaks(check, &after[SECOND_HALF], &after[REPETITION]);
	qsort(check->leaks, check->leak_count, sizeof(PlhLeak), compare_leaks);
	check->lost_samples = lost_samples() - lost_before;
}

/*
 * Run the statement "warmup" times, then "iterations" times, at least 2, and
 * find what each of these left behind.  What the statement does stays done, but
 * for a repetition where there is something to confirm.
 */
void
plh_leak_check_run(const char *query, int iterations, int warmup,
				   PlhLeakCheck *check)
{
	static bool running = false;
	MemoryContext caller_context = CurrentMemoryContext;

	if (running)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("pg_leakhunt_check is running already"),
				 errdetail("A statement that is checked cannot check another one.")));
	if (pg_parse_query(query) == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there is no statement to check")));
	memset(check, 0, sizeof(*check));
	running = true;
	plh_method_hooks_track_all(true);
	PG_TRY();
	{
		SPI_connect();
		run(query, iterations, warmup, check, caller_context);
		SPI_finish();
	}
	PG_FINALLY();
	{
		plh_method_hooks_track_all(false);
		running = false;
	}
	PG_END_TRY();
}

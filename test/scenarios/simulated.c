/*
 * simulated.c
 *	  A process of a server, as far as its profile shows it.
 */
#include "postgres.h"

#include <malloc.h>
#include <math.h>
#include <time.h>

#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/process_facts.h"
#include "base/sampling.h"
#include "base/settings.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "sampler/census.h"
#include "sampler/countdown.h"
#include "sampler/growth_dump.h"
#include "sampler/lifetime.h"
#include "sampler/memory_limits.h"
#include "sampler/owner.h"
#include "sampler/publication.h"
#include "sampler/upkeep.h"
#include "server.h"
#include "simulated.h"

/* A process has this before it does anything. */
#define BARE_BYTES (4 * MB)

/* A context is larger than its chunks by this part, and has this at least. */
#define CONTEXT_PART 0.03
#define CONTEXT_BYTES 1024

/* A process of this size shows its profile, whatever was sampled (publication.c). */
#define LARGE_BYTES (16 * MB)

/* What the kernel and the census take of time. */
#define BEGAN_US (INT64CONST(1798761600) * 1000000)
#define CENSUS_CONTEXT_US 0.15

/* A chunk that was sampled and is there. */
typedef struct Sample
{
	uint32		site;
	int			who;
	Size		size;
	PlhDraw		draw;
	uint32		tick;			/* of its birth */
	int			next;			/* of the same context; -1: none */
} Sample;

/* A context, the samples in it, what all of its chunks have, and what is free. */
typedef struct Shell
{
	MemoryContextData data;
	int			samples;		/* the first; -1: none */
	int64		chunk_bytes;
	int64		free_bytes;
} Shell;

/*
 * Contexts lie in this place first, as what a census looks at is chosen by their
 * addresses: so each run has the same.
 */
#define PLACES 65536
static Shell places[PLACES];
static int	place_count;
static Shell *free_place;		/* linked by their parents */

Tree		tree;
pg_prng_state chance;

static struct
{
	Ways		ways;
	PGPROC		proc;
	int64		now_us;			/* since it began */
	double		rest_us;
	uint64		cpu_us;
	int64		countdown;
	int64		passing_live;	/* estimated */
	int64		contexts;
	int64		context_bytes;
	int64		outside_bytes;
	int64		kept_bytes;
	int64		mapped_bytes;
	int64		transaction_us; /* when it began */
	TimestampTz began_at;		/* the same, by the system's clock */
	uint32		transactions;
	char		statement[PLH_STATEMENT_MAX];
	uint64		query_id;
	bool		is_silent;		/* malloc does not tell */
	bool		is_published;	/* it has kept or is enough for that */
	int64		sized_us;		/* when it last asked how large it is */
	int64		unsampled_bytes;	/* before sampling began */
	Shell		blocks;			/* sampled ones of malloc; in no tree */
	Sample	   *samples;
	int			sample_count;
	int			sample_room;
	int			free_sample;	/* -1: none */
}			process;

/* Clocks, malloc and the kernel, for the census. */
int
clock_gettime(clockid_t clock, struct timespec *now)
{
	int64		us = BEGAN_US + process.now_us;

	if (clock == CLOCK_THREAD_CPUTIME_ID)
		us = process.cpu_us += 10 +
			(int64) (CENSUS_CONTEXT_US * Min(process.contexts, 512));
	now->tv_sec = us / 1000000;
	now->tv_nsec = us % 1000000 * 1000;
	return 0;
}

struct mallinfo2
mallinfo2(void)
{
	struct mallinfo2 silent = {0};
	struct mallinfo2 info = {
		.arena = 1,
		.uordblks = process.context_bytes * 1.005 + MB + process.outside_bytes,
		.fordblks = process.kept_bytes
	};

	return process.is_silent ? silent : info;
}

int64
plh_process_facts_own_bytes(void)
{
	return BARE_BYTES + process.context_bytes + process.outside_bytes +
		process.kept_bytes + process.mapped_bytes;
}

int64
plh_process_facts_touched_bytes(void)
{
	return plh_process_facts_own_bytes();
}

uint64
plh_process_facts_start_ticks(int pid)
{
	return 1;
}

/* The steps of upkeep that need a server. */
void
plh_owner_update_header(void)
{
	plh_memory_limits_note(plh_profile);
}

void
plh_owner_identify(void)
{
}

/* As a process that shows its profile late does. */
void
plh_publication_if_due(int64 gap_us)
{
	const PlhCounters *counters = &plh_profile->counters;

	if (process.is_published)
		return;
	if (counters->total_samples >= PLH_PUBLICATION_SAMPLES ||
		counters->live_bytes >= PLH_PUBLICATION_BYTES)
		process.is_published = true;
	else if (process.ways.interval != 0 && process.now_us >= process.sized_us + gap_us)
	{
		process.sized_us = process.now_us;
		process.is_published = plh_process_facts_own_bytes() >= LARGE_BYTES;
	}
}

void
plh_process_limit_counted(void)
{
}

void
plh_growth_dump_if_due(void)
{
}

int64
plh_countdown_unsampled_bytes(void)
{
	return process.unsampled_bytes;
}

bool
simulated_is_published(void)
{
	return !process.ways.publishes_late || process.is_published;
}

/* Is a census taken?  One that comes late or never is of a process without a file. */
static bool
is_published(void)
{
	return simulated_is_published() && process.ways.counted_from_us >= 0 &&
		process.now_us >= process.ways.counted_from_us;
}

#define plh_profile_file_is_published is_published
#define plh_profile_file_verify is_published
#include "sampler/upkeep.c"
#undef plh_profile_file_verify
#undef plh_profile_file_is_published

int64
between(int64 from, int64 to)
{
	return to <= from ? from : from + pg_prng_uint64_range(&chance, 0, to - from);
}

int64
magnitude(int64 from, int64 to)
{
	return (int64) (from * pow((double) to / from, pg_prng_double(&chance)));
}

bool
happens(double probability)
{
	return pg_prng_double(&chance) < probability;
}

int64
simulated_now_us(void)
{
	return process.now_us;
}

TimestampTz
simulated_time(void)
{
	return BEGAN_US + process.now_us - PLH_UNIX_EPOCH_US;
}

/* Time passes, in which nothing happens. */
void
simulated_wait(int64 us)
{
	process.now_us += us;
	statement_start = simulated_time();
}

static Shell *
shell_of(MemoryContext context)
{
	return (Shell *) context;
}

/* What is free in a context. */
static void
stats_of(MemoryContext context, MemoryStatsPrintFunc print, void *arg,
		 MemoryContextCounters *totals, bool print_to_stderr)
{
	totals->freespace += shell_of(context)->free_bytes;
}

static const MemoryContextMethods methods = {.stats = stats_of};

/* Let a context be as large as its chunks make it. */
static void
note_size(MemoryContext context)
{
	Size		bytes = CONTEXT_BYTES +
		(Size) (shell_of(context)->chunk_bytes * (1.0 + CONTEXT_PART)) +
		shell_of(context)->free_bytes;

	process.context_bytes += (int64) bytes - (int64) context->mem_allocated;
	context->mem_allocated = bytes;
}

/* Empty, where one was before if there is such a place. */
static Shell *
new_shell(void)
{
	Shell	   *shell = free_place;

	if (shell != NULL)
	{
		free_place = shell_of(shell->data.parent);
		return memset(shell, 0, sizeof(Shell));
	}
	return place_count < PLACES ? &places[place_count++] : calloc(1, sizeof(Shell));
}

static void
free_shell(Shell *shell)
{
	if (shell >= places && shell < places + PLACES)
	{
		shell->data.parent = (MemoryContext) free_place;
		free_place = shell;
	}
	else
		free(shell);
}

MemoryContext
context_create(const char *name, MemoryContext parent)
{
	Shell	   *shell = new_shell();
	MemoryContext context = &shell->data;

	context->type = T_AllocSetContext;
	context->methods = &methods;
	context->name = name;
	context->parent = parent;
	shell->samples = -1;
	if (parent != NULL)
	{
		context->nextchild = parent->firstchild;
		if (parent->firstchild != NULL)
			parent->firstchild->prevchild = context;
		parent->firstchild = context;
	}
	process.contexts++;
	note_size(context);
	return context;
}

static void
drop_sample(int index)
{
	Sample	   *sample = &process.samples[index];
	PlhSampleValue value = plh_sampling_value(sample->size, sample->draw);
	PlhSiteRecord *site = (PlhSiteRecord *) ((char *) plh_profile + sample->site);

	if (!plh_lifetime_is_lasting(site->key.lifetime))
		process.passing_live -= (int64) sample->size * value.weight;
	plh_profile_counters_subtract(sample->site, sample->size, sample->draw,
								  sample->tick);
	sample->next = process.free_sample;
	process.free_sample = index;
}

static void
drop_samples(MemoryContext context)
{
	for (int i = shell_of(context)->samples, next; i >= 0; i = next)
	{
		next = process.samples[i].next;
		drop_sample(i);
	}
	shell_of(context)->samples = -1;
}

void
context_reset(MemoryContext context)
{
	while (context->firstchild != NULL)
		context_delete(context->firstchild);
	drop_samples(context);
	shell_of(context)->chunk_bytes = 0;
	shell_of(context)->free_bytes = 0;
	note_size(context);
}

void
context_delete(MemoryContext context)
{
	context_reset(context);
	if (context->prevchild != NULL)
		context->prevchild->nextchild = context->nextchild;
	else if (context->parent != NULL)
		context->parent->firstchild = context->nextchild;
	if (context->nextchild != NULL)
		context->nextchild->prevchild = context->prevchild;
	process.contexts--;
	process.context_bytes -= context->mem_allocated;
	free_shell(shell_of(context));
}

void
context_has_free(MemoryContext context, int64 bytes)
{
	shell_of(context)->free_bytes = bytes;
	note_size(context);
}

/* The site of a sample that the statement takes now. */
static uint32
site_of(int who, MemoryContext context, PlhLifetime lifetime)
{
	PlhStack	stack = {0};
	PlhSiteKey	key;

	stack.addresses = stack.buffer;
	simulated_stack(who, &stack);
	key.stack = plh_profile_stack(&stack);
	key.context_name = plh_profile_string(context->name, PLH_CONTEXT_NAME_MAX);
	key.statement = process.statement[0] == '\0' ? 0 :
		plh_profile_statement(process.query_id, process.statement);
	key.lifetime = lifetime;
	return plh_profile_site(&key);
}

static int
new_sample(void)
{
	int			index = process.free_sample;

	if (index >= 0)
	{
		process.free_sample = process.samples[index].next;
		return index;
	}
	if (process.sample_count == process.sample_room)
	{
		process.sample_room = Max(1024, 2 * process.sample_room);
		process.samples = realloc(process.samples,
								  sizeof(Sample) * process.sample_room);
	}
	return process.sample_count++;
}

/* Blocks of malloc are of no context. */
static PlhLifetime
lifetime_in(MemoryContext context)
{
	return context == &process.blocks.data ? PLH_LIFETIME_PROCESS :
		plh_lifetime_of(context);
}

/* A chunk is sampled, as the hooks do it. */
static void
take_sample(MemoryContext context, int who, Size size, bool kept)
{
	PlhLifetime lifetime = lifetime_in(context);
	uint32		interval = process.ways.interval;
	PlhDraw		draw;
	uint32		site;
	uint32		tick;
	int			index;

	if (!plh_lifetime_is_lasting(lifetime))
	{
		uint32		longer = plh_sampling_coarse_interval(interval,
														  process.passing_live);

		if (longer > interval && !plh_sampling_keeps(&chance, size, interval, longer))
		{
			plh_profile_counters_out_of_scope();
			plh_upkeep_run(PLH_UPKEEP_SAMPLE_NOT_KEPT, BEGAN_US + process.now_us);
			return;
		}
		interval = longer;
	}
	draw = plh_sampling_draw(&chance, size, interval);
	site = site_of(who, context, lifetime);
	plh_profile->transaction_began_at = process.began_at;
	tick = plh_profile_counters_add(site, size, draw);
	if (!kept)
	{
		plh_profile_counters_subtract(site, size, draw, tick);
		return;
	}
	index = new_sample();
	process.samples[index] = (Sample)
	{
		site, who, size, draw, tick, shell_of(context)->samples
	};
	shell_of(context)->samples = index;
	if (!plh_lifetime_is_lasting(lifetime))
		process.passing_live += (int64) size * plh_sampling_value(size, draw).weight;
	plh_upkeep_run(PLH_UPKEEP_SAMPLE_KEPT, plh_profile_counters_held.at_us);
}

/* That many chunks are allocated one after the other, from sample to sample. */
static void
allocate_chunks(MemoryContext context, int who, Size size, int64 count, bool kept)
{
	while (count > 0)
	{
		int64		step = Max(1, (process.countdown + (int64) size - 1) / (int64) size);
		bool		sampled = step <= count;

		step = Min(step, count);
		count -= step;
		process.countdown -= step * (int64) size;
		process.rest_us += step * (double) size / MB * process.ways.us_per_mb;
		process.now_us += (int64) process.rest_us;
		process.rest_us -= (int64) process.rest_us;
		if (kept && context == &process.blocks.data)
			process.outside_bytes += step * (int64) size;
		else if (kept)
		{
			shell_of(context)->chunk_bytes += step * (int64) size;
			note_size(context);
		}
		if (!sampled)
			return;
		statement_start = simulated_time();
		process.countdown = plh_sampling_gap(&chance, process.ways.interval);
		take_sample(context, who, size, kept);
	}
}

/* The same while nothing is sampled. */
static void
allocate_unseen(MemoryContext context, Size size, int64 count)
{
	int64		bytes = (int64) size * count;

	shell_of(context)->chunk_bytes += bytes;
	note_size(context);
	if (plh_profile->samples_taken == 0)
		process.unsampled_bytes += bytes;
}

void
allocate(MemoryContext context, int who, Size size, int64 count)
{
	if (process.ways.interval == 0)
		allocate_unseen(context, size, count);
	else
		allocate_chunks(context, who, size, count, true);
}

void
allocate_and_free(MemoryContext context, int who, Size size, int64 count)
{
	allocate_chunks(context, who, size, count, false);
}

/* Free the samples of a chunk of that size, or a part of all; returns how many. */
static void
free_samples(MemoryContext context, int who, Size size, double part)
{
	int		   *link = &shell_of(context)->samples;

	while (*link >= 0)
	{
		Sample	   *sample = &process.samples[*link];
		int			index = *link;

		if (sample->who == who &&
			(size != 0 ? sample->size == size : happens(part)))
		{
			*link = sample->next;
			drop_sample(index);
			if (size != 0)
				return;
		}
		else
			link = &sample->next;
	}
}

/* A buffer is allocated anew at another size, as repalloc does; 0: it is new. */
void
enlarge(MemoryContext context, int who, Size from, Size to)
{
	if (from > 0)
	{
		free_samples(context, who, from, 0);
		shell_of(context)->chunk_bytes -= from;
	}
	allocate(context, who, to, 1);
}

/* Free that part of what is in a context, in which nobody else has anything. */
void
free_some(MemoryContext context, int who, double part)
{
	free_samples(context, who, 0, part);
	shell_of(context)->chunk_bytes *= 1.0 - part;
	note_size(context);
}

/* A library allocates blocks, which are sampled. */
void
malloc_allocates(int who, Size size, int64 count)
{
	allocate_chunks(&process.blocks.data, who, size, count, true);
}

/* And frees that part of its blocks. */
void
malloc_frees(int who, double part)
{
	int64		before = plh_profile->malloc_counters.live_bytes;

	free_samples(&process.blocks.data, who, 0, part);
	malloc_changes(plh_profile->malloc_counters.live_bytes - before);
}

void
malloc_is_silent(void)
{
	process.is_silent = true;
}

void
malloc_changes(int64 bytes)
{
	process.outside_bytes = Max(0, process.outside_bytes + bytes);
}

void
malloc_keeps(int64 bytes)
{
	process.kept_bytes = bytes;
}

void
others_map(int64 bytes)
{
	process.mapped_bytes += bytes;
}

int64
simulated_lasting_bytes(void)
{
	return process.context_bytes - tree.portal->mem_allocated -
		tree.executor->mem_allocated - tree.transaction->mem_allocated;
}

void
simulated_transaction(void)
{
	process.transactions++;
#if PG_VERSION_NUM >= 170000
	process.proc.vxid.lxid = process.transactions;
#else
	process.proc.lxid = process.transactions;
#endif
	process.transaction_us = process.now_us;
	process.began_at = simulated_time();
}

void
simulated_statement(const char *format,...)
{
	va_list		arguments;

	va_start(arguments, format);
	vsnprintf(process.statement, sizeof(process.statement), format, arguments);
	va_end(arguments);
}

void
simulated_query_id(uint64 query_id)
{
	process.query_id = query_id;
}

/* A hook that runs without the guard takes it. */
static void
reset_message(void)
{
	plh_guard_held = false;
	reset_context(tree.message);
	plh_guard_held = true;
	context_reset(tree.message);
}

/* The statement ends, and its transaction does not. */
void
simulated_finish(void)
{
	context_reset(tree.executor);
	reset_message();
	process.statement[0] = '\0';
}

/* The transaction ends, and with it what does not last; then the client's message does. */
void
simulated_commit(void)
{
	bool		was_long = process.now_us - process.transaction_us >= 10000;

	context_reset(tree.executor);
	context_reset(tree.transaction);
	plh_profile_counters_transaction_over();
	plh_upkeep_run(was_long ? PLH_UPKEEP_LONG_COMMIT : PLH_UPKEEP_SHORT_COMMIT,
				   BEGAN_US + process.now_us);
	reset_message();
	simulated_wait(process.ways.step_us);
}

void
simulated_begin(uint64 seed, const Ways *ways)
{
	memset(&process, 0, sizeof(process));
	process.ways = *ways;
	process.free_sample = -1;
	process.blocks.data.name = PLH_MALLOC_NAME;
	process.blocks.samples = -1;
	pg_prng_seed(&chance, seed);
	tree.top = TopMemoryContext = context_create("TopMemoryContext", NULL);
	tree.cache = context_create("CacheMemoryContext", tree.top);
	tree.message = MessageContext = context_create("MessageContext", tree.top);
	tree.portal = context_create("TopPortalContext", tree.top);
	tree.executor = context_create("ExecutorState", tree.portal);
	tree.transaction = TopTransactionContext =
		context_create("TopTransactionContext", tree.top);
	shell_of(tree.cache)->chunk_bytes = MB;
	note_size(tree.cache);
	process.countdown = plh_sampling_gap(&chance, ways->interval);
	plh_load_settings.max_profile_size = 8 * 1024 * 1024;
	MyProc = &process.proc;
	statement_start = simulated_time();
	plh_profile_counters_forget();
	plh_census_forget();
	plh_upkeep_forget();
	if (!plh_profile_begin())
		abort();
	plh_profile->backend_type = B_BACKEND;
	plh_profile->started_at = statement_start;
	plh_profile->sample_interval = ways->interval;
}

void
simulated_end(void)
{
	process.ways.counted_from_us = -1;
	reset_message();
	while (tree.top->firstchild != NULL)
		context_delete(tree.top->firstchild);
	context_delete(tree.top);
	free(process.samples);
	plh_profile_forget();
	MyProc = NULL;
}

/* The same process goes on in other ways. */
void
simulated_set_ways(const Ways *ways)
{
	process.ways = *ways;
}

/*
 * simulated_samples.c
 *	  What a simulated process allocates and frees, and the samples of it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/settings.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "sampler/lifetime.h"
#include "sampler/upkeep.h"
#include "server.h"
#include "simulated_state.h"

static void
drop_sample(int index)
{
	Sample	   *sample = &simulated.samples[index];
	PlhSampleValue value = plh_sampling_value(sample->size, sample->draw);
	PlhSiteRecord *site = (PlhSiteRecord *) ((char *) plh_profile + sample->site);

	if (!plh_lifetime_is_lasting(site->key.lifetime))
		simulated.passing_live -= (int64) sample->size * value.weight;
	plh_profile_counters_subtract(sample->site, sample->size, sample->draw,
								  sample->tick);
	sample->next = simulated.free_sample;
	simulated.free_sample = index;
}

void
simulated_drop_samples(MemoryContext context)
{
	for (int i = shell_of(context)->samples, next; i >= 0; i = next)
	{
		next = simulated.samples[i].next;
		drop_sample(i);
	}
	shell_of(context)->samples = -1;
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
	key.statement = simulated.statement[0] == '\0' ? 0 :
		plh_profile_statement(simulated.query_id, simulated.statement);
	key.lifetime = lifetime;
	if (simulated_statements.before_sample != NULL)
		simulated_statements.before_sample(key.statement);
	return plh_profile_site(&key);
}

static int
new_sample(void)
{
	int			index = simulated.free_sample;

	if (index >= 0)
	{
		simulated.free_sample = simulated.samples[index].next;
		return index;
	}
	if (simulated.sample_count == simulated.sample_room)
	{
		simulated.sample_room = Max(1024, 2 * simulated.sample_room);
		simulated.samples = realloc(simulated.samples,
									sizeof(Sample) * simulated.sample_room);
	}
	return simulated.sample_count++;
}

static bool is_looked_at;		/* the chunk that is allocated next */

SimulatedStatements simulated_statements;
bool		(*simulated_refuses) (MemoryContext context, Size size, uint32 interval);

void
simulated_hurry(void)
{
	simulated.is_hurried = true;
}

/* Blocks of malloc are of no context. */
static PlhLifetime
lifetime_in(MemoryContext context)
{
	return context == &simulated.blocks.data ? PLH_LIFETIME_PROCESS :
		plh_lifetime_of(context);
}

/* The interval of a sample of what has that lifetime; 0: it is not kept. */
static uint32
interval_of(Size size, PlhLifetime lifetime)
{
	uint32		interval = simulated.ways.interval;
	uint32		longer;

	if (plh_lifetime_is_lasting(lifetime))
		return interval;
	if (plh_profile->scope == PLH_SCOPE_LONG_LIVED)
		return 0;
	longer = plh_sampling_coarse_interval(interval, simulated.passing_live);
	return longer > interval && !plh_sampling_keeps(&chance, size, interval, longer) ?
		0 : longer;
}

/* A chunk is sampled, as the hooks do it. */
static void
take_sample(MemoryContext context, int who, Size size, bool kept)
{
	PlhLifetime lifetime = lifetime_in(context);
	uint32		interval = interval_of(size, lifetime);
	PlhDraw		draw;
	uint32		site;
	uint32		tick;
	int			index;

	if (interval == 0)
	{
		plh_profile_counters_out_of_scope();
		plh_upkeep_run(PLH_UPKEEP_SAMPLE_NOT_KEPT, BEGAN_US + simulated.now_us);
		return;
	}
	draw = plh_sampling_draw(&chance, size, interval);
	site = site_of(who, context, lifetime);
	plh_profile->transaction_began_at = simulated.began_at;
	tick = plh_profile_counters_add(site, size, (Size) (size * simulated.ways.rounding), draw);
	if (simulated_statements.after_sample != NULL)
		simulated_statements.after_sample();
	if (!kept)
	{
		plh_profile_counters_subtract(site, size, draw, tick);
		return;
	}
	index = new_sample();
	simulated.samples[index] = (Sample)
	{
		site, who, size, draw, tick, pg_prng_double(&simulated.fates),
			shell_of(context)->samples
	};
	shell_of(context)->samples = index;
	if (!plh_lifetime_is_lasting(lifetime))
		simulated.passing_live += (int64) size * plh_sampling_value(size, draw).weight;
	plh_upkeep_run(PLH_UPKEEP_SAMPLE_KEPT, plh_profile_counters_held.at_us);
}

/* Is an allocation to fail, which is a sample or is to be looked at for another reason? */
static bool
is_refused(MemoryContext context, Size size, bool sampled)
{
	bool		is_hurried = simulated.is_hurried;

	simulated.is_hurried = false;
	if (sampled)
		simulated.countdown = plh_sampling_gap(&chance, simulated.ways.interval);
	return (sampled || is_hurried) && !is_looked_at && simulated_refuses != NULL &&
		simulated_refuses(context, size, sampled ? simulated.ways.interval : 0);
}

/* Time passes while so much is allocated. */
static void
pass_time(double bytes)
{
	simulated.rest_us += bytes / MB * simulated.ways.us_per_mb;
	simulated.now_us += (int64) simulated.rest_us;
	simulated.rest_us -= (int64) simulated.rest_us;
}

/* So much more is in a context, or in blocks of malloc. */
static void
keep_bytes(MemoryContext context, int64 bytes)
{
	if (context == &simulated.blocks.data)
		simulated.outside_bytes += bytes;
	else
	{
		shell_of(context)->chunk_bytes += bytes;
		simulated_note_size(context);
	}
}

/* What chunks of these sizes take. */
static int64
taken_by(int64 bytes)
{
	return bytes + (int64) (bytes * simulated.ways.rounding);
}

/* That many chunks are allocated one after the other, from sample to sample. */
static void
allocate_chunks(MemoryContext context, int who, Size size, int64 count, bool kept)
{
	while (count > 0)
	{
		int64		until = Max(1, (simulated.countdown + (int64) size - 1) / (int64) size);
		int64		step = Min(simulated.is_hurried ? 1 : until, count);

		count -= step;
		simulated.countdown -= step * (int64) size;
		pass_time(step * (double) size);
		if (is_refused(context, size, step == until))
			return;
		if (kept)
			keep_bytes(context, taken_by(step * (int64) size));
		if (step != until)
			continue;
		statement_start = simulated_time();
		take_sample(context, who, size, kept);
	}
}

/* The same while nothing is sampled. */
static void
allocate_unseen(MemoryContext context, Size size, int64 count)
{
	for (; count > 0; count--)
	{
		if (!is_looked_at && simulated_refuses != NULL &&
			simulated_refuses(context, size, 0))
			return;
		keep_bytes(context, taken_by(size));
		if (plh_profile->samples_taken == 0)
			simulated.unsampled_bytes += size;
	}
}

void
allocate(MemoryContext context, int who, Size size, int64 count)
{
	if (simulated.ways.interval == 0)
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
		Sample	   *sample = &simulated.samples[*link];
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
	/* it is looked at by what it adds */
	if (simulated_refuses != NULL &&
		simulated_refuses(context, Max(0, (int64) to - (int64) from), simulated.ways.interval))
		return;
	if (from > 0)
	{
		free_samples(context, who, from, 0);
		shell_of(context)->chunk_bytes -= taken_by(from);
	}
	is_looked_at = true;
	allocate(context, who, to, 1);
	is_looked_at = false;
}

/* Free that part of what is in a context, in which nobody else has anything. */
void
free_some(MemoryContext context, int who, double part)
{
	free_samples(context, who, 0, part);
	shell_of(context)->chunk_bytes *= 1.0 - part;
	simulated_note_size(context);
}

/* A library allocates blocks, which are sampled. */
void
malloc_allocates(int who, Size size, int64 count)
{
	allocate_chunks(&simulated.blocks.data, who, size, count, true);
}

/* And frees that part of its blocks. */
void
malloc_frees(int who, double part)
{
	int64		before = plh_profile->malloc_counters.live_bytes;

	free_samples(&simulated.blocks.data, who, 0, part);
	malloc_changes(plh_profile->malloc_counters.live_bytes - before);
}

void
malloc_is_of(PlhAllocator allocator)
{
	simulated.allocator = allocator;
}

void
malloc_changes(int64 bytes)
{
	simulated.outside_bytes = Max(0, simulated.outside_bytes + bytes);
}

void
malloc_keeps(int64 bytes)
{
	simulated.kept_bytes = bytes;
	simulated.arena_bytes = 0;
}

/* The same in arenas of threads. */
void
malloc_keeps_in_arenas(int64 bytes)
{
	simulated.kept_bytes = simulated.arena_bytes = bytes;
}

void
others_map(int64 bytes)
{
	simulated.mapped_bytes += bytes;
}

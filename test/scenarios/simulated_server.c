/*
 * simulated_server.c
 *	  The clocks, malloc and the kernel of a simulated process, and its upkeep.
 */
#include "postgres.h"

#include <time.h>

#include "base/allocator.h"
#include "base/process_facts.h"
#include "profile/profile.h"
#include "sampler/census.h"
#include "sampler/countdown.h"
#include "sampler/growth_dump.h"
#include "sampler/owner.h"
#include "sampler/publication.h"
#include "sampler/memory_limits.h"
#include "simulated_state.h"

/* A process has this before it does anything. */
#define BARE_BYTES (4 * MB)

/* A process of this size shows its profile, whatever was sampled (publication.c). */
#define LARGE_BYTES (16 * MB)

/* What the census takes of time. */
#define CENSUS_CONTEXT_US 0.15

/* Clocks, malloc and the kernel, for the census. */
int
clock_gettime(clockid_t clock, struct timespec *now)
{
	int64		us = BEGAN_US + simulated.now_us;

	if (clock == CLOCK_THREAD_CPUTIME_ID)
		us = simulated.cpu_us += 10 +
			(int64) (CENSUS_CONTEXT_US * Min(simulated.contexts, 512));
	now->tv_sec = us / 1000000;
	now->tv_nsec = us % 1000000 * 1000;
	return 0;
}

PlhAllocator
plh_allocator(void)
{
	return simulated.allocator;
}

bool
plh_allocator_count(PlhAllocatorFigures *figures)
{
	*figures = (PlhAllocatorFigures)
	{
		.used_bytes = simulated.context_bytes * 1.005 + MB + simulated.outside_bytes,
			.free_bytes = simulated.kept_bytes,
			.arena_bytes = simulated.arena_bytes
	};
	return simulated.allocator != PLH_ALLOCATOR_UNKNOWN &&
		simulated.allocator != PLH_ALLOCATOR_MIMALLOC;
}

void
plh_allocator_release(void)
{
	simulated.kept_bytes = 0;
}

int64
plh_process_facts_own_bytes(void)
{
	return BARE_BYTES + simulated.context_bytes + simulated.outside_bytes +
		simulated.kept_bytes + simulated.mapped_bytes;
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

	if (simulated.is_published)
		return;
	if (counters->total_samples >= PLH_PUBLICATION_SAMPLES ||
		counters->live_bytes >= PLH_PUBLICATION_BYTES)
		simulated.is_published = true;
	else if (simulated.ways.interval != 0 && simulated.now_us >= simulated.sized_us + gap_us)
	{
		simulated.sized_us = simulated.now_us;
		simulated.is_published = plh_process_facts_own_bytes() >= LARGE_BYTES;
	}
}

/* A program may have the real one. */
__attribute__((weak))
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
	return simulated.unsampled_bytes;
}

bool
simulated_is_published(void)
{
	return !simulated.ways.publishes_late || simulated.is_published;
}

/* Is a census taken?  One that comes late or never is of a process without a file. */
static bool
is_published(void)
{
	return simulated_is_published() && simulated.ways.counted_from_us >= 0 &&
		simulated.now_us >= simulated.ways.counted_from_us;
}

#define plh_profile_file_is_published is_published
#define plh_profile_file_verify is_published
#define getpid() MyProcPid
#include "sampler/upkeep.c"
#undef getpid
#undef plh_profile_file_verify
#undef plh_profile_file_is_published

void
simulated_count(void)
{
	if (!is_published() || !plh_census_take_if_asked(NULL))
		return;
	plh_owner_update_header();
	counted();
}

/*
 * hooks_under_test.h
 *	  The hooks and their countdowns, with what they refer to: clocks that tests set,
 *	  requests and gaps that they know, and methods that allocate nothing.
 *
 * The sources are included, as tests look at their variables; so one file of tests can
 * include this.
 */
#ifndef HOOKS_UNDER_TEST_H
#define HOOKS_UNDER_TEST_H

#include "postgres.h"

#include "base/clock.h"
#include "base/sampling.h"
#include "sampler/control.h"
#include "sampler/method_patch.h"

static void poll_stub(PlhControlRequest *polled);
static int64 next_gap(pg_prng_state *prng, uint32 interval);
static int64 clock_stub(clockid_t clock);

#define plh_clock_us clock_stub
#define plh_control_poll poll_stub
#define plh_sampling_gap next_gap
#include "sampler/countdown.c"
#include "sampler/method_hooks.c"
#undef plh_sampling_gap
#undef plh_control_poll
#undef plh_clock_us

#include "sampler/owner.h"
#include "sampler/upkeep.h"

/* What the hooks refer to and these tests never get to, or need not do. */
bool		plh_enabled = true;
int			plh_scope = PLH_SCOPE_ALL;
ProcessingMode Mode = NormalProcessing;
sigjmp_buf *PG_exception_stack;
ErrorContextCallback *error_context_stack;

/* The time since the start, and the processor's time of the process. */
static int64 passed_us;
static int64 cpu_us;

static int64
clock_stub(clockid_t clock)
{
	return clock == CLOCK_THREAD_CPUTIME_ID ? cpu_us : passed_us;
}

void
pg_re_throw(void)
{
	abort();
}

/* From 16 on, a chunk has no pointer to its context any more, which 15 reads in line. */
#if PG_VERSION_NUM >= 160000
MemoryContext
GetMemoryChunkContext(void *pointer)
{
	abort();
}
#endif

Size
GetMemoryChunkSpace(void *pointer)
{
	abort();
}

void
plh_unwind_capture(PlhStack *stack, int max_depth, bool is_frequent)
{
}

uint32
plh_current_site_statement(void)
{
	return 0;
}

bool
plh_owner_begin_profile(void)
{
	return false;
}

void
plh_owner_settings_changed(uint32 sample_interval, int scope)
{
}

uint32		plh_owner_interval;
uint32		plh_upkeep_samples_not_kept;
static int	upkeeps;			/* after samples that are not kept */

void
plh_upkeep_run(PlhUpkeepEvent event, int64 now_us)
{
	upkeeps += event == PLH_UPKEEP_SAMPLE_NOT_KEPT;
}

const char *
plh_method_patch_find(PlhMethods *methods)
{
	return NULL;
}

const char *
plh_method_patch_install(const PlhMethods *new_hooks)
{
	return NULL;
}

static PlhControlRequest request;	/* that is there */
static uint32 request_number;
static int	polls;
static int	draws;				/* of gaps */
static int64 gap;				/* the last */
static uint32 gap_interval;		/* that it was drawn for */
static pg_prng_state gaps;

static void
poll_stub(PlhControlRequest *polled)
{
	polls++;
	*polled = request;
	plh_control_seen.changes = request_number;
}

/* Gaps of all lengths, many times a poll's and none among them. */
static int64
next_gap(pg_prng_state *prng, uint32 interval)
{
	draws++;
	gap_interval = interval;
	gap = pg_prng_uint64(&gaps) >> pg_prng_uint64_range(&gaps, 34, 63);
	return gap;
}

static void *
allocate_nothing(PLH_ALLOC_PARAMETERS)
{
	return NULL;
}

static void
free_nothing(PLH_FREE_PARAMETERS)
{
}

/* The hooks that are tested: those in C, or what stands for them near the server. */
static const PlhMethods *tested_hooks = hooks;

pg_attribute_unused()
static PlhMethods near_hooks[PLH_CONTEXT_TYPES];

/* What a palloc does. */
static void
allocate_in(MemoryContext context, Size size)
{
#if PG_VERSION_NUM >= 170000
	(void) tested_hooks[PLH_ALLOCSET].alloc(context, size, 0);
#else
	(void) tested_hooks[PLH_ALLOCSET].alloc(context, size);
#endif
}

static void
allocate_bytes(Size size)
{
	static MemoryContextData context;

	allocate_in(&context, size);
}

#endif							/* HOOKS_UNDER_TEST_H */

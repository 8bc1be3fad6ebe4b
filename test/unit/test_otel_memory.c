/*
 * test_otel_memory.c
 *	  What is told at the probes otel_memory:alloc and otel_memory:free, and to whom.
 */
#include "postgres.h"

#include "leaking_session.h"
#include "listener.h"
#include "sampler/live_samples.h"
#include "sampler/otel_memory.h"
#include "unit_tests.h"

#define SAMPLES 20

/* Chunks of which there are samples, and one of which there is none. */
static char chunks[SAMPLES + 1];

static bool
was_allocated(const HeardEvent *event, const void *pointer, uint64 size, uint64 weight)
{
	return !event->is_free && event->pointer == pointer && event->size == size &&
		event->weight == weight;
}

/* How often a chunk was freed. */
static int
frees_of(const char *chunk)
{
	int			frees = 0;

	for (int i = 0; i < heard_events; i++)
		frees += heard[i].is_free && heard[i].pointer == chunk;
	return frees;
}

static const PlhDraw for_sure = {.interval_bytes = 1};

static void
test_arguments(void)
{
	static const PlhDraw down = {.interval_bytes = 512 * 1024};
	static const PlhDraw up = {.interval_bytes = 512 * 1024,.rounded_up = 1};

	ok(listen_at_probes(true), "this program has one note of each probe");
	plh_otel_memory_allocated(&chunks[0], 100, for_sure);
	ok(heard_events == 1 && was_allocated(&heard[0], &chunks[0], 100, 100),
	   "what is sampled for sure stands for itself");
	plh_otel_memory_allocated(&chunks[1], 64, down);
	plh_otel_memory_allocated(&chunks[1], 64, up);
	ok(heard_events == 3 && was_allocated(&heard[1], &chunks[1], 64, 8192 * 64) &&
	   was_allocated(&heard[2], &chunks[1], 64, 8193 * 64),
	   "another sample for the bytes that the estimates have of it");
	plh_otel_memory_allocated(&chunks[2], (Size) 128 << 30, down);
	ok(was_allocated(&heard[3], &chunks[2], (uint64) 128 << 30, (uint64) 128 << 30),
	   "sizes have 64 bits");
	plh_otel_memory_freed(&chunks[1]);
	ok(heard_events == 5 && heard[4].is_free && heard[4].pointer == &chunks[1],
	   "a free tells the address");
	stop_listening();
	plh_otel_memory_allocated(&chunks[0], 100, down);
	plh_otel_memory_freed(&chunks[0]);
	ok(heard_events == 5, "nobody hears what comes after the end");
}

/* Two contexts with samples, one of them with the even ones. */
static void
insert_samples(MemoryContextData contexts[2], PlhWatchedContext *watched[2], uint32 site)
{
	for (int i = 0; i < 2; i++)
		watched[i] = plh_live_samples_watch(&contexts[i], PLH_LIFETIME_SESSION);
	for (int i = 0; i < SAMPLES; i++)
	{
		PlhDraw		draw = {.interval_bytes = 1};
		PlhLiveSample *sample = plh_live_samples_insert(watched[i % 2], &chunks[i], 10, draw, site);

		sample->tick = plh_profile_counters_add(site, 10, 0, draw);
	}
}

static void
test_frees(uint32 site)
{
	MemoryContextData contexts[2] = {0};
	PlhWatchedContext *watched[2];
	const char *broken = NULL;

	insert_samples(contexts, watched, site);
	listen_at_probes(true);
	plh_live_samples_remove(&chunks[3]);
	plh_live_samples_remove(&chunks[SAMPLES]);
	ok(heard_events == 1 && frees_of(&chunks[3]) == 1, "a sample is freed once, and nothing else");
	plh_live_samples_drop_context(watched[0]);
	for (int i = 0; i < SAMPLES; i++)
		REQUIRE(broken, frees_of(&chunks[i]) == (i % 2 == 0 || i == 3));
	ok_unbroken(broken, "a context's reset frees each of its samples once");
	plh_live_samples_forget();
	ok(heard_events == 1 + SAMPLES / 2, "a forked child tells of none of its parent's samples");
	stop_listening();
}

static void
test_no_listener(uint32 site)
{
	MemoryContextData contexts[2] = {0};
	PlhWatchedContext *watched[2];

	ok(plh_otel_memory_alloc_listeners == 0 && plh_otel_memory_free_listeners == 0,
	   "who has ceased to listen is not counted");
	listen_at_probes(false);
	insert_samples(contexts, watched, site);
	plh_otel_memory_allocated(&chunks[0], 10, for_sure);
	plh_live_samples_drop_context(watched[0]);
	plh_live_samples_drop_context(watched[1]);
	ok(heard_events == 0, "nothing is told where nobody is counted");
	stop_listening();
}

static void
ignore_reset(void *arg)
{
}

void
test_otel_memory(void)
{
	Session		session;
	uint32		site;

	test_arguments();
	begin_session(&session, 1, 1);
	site = site_of(&session, LEAKING_TOP, "TopMemoryContext", PLH_LIFETIME_SESSION);
	plh_live_samples_start(1000, ignore_reset);
	test_frees(site);
	test_no_listener(site);
	plh_live_samples_forget();
	end_session();
}

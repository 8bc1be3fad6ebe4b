/*
 * test_plan_nodes.c
 *	  What nodes of a plan held at the peak of all, and at their own: as if each were
 *	  visited at each change.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "utils/memutils.h"

#include "base/guard.h"
#include "base/settings.h"
#include "sampler/countdown.h"
#include "sampler/plan_nodes.h"
#include "unit_tests.h"

#define SEED 40
#define NODES 5
#define SITES 3
#define SAMPLES 200
#define CHANGES 20000

static const PlhDraw draw = {.interval_bytes = 1};

/* What a simple table knows. */
static struct
{
	int64		live[NODES];
	int64		at_peak[NODES];
	int64		highest[NODES];
	int64		live_at[NODES][SITES];
	int64		highest_at[NODES][SITES];
	int64		peak;
}			known;

static int64
known_bytes(void)
{
	int64		bytes = 0;

	for (int node = 0; node < NODES; node++)
		bytes += known.live[node];
	return bytes;
}

/* Change what a node has at a site. */
static void
know(int node, int site, int64 bytes)
{
	known.live[node] += bytes;
	known.live_at[node][site] += bytes;
	if (known.live[node] > known.highest[node])
	{
		known.highest[node] = known.live[node];
		memcpy(known.highest_at[node], known.live_at[node], sizeof(known.live_at[node]));
	}
	if (known_bytes() > known.peak)
	{
		known.peak = known_bytes();
		memcpy(known.at_peak, known.live, sizeof(known.live));
	}
}

/* Add samples and subtract them, at random: by index, and of one place or another. */
static void
change_at_random(pg_prng_state *random)
{
	static struct
	{
		int			node;
		int			site;
		int			size;		/* 0: not there */
	}			samples[SAMPLES];

	memset(samples, 0, sizeof(samples));
	for (int i = 0; i < CHANGES; i++)
	{
		uint32		index = pg_prng_uint64_range(random, 0, SAMPLES - 1);
		int			node = pg_prng_uint64_range(random, 0, NODES - 1);
		int			site = pg_prng_uint64_range(random, 0, SITES - 1);

		if (samples[index].size != 0)
		{
			plh_plan_nodes_subtract_chunk(index, samples[index].size, draw);
			know(samples[index].node, samples[index].site, -samples[index].size);
			samples[index].size = 0;
			continue;
		}
		samples[index].node = node;
		samples[index].site = site;
		samples[index].size = pg_prng_uint64_range(random, 1, 1000);
		plh_plan_nodes_current = PLH_PLAN_PLACE(node);
		plh_plan_nodes_add_chunk(index, 8 * (site + 1), samples[index].size, draw, TopMemoryContext);
		know(node, site, samples[index].size);
	}
}

static bool
nodes_agree(void)
{
	for (int node = 0; node < NODES; node++)
	{
		if (plh_plan_nodes_at_peak(PLH_PLAN_PLACE(node)).bytes != known.at_peak[node] ||
			plh_plan_nodes[PLH_PLAN_PLACE(node)].highest.bytes != known.highest[node])
			return false;
	}
	return plh_plan_nodes_figures().peak.bytes == known.peak;
}

static bool
parts_agree(void)
{
	for (uint32 i = 0; i < plh_plan_nodes_figures().parts; i++)
	{
		int64		bytes;
		const PlhPlanPart *part = plh_plan_nodes_part(i, &bytes);

		if (bytes != known.highest_at[part->entry.user - PLH_STAGES][part->site / 8 - 1])
			return false;
	}
	return plh_plan_nodes_figures().parts == NODES * SITES;
}

/* A part of an earlier watch is none of this one. */
static void
test_earlier_parts(void)
{
	uint32		part = plh_plan_nodes_add(8, 100, draw, NULL);

	plh_plan_nodes_stop();
	ok(plh_plan_nodes_begin(), "a further watch begins");
	plh_plan_nodes_current = PLH_STAGE_BETWEEN;
	(void) plh_plan_nodes_add(8, 10, draw, NULL);
	plh_plan_nodes_subtract(part, 100, draw);
	plh_plan_nodes_subtract_chunk(0, 100, draw);
	ok(plh_plan_nodes_figures().peak.bytes == 10 &&
	   plh_plan_nodes[PLH_STAGE_BETWEEN].live.bytes == 10,
	   "what an earlier statement had is not taken from a later one");
}

void
test_plan_nodes(void)
{
	pg_prng_state random;
	bool		was_held = plh_guard_take();
	int			max_live_samples = plh_load_settings.max_live_samples;

	plh_load_settings.max_live_samples = 1000;
	plh_countdown_track_all(false);
	pg_prng_seed(&random, SEED);
	memset(&known, 0, sizeof(known));
	ok(plh_plan_nodes_begin() && plh_plan_nodes_expect(NODES), "a plan is watched");
	change_at_random(&random);
	ok(nodes_agree(), "each node knows what it held at the peak of all, and at its own");
	ok(parts_agree(), "and at which site");
	test_earlier_parts();
	plh_plan_nodes_end();
	ok(!plh_plan_nodes_are_watched && plh_plan_nodes == NULL, "the watch ends");
	plh_load_settings.max_live_samples = max_live_samples;
	plh_guard_restore(was_held);
}

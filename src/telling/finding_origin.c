/*
 * finding_origin.c
 *	  Where what a finding is about came from: the phase, and the code outside of the server.
 *
 * All sites of the finding count, by what they hold: the planner allocates at hundreds of places,
 * and none of these has much.
 */
#include "postgres.h"

#include "judge/finding_sites.h"
#include "profile/site_facts.h"
#include "reader/database_text.h"
#include "report/blamed_code.h"
#include "report/listed_site.h"
#include "telling/cache_shares.h"
#include "telling/finding_origin.h"
#include "telling/site_family.h"

/* What has this part of all explains it. */
#define MOST_PERCENT 80

/* So many sites, the largest, are looked at: the rest has little. */
#define MOST_SITES 2000

/* So many libraries are told apart. */
#define MOST_LIBRARIES 8

/* What one library, or the functions of one language, have allocated. */
typedef struct CodeShare
{
	PlhBlamedCode code;
	int64		bytes;
} CodeShare;

typedef struct Shares
{
	bool		of_statement;	/* the finding is about one */
	int64		all;
	int64		phases[PLH_PHASES]; /* without those of their parts */
	int64		shared_phases[PLH_PHASES];	/* of these, below a function */
	int64		in_triggers;
	int64		planned[PLH_PLANNED_KINDS];
	CodeShare	codes[MOST_LIBRARIES];
	int			code_count;
	const PlhFamily *family;	/* of code of the server: that found first */
	int64		family_bytes;
} Shares;

static void
add_code(Shares *shares, const PlhBlamedCode *code, int64 bytes)
{
	int			i = 0;

	while (i < shares->code_count &&
		   !(plh_texts_are_same(shares->codes[i].code.library, code->library) &&
			 plh_texts_are_same(shares->codes[i].code.language, code->language)))
		i++;
	if (i == MOST_LIBRARIES)
		return;
	if (i == shares->code_count)
		shares->codes[shares->code_count++] = (CodeShare)
	{
		*code, 0
	};
	shares->codes[i].bytes += bytes;
}

/* The sites come by size, so that a family that has most of it is the first. */
static void
add_family(Shares *shares, const PlhFamily *family, int64 bytes)
{
	if (shares->family == NULL)
		shares->family = family;
	if (family != NULL && family == shares->family)
		shares->family_bytes += bytes;
}

static bool
has_function(const PlhStackText *stack, const char *function)
{
	for (int i = stack->site_frame; i < stack->frame_count; i++)
		if (strcmp(plh_stack_text_function_name(&stack->frames[i]), function) == 0)
			return true;
	return false;
}

/* Add what a site holds to its phase, and to the code that this phase has called. */
static void
add_site(Shares *shares, const PlhShare *share, const PlhProfileImage *image, PlhStackTexts *texts,
		 const PlhSharedFunction *shared)
{
	PlhPhase	phase;
	PlhSiteFacts facts;
	PlhListedSite listed;
	PlhStackText inner;
	PlhBlamedCode code;
	int			frame;

	plh_site_facts_resolve(&facts, image, share->site, NULL);
	plh_listed_site_start(&listed, image, &facts);
	plh_listed_site_describe_stack(&listed, texts);
	phase = shares->of_statement ? plh_phase_of_statement(&listed.stack, &frame) :
		plh_phase_of(&listed.stack, &frame);
	shares->phases[phase] += share->bytes;
	if (shared != NULL && has_function(&listed.stack, shared->function))
		shares->shared_phases[phase] += share->bytes;
	if (plh_phase_is_around(PLH_PHASE_TRIGGERS, &listed.stack))
		shares->in_triggers += share->bytes;
	for (PlhPlanned planned = 0; planned < PLH_PLANNED_KINDS; planned++)
		if (plh_phase_plans(&listed.stack, planned))
			shares->planned[planned] += share->bytes;
	add_family(shares, plh_site_family(&listed.stack), share->bytes);
	inner = listed.stack;
	inner.frame_count = frame;
	code = plh_blamed_code_find(&inner);
	if (code.library != NULL || code.language != NULL)
		add_code(shares, &code, share->bytes);
}

static int64
percent_of(const Shares *shares, int64 bytes)
{
	return (int64) (100.0 * bytes / shares->all);
}

static bool
is_most(const Shares *shares, int64 bytes)
{
	return (double) bytes * 100 >= (double) shares->all * MOST_PERCENT;
}

/* What a phase has, and its parts with it. */
static int64
bytes_of(const int64 *phases, PlhPhase phase)
{
	int64		bytes = phases[phase];

	for (PlhPhase part = PLH_PHASE_UNKNOWN + 1; part < PLH_PHASES; part++)
		if (plh_phase_parent(part) == phase)
			bytes += phases[part];
	return bytes;
}

/* Is all of a phase that was allocated below the shared function? */
static bool
shared_is_of_phase(const Shares *shares, PlhPhase phase)
{
	int64		bytes = 0;

	for (int i = 0; i < PLH_PHASES; i++)
		bytes += shares->shared_phases[i];
	return phase != PLH_PHASE_UNKNOWN && bytes_of(shares->shared_phases, phase) == bytes;
}

/* The phase that has most of it: of one and its part, the part. */
static void
find_phase(PlhFindingOrigin *origin, const Shares *shares)
{
	for (PlhPhase phase = PLH_PHASE_UNKNOWN + 1; phase < PLH_PHASES; phase++)
	{
		int64		bytes = bytes_of(shares->phases, phase);

		if (!is_most(shares, bytes) || (origin->phase != PLH_PHASE_UNKNOWN &&
										plh_phase_parent(phase) != origin->phase))
			continue;
		origin->phase = phase;
		origin->percent = percent_of(shares, bytes);
	}
}

PlhFindingOrigin
plh_finding_origin_find(const PlhFinding *finding, const PlhProfileImage *image,
						PlhStackTexts *texts, const PlhSharedFunction *shared)
{
	PlhFindingOrigin origin = {.phase = PLH_PHASE_UNKNOWN,.shared = shared};
	Shares		shares = {.of_statement = finding->kind == PLH_KIND_STATEMENT};
	PlhShare   *sites;
	int			count;

	if (texts == NULL || (plh_finding_family(finding) == NULL &&
						  finding->kind != PLH_KIND_STATEMENT))
		return origin;
	sites = plh_finding_sites(finding, image, &count);
	for (int i = 0; i < count; i++)
	{
		shares.all += Min(sites[i].bytes, PG_INT64_MAX / 1000 / MOST_SITES);
		if (i < MOST_SITES)
			add_site(&shares, &sites[i], image, texts, shared);
	}
	pfree(sites);
	if (shares.all <= 0)
		return origin;
	find_phase(&origin, &shares);
	origin.shared_is_of_phase = shared != NULL && !shared->has_more && count <= MOST_SITES &&
		shared_is_of_phase(&shares, origin.phase);
	origin.in_triggers = is_most(&shares, shares.in_triggers);
	origin.partitions_percent = percent_of(&shares, shares.phases[PLH_PHASE_PLANNING_PARTITIONS]);
	for (PlhPlanned planned = 0; planned < PLH_PLANNED_KINDS; planned++)
		origin.planned_percent[planned] = percent_of(&shares, shares.planned[planned]);
	for (int i = 0; i < shares.code_count; i++)
		if (is_most(&shares, shares.codes[i].bytes))
		{
			origin.library = shares.codes[i].code.library;
			origin.language = shares.codes[i].code.language;
		}
	if (finding->kind == PLH_KIND_CACHE_GROWS)
	{
		PlhCacheShares cached;

		plh_cache_shares_find(&cached, plh_finding_family(finding)->family, image, texts);
		origin.is_statistics = plh_cache_shares_are_statistics(&cached);
	}
	if (shares.family != NULL && is_most(&shares, shares.family_bytes))
		origin.family = shares.family;
	return origin;
}

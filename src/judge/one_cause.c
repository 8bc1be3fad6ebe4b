/*
 * one_cause.c
 *	  Sites that one function leads to, and that grow together, are one finding.
 *
 * A loop that leaks allocates at several places.  Each of these may have too little for a finding,
 * or be one of several that say the same.  Which of them belong together is said by who knows
 * functions (PlhCauses); what grew with the others, and what comes of all, is judged here.
 */
#include "postgres.h"

#include "judge/one_cause.h"
#include "judge/proven_suspect.h"
#include "reader/collections.h"

/* The most call sites that are looked at, and the part that the smallest of them has. */
#define MOST_PLACES 64
#define LEAST_PART 50

/* All sites of one group, and the finding on them. */
typedef struct Place
{
	const PlhGroupedSite *sites;
	int			count;
	PlhSuspectFacts facts;
	int			finding;		/* index of the largest on them; -1: none */
	uint32		cause;			/* 0: none */
	bool		is_judged;		/* it is part of a finding on several */
} Place;

/*
 * What a group holds that is worth a look: a part of the largest finding, or of what would be one.
 */
static int64
least_bytes(const PlhJudge *judge)
{
	int64		largest = 0;

	for (int i = 0; i < judge->findings->count; i++)
		largest = Max(largest, judge->findings->list[i].bytes);
	return (largest > 0 ? largest : PLH_SUSPECT_LARGE_BYTES) / LEAST_PART;
}

/* Is a finding on one of those sites? */
static bool
is_on(const PlhFinding *finding, const PlhGroupedSite *sites, int count)
{
	for (int i = 0; i < count; i++)
		if (finding->site == sites[i].site)
			return true;
	return false;
}

/* The finding on one of those sites that is about most; -1: none. */
static int
finding_on(const PlhJudge *judge, const PlhGroupedSite *sites, int count)
{
	const PlhFinding *list = judge->findings->list;
	int			found = -1;

	for (int i = 0; i < judge->findings->count; i++)
		if (is_on(&list[i], sites, count) && (found < 0 || list[i].bytes > list[found].bytes))
			found = i;
	return found;
}

static PlhShare
share_of(const Place *place)
{
	PlhShare	share = {.site = place->sites[0].site,.bytes = place->facts.live_bytes};

	for (int i = 1; i < place->count; i++)
		if (place->sites[i].site->counters.live_bytes > share.site->counters.live_bytes)
			share.site = place->sites[i].site;
	return share;
}

/* Keep a group that holds enough, if it is among the largest. */
static int
keep_place(Place *places, int count, const Place *place)
{
	int			at = count;

	while (at > 0 && places[at - 1].facts.live_bytes < place->facts.live_bytes)
		at--;
	if (at == MOST_PLACES)
		return count;
	memmove(&places[at + 1], &places[at],
			sizeof(Place) * (Min(count, MOST_PLACES - 1) - at));
	places[at] = *place;
	return Min(count + 1, MOST_PLACES);
}

/* The groups of lasting sites that hold much of what the largest finding does. */
static int
find_places(Place *places, const PlhJudge *judge, const PlhGroupedSite *sites, int site_count)
{
	int64		least = least_bytes(judge);
	int			count = 0;

	for (int begin = 0, end; begin < site_count; begin = end)
	{
		Place		place = {.sites = &sites[begin]};

		end = plh_site_suspects_group_end(sites, begin, site_count);
		if (!plh_lifetime_is_lasting(sites[begin].lifetime))
			continue;
		place.count = end - begin;
		for (int i = 0; i < place.count; i++)
		{
			PlhSuspectFacts facts;

			plh_site_suspects_collect(&facts, judge, place.sites[i].site);
			plh_suspect_pool(&place.facts, &facts);
		}
		if (place.facts.live_bytes < least)
			continue;
		place.finding = finding_on(judge, place.sites, place.count);
		count = keep_place(places, count, &place);
	}
	return count;
}

/* Ask which of them have one cause.  Contexts of another name are another one. */
static void
find_causes(Place *places, int count, const PlhJudge *judge)
{
	PlhShare   *shares = palloc(sizeof(PlhShare) * count);
	uint32		causes[MOST_PLACES] = {0};

	for (int i = 0; i < count; i++)
		shares[i] = share_of(&places[i]);
	judge->causes->find(judge->causes->arg, shares, count, causes);
	for (int i = 0; i < count; i++)
		places[i].cause = causes[i];
	pfree(shares);
}

/* Can most of it be reached, as far as it is proven? */
static bool
is_mostly_held(const Place *place)
{
	return place->facts.proven.held_bytes > place->facts.proven.lost_bytes;
}

/* Was it proven that of one of the two most is lost, and of the other most is held? */
static bool
differ_by_proof(const Place *left, const Place *right)
{
	return left->facts.proven.at != 0 && right->facts.proven.at != 0 &&
		is_mostly_held(left) != is_mostly_held(right);
}

/*
 * Does a group grow together with the one that leads?  What was allocated once, and rests since, is
 * no part of a leak, whoever has allocated it; nor is what can be reached a part of what is lost.
 */
static bool
grows_with(const Place *place, const Place *lead)
{
	TimestampTz half = lead->facts.first_at / 2 + lead->facts.last_at / 2;

	return place->cause == lead->cause &&
		place->sites[0].site->key.context_name == lead->sites[0].site->key.context_name &&
		place->sites[0].lifetime == lead->sites[0].lifetime &&
		!differ_by_proof(place, lead) &&
		(place == lead || place->finding >= 0 || place->facts.last_at > half);
}

/* Add a group to the facts of all. */
static void
add_facts(PlhSuspectFacts *sum, const Place *place)
{
	int			statements = Max(sum->statements, place->facts.statements);
	int64		transactions = Max(sum->transactions, place->facts.transactions);

	plh_suspect_pool(sum, &place->facts);

	/* they ran in the same transactions, for the same statements */
	sum->statements = statements;
	sum->transactions = transactions;
	sum->epochs = Min(sum->epochs, sum->age_epochs);
}

/* What all groups held in the middle of their common life. */
static void
add_early(PlhSuspectFacts *sum, const PlhJudge *judge, const Place *place)
{
	for (int i = 0; i < place->count; i++)
	{
		PlhSuspectFacts facts;

		plh_site_suspects_collect(&facts, judge, place->sites[i].site);
		plh_suspect_pool_early(sum, place->sites[i].site, &facts);
	}
}

/* Enter the call sites of a finding, of which the largest are kept. */
static void
note_parts(PlhFinding *finding, const Place *places, int count, const bool *is_member)
{
	for (int i = 0; i < count; i++)
	{
		if (!is_member[i])
			continue;
		if (finding->sites.part_count < PLH_SHARES)
			finding->sites.parts[finding->sites.part_count++] = share_of(&places[i]);
		finding->sites.places++;
	}
}

/* Is a finding on a site of one of the members? */
static bool
is_part(const PlhFinding *finding, const Place *places, int count, const bool *is_member)
{
	for (int i = 0; i < count; i++)
		if (is_member[i] && is_on(finding, places[i].sites, places[i].count))
			return true;
	return false;
}

/* Drop what was found of the groups by themselves, and enter what was found of all. */
static void
replace(PlhJudge *judge, Place *places, int count, const bool *is_member,
		const PlhFinding *finding)
{
	PlhFindings *findings = judge->findings;
	int			kept = 0;

	for (int i = 0; i < findings->count; i++)
		if (!is_part(&findings->list[i], places, count, is_member))
			findings->list[kept++] = findings->list[i];
	findings->count = kept;
	plh_site_suspects_add(judge, finding);
	for (int i = 0; i < count; i++)
	{
		places[i].is_judged = places[i].is_judged || is_member[i];
		places[i].finding = finding_on(judge, places[i].sites, places[i].count);
	}
}

/* The verdict that says most of those on the members. */
static PlhVerdict
verdict_on(const PlhJudge *judge, const Place *places, int count, const bool *is_member)
{
	PlhVerdict	verdict = PLH_VERDICT_NONE;

	for (int i = 0; i < count; i++)
		if (is_member[i] && places[i].finding >= 0)
			verdict = Max(verdict,
						  plh_finding_verdict(&judge->findings->list[places[i].finding]));
	return verdict;
}

/* Add up the facts of the members.  Returns how many there are. */
static int
pool(PlhSuspectFacts *sum, const PlhJudge *judge, const Place *places, int count,
	 const bool *is_member)
{
	int			members = 0;

	for (int i = 0; i < count; i++)
		if (is_member[i])
		{
			add_facts(sum, &places[i]);
			members++;
		}
	for (int i = 0; i < count; i++)
		if (is_member[i])
			add_early(sum, judge, &places[i]);
	return members;
}

/*
 * Judge a group together with all that grow with it.  Where all say less than one of them did, that
 * stays.
 */
static void
judge_together(PlhJudge *judge, Place *places, int count, const Place *lead)
{
	bool		is_member[MOST_PLACES];
	PlhSuspectFacts sum = {0};
	PlhJudgement judgement;
	PlhFinding	finding;

	for (int i = 0; i < count; i++)
		is_member[i] = !places[i].is_judged && grows_with(&places[i], lead);
	if (pool(&sum, judge, places, count, is_member) < 2)
		return;
	judgement = plh_proven_suspect_judge(&sum);
	if (judgement.verdict == PLH_VERDICT_NONE ||
		judgement.verdict < verdict_on(judge, places, count, is_member))
		return;
	finding = plh_site_suspects_finding(lead->finding >= 0 ?
										judge->findings->list[lead->finding].site :
										share_of(lead).site, &sum, &judgement);
	note_parts(&finding, places, count, is_member);
	replace(judge, places, count, is_member, &finding);
}

/* What lasting sites hold. */
static double
held_by_sites(const PlhJudge *judge)
{
	double		bytes = 0.0;
	uint32		position = 0;
	PlhGroupedSite next;

	while (plh_site_suspects_next(&next, judge, &position))
		if (plh_lifetime_is_lasting(next.lifetime) && next.site->counters.live_bytes > 0)
			bytes += (double) next.site->counters.live_bytes;
	return bytes;
}

void
plh_one_cause_merge(PlhJudge *judge)
{
	int			site_count;
	PlhGroupedSite *sites;
	Place	   *places;
	int			count;

	if (judge->causes == NULL ||
		(judge->findings->count == 0 && held_by_sites(judge) < PLH_SUSPECT_LARGE_BYTES))
		return;
	sites = plh_site_suspects_group(judge, &site_count);
	places = palloc(sizeof(Place) * (MOST_PLACES + 1));
	count = find_places(places, judge, sites, site_count);
	if (count > 1)
	{
		find_causes(places, count, judge);
		for (int i = 0; i < count; i++)
			if (places[i].cause != 0 && !places[i].is_judged)
				judge_together(judge, places, count, &places[i]);
	}
	pfree(places);
	pfree(sites);
}

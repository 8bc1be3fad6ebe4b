/*
 * decoding_suspect.c
 *	  All that is held for changes that are decoded is one finding.
 *
 * A large value is there several times: as it was read from the log, as an output plugin writes it,
 * and as it is sent.  These are contexts of two kinds, and a buffer of the session.
 */
#include "postgres.h"

#include "judge/decoding_suspect.h"

/* The finding on a family of decoding, which is not that one; NULL: there is none. */
static PlhFinding *
find(PlhFindings *findings, const PlhFinding *other)
{
	for (int i = 0; i < findings->count; i++)
		if (findings->list[i].kind == PLH_KIND_DECODING && &findings->list[i] != other)
			return &findings->list[i];
	return NULL;
}

static void
drop(PlhFindings *findings, const PlhFinding *finding)
{
	int			index = finding - findings->list;

	memmove(&findings->list[index], &findings->list[index + 1],
			sizeof(PlhFinding) * (--findings->count - index));
}

/* Take a finding on what decoding writes to into that on what it reads. */
static void
add_output(PlhFindings *findings)
{
	PlhFinding *decoded = find(findings, NULL);
	PlhFinding *output = find(findings, decoded);

	if (output == NULL)
		return;
	if (output->contexts.family->family == plh_family_of("ReorderBuffer"))
	{
		PlhFinding *first = decoded;

		decoded = output;
		output = first;
	}
	decoded->contexts.output = output->contexts.family;
	decoded->bytes += output->bytes;
	decoded->growth_bytes += output->growth_bytes;
	decoded->late_bytes += output->late_bytes;
	drop(findings, output);
}

/* Is it allocated for what is decoded, by those who know functions? */
static bool
is_for_decoding(const PlhJudge *judge, const PlhFinding *finding)
{
	const PlhShare share = {finding->site, finding->bytes};
	PlhSiteOrigin origin = {0};

	if (judge->causes == NULL || finding->kind != PLH_KIND_SITE_HOLDS)
		return false;
	judge->causes->find_origins(judge->causes->arg, &share, 1, &origin);
	return origin.is_decoding;
}

/* Take buffers that are held for it, and do not grow, into it. */
static void
add_buffers(PlhJudge *judge)
{
	PlhFindings *findings = judge->findings;

	for (int i = findings->count - 1; i >= 0; i--)
		if (is_for_decoding(judge, &findings->list[i]))
		{
			int64		bytes = findings->list[i].bytes;
			PlhFinding *decoded;

			drop(findings, &findings->list[i]);
			decoded = find(findings, NULL);
			decoded->contexts.kept_bytes += bytes;
			decoded->bytes += bytes;
		}
}

/*
 * The largest value or row that a site has for what is decoded, as far as is known: no chunk of
 * changes has more than one.
 */
static int64
largest_value(const PlhJudge *judge)
{
	const PlhFamily *decoded = plh_family_of("ReorderBuffer");
	int64		largest = 0;
	uint32		position = 0;
	PlhGroupedSite next;

	while (plh_site_suspects_next(&next, judge, &position))
	{
		const PlhCounters *counters = &next.site->counters;

		if (counters->live_count > 0 &&
			counters->live_bytes / counters->live_count > largest &&
			plh_site_suspects_family(judge->image, next.site) == decoded)
			largest = counters->live_bytes / counters->live_count;
	}
	return largest;
}

void
plh_decoding_suspect_merge(PlhJudge *judge)
{
	PlhFinding *decoded;
	int64		value;

	if (find(judge->findings, NULL) == NULL)
		return;
	add_output(judge->findings);
	add_buffers(judge);
	decoded = find(judge->findings, NULL);
	value = largest_value(judge);
	if (value >= PLH_SUSPECT_FUNCTION_BYTES)
		decoded->contexts.value_bytes = Min(value, decoded->bytes);
}

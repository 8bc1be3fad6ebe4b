/*
 * share_sentences.c
 *	  Which functions have most of a finding, or the one that most of it went through.
 */
#include "postgres.h"

#include <math.h>

#include "profile/shared_frames.h"
#include "profile/site_facts.h"
#include "report/words.h"
#include "telling/function_shares.h"
#include "telling/share_sentences.h"

/* A part of all, as a whole percentage; of a bound no less than that. */
static const char *
percent(const PlhFunctionShares *shares, int64 bytes, bool is_bound)
{
	double		part = plh_function_shares_percent(shares, bytes);

	return psprintf("%.0f", is_bound ? ceil(part) : part);
}

/* One function, and the site of it that the finding is named after. */
static const char *
share_phrase(const PlhFunctionShares *shares, const PlhFunctionShare *share)
{
	const PlhFields fields = {
		.percent = percent(shares, share->bytes, false),
		.site = share->site,
		.context = share->context_name,
		.most = percent(shares, share->largest_bytes, false),
		.name = share->largest_site
	};

	return plh_sentences_phrase(share->largest_site != NULL ? PLH_SAYS_share_largest :
								PLH_SAYS_share, true, &fields);
}

static bool
is_worth(const PlhFunctionShares *shares, int64 bytes)
{
	return plh_function_shares_percent(shares, bytes) >= PLH_LEAST_PERCENT;
}

/* Do the call sites that are told have as much as a function that is shared? */
static bool
are_most(const PlhFunctionShares *shares)
{
	int64		bytes = 0;

	for (int i = 0; i < shares->told; i++)
		bytes += shares->functions[i].bytes;
	return bytes >= PLH_SHARED_PART * shares->all;
}

void
plh_share_sentences_say_shared(PlhSaid *said, const PlhSharedFunction *shared)
{
	const PlhFields fields = {
		.percent = psprintf("%.0f", plh_shared_function_percent(shared)),
		.name = shared->site,
		.count = shared->is_site ? shared->ways : shared->places
	};

	if (shared->is_site)
		plh_sentences_say(said, shared->has_more ? PLH_SAYS_shared_frame_site_least :
						  PLH_SAYS_shared_frame_site, true, &fields);
	else
		plh_sentences_say(said, shared->has_more ? PLH_SAYS_shared_frame_least :
						  PLH_SAYS_shared_frame, true, &fields);
}

bool
plh_share_sentences_end_shared(const PlhSaid *said)
{
	PlhSentence last = said->all == NIL ? PLH_SENTENCES :
		((const PlhSaidSentence *) llast(said->all))->sentence;

	return last == PLH_SAYS_shared_frame || last == PLH_SAYS_shared_frame_least ||
		last == PLH_SAYS_shared_frame_site || last == PLH_SAYS_shared_frame_site_least;
}

/* Which functions have most of it, and where the rest is. */
static void
say_told_shares(PlhSaid *said, const PlhFunctionShares *shares, bool alive)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < shares->told; i++)
		appendStringInfo(&list, "%s%s", i == 0 ? "" : ", ",
						 share_phrase(shares, &shares->functions[i]));
	PLH_SAY(said, true, shares,.list = list.data);
	if (is_worth(shares, shares->others))
	{
		const PlhFields fields = {
			.percent = percent(shares, shares->others, false),
			.most = percent(shares, shares->others_most, true)
		};

		plh_sentences_say(said, shares->has_more ? PLH_SAYS_shares_many : PLH_SAYS_shares_other,
						  alive, &fields);
	}
	if (is_worth(shares, shares->unknown))
		PLH_SAY(said, true, shares_unknown,.percent = percent(shares, shares->unknown, false));
}

void
plh_share_sentences_say(PlhSaid *said, const PlhFinding *finding, const PlhSharedFunction *shared,
						const PlhFoundIn *in)
{
	PlhFunctionShares shares;

	plh_function_shares_add_up(&shares, finding, in->image, in->stacks);
	if (shared != NULL && !are_most(&shares))
	{
		plh_share_sentences_say_shared(said, shared);
		if (shared->is_site)
			return;
	}
	if (shares.told > 0)
		say_told_shares(said, &shares, in->image->alive);
	else if (shared == NULL && shares.count > 0 && is_worth(&shares, shares.functions[0].bytes))
		PLH_SAY(said, true, scattered,
				.percent = percent(&shares, shares.functions[0].bytes, true));
}

void
plh_share_sentences_say_parts(PlhSaid *said, const PlhFinding *finding,
							  const PlhSharedFunction *shared, const PlhFoundIn *in)
{
	if (finding->sites.part_count > 0 && shared != NULL && shared->places > 1)
		plh_share_sentences_say(said, finding, shared, in);
}

void
plh_share_sentences_say_rounding(PlhSaid *said, const PlhStatementFound *statement, bool alive)
{
	double		bytes = 0;
	double		spare = 0;

	for (int i = 0; i < statement->share_count; i++)
	{
		const PlhShare *share = &statement->shares[i];

		bytes += share->bytes;
		spare += share->bytes * plh_site_spare_part(share->site);
	}
	if (plh_site_facts_is_rounded((int64) bytes, (int64) spare))
		PLH_SAY(said, alive, rounding_adds,.bytes = plh_words_size((int64) spare));
}

/*
 * site_evidence.c
 *	  Why a call site is a finding: what it has left, holds, or gained.
 */
#include "postgres.h"

#include "datatype/timestamp.h"

#include "judge/account.h"
#include "judge/process_kind.h"
#include "judge/suspect.h"
#include "profile/site_facts.h"
#include "report/words.h"
#include "telling/proven_evidence.h"
#include "telling/site_evidence.h"

/* Was most of what was allocated freed, as of what is enlarged again and again? */
static bool
is_enlarged(const PlhFinding *finding)
{
	return finding->sites.total_bytes / 4 > finding->bytes;
}

/* Did the sites last grow a while ago? */
static bool
has_stopped(const PlhFinding *finding)
{
	TimestampTz last_at = finding->sites.last_at;

	return last_at != 0 && finding->counted_at - last_at >= USECS_PER_SEC;
}

/*
 * What is left, and of how much; what is enlarged is allocated anew each time.  Statements of which
 * nothing was sampled are not known.
 */
static void
say_left(PlhSaid *said, const PlhFinding *finding, bool alive)
{
	const PlhFields fields = {
		.bytes = plh_words_estimate(finding->bytes, finding->error_bytes),
		.total = plh_words_size(finding->sites.total_bytes),
		.count = Max(finding->sites.statements, 1),
		.since = plh_words_time(finding->sites.last_at)
	};

	if (is_enlarged(finding))
	{
		plh_sentences_say(said, PLH_SAYS_enlarged, alive, &fields);
		plh_sentences_say(said, has_stopped(finding) ? PLH_SAYS_enlarged_until :
						  PLH_SAYS_enlarged_grows, alive, &fields);
	}
	else
		plh_sentences_say(said, has_stopped(finding) ? PLH_SAYS_left_until : PLH_SAYS_left,
						  alive, &fields);
}

void
plh_site_evidence_say_unwritten(PlhSaid *said,
								const PlhFinding *finding, const PlhProfileImage *image)
{
	switch (plh_account_unwritten_of(finding->bytes, image->header))
	{
		case PLH_UNWRITTEN_MOST:
			PLH_SAY(said, image->alive, most_unwritten);
			break;
		case PLH_UNWRITTEN_PART:
			PLH_SAY(said, image->alive, part_unwritten);
			break;
		case PLH_UNWRITTEN_LITTLE:
			break;
	}
}

/*
 * What was gained in each second, of one transaction, or of a process without any.  Seconds in
 * which nothing was sampled count as others do.
 */
static void
say_rate_of_time(PlhSaid *said, const PlhFinding *finding, bool alive)
{
	const PlhSitesFound *sites = &finding->sites;
	double		seconds = ((double) sites->last_at - (double) sites->early_at) / USECS_PER_SEC;

	if (sites->early_at != 0 && seconds >= 1.0)
		PLH_SAY(said, alive, rates_by_second,
				.rate = plh_words_size((int64) (finding->late_bytes / seconds)),
				.span = plh_words_span(sites->early_at, sites->last_at));
}

/* What was gained in each epoch: of a long transaction, each second is one. */
static void
say_rates(PlhSaid *said, const PlhFinding *finding)
{
	const PlhSitesFound *sites = &finding->sites;

	PLH_SAY(said, true, rates,.count = sites->late_epochs,
			.late = plh_words_size(finding->late_bytes / Max(sites->late_epochs, 1)),
			.early = plh_words_size(sites->early_bytes / Max(sites->early_epochs, 1)),
			.early_count = sites->early_epochs);
	if (sites->epochs > sites->transactions)
		PLH_SAY(said, true, rates_seconds);
	if (sites->age_epochs > sites->epochs)
		PLH_SAY(said, true, rates_all);
}

/* What the chunks of sites take, where that is much more than what was asked for. */
static void
say_rounding(PlhSaid *said, const PlhFinding *finding, bool alive)
{
	const PlhSitesFound *sites = &finding->sites;
	double		part = sites->total_bytes <= 0 ? 0 :
		(double) sites->spare_bytes / (double) sites->total_bytes;
	int64		spare = (int64) (finding->bytes * Max(part, 0.0));

	if (plh_site_facts_is_rounded(finding->bytes, spare))
		PLH_SAY(said, alive, rounding,.total = plh_words_size(finding->bytes + spare));
}

void
plh_site_evidence_say_lost(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	PLH_SAY(said, image->alive, left_lost,.count = Max(finding->sites.statements, 1),
			.total = plh_words_estimate(finding->sites.left_bytes, finding->sites.left_error));
	plh_proven_evidence_say(said, finding, image->alive);
	plh_site_evidence_say_unwritten(said, finding, image);
}

/* How fast it grew. */
static void
say_speed(PlhSaid *said, const PlhFinding *finding, bool alive)
{
	if (finding->sites.transactions <= 1)
		say_rate_of_time(said, finding, alive);
	else
		say_rates(said, finding);
}

void
plh_site_evidence_say_leak(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	say_left(said, finding, image->alive);
	plh_proven_evidence_say(said, finding, image->alive);
	say_rounding(said, finding, image->alive);
	plh_site_evidence_say_unwritten(said, finding, image);
	say_speed(said, finding, image->alive);
}

/* What a few transactions have left, or the one that runs. */
static void
say_left_by(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	const PlhFields fields = {
		.bytes = plh_words_estimate(finding->bytes, finding->error_bytes),
		.total = plh_words_size(finding->sites.total_bytes),
		.count = finding->sites.transactions,
		.statements = finding->sites.statements,
		.noun = plh_process_kind_noun(image)
	};

	if (!finding->sites.is_over)
		plh_sentences_say(said, PLH_SAYS_held_running, image->alive, &fields);
	else
		plh_sentences_say(said, finding->sites.statements > 1 ? PLH_SAYS_held_by_statements :
						  PLH_SAYS_held, image->alive, &fields);
}

void
plh_site_evidence_say_reached(PlhSaid *said, const PlhFinding *finding,
							  const PlhProfileImage *image)
{
	if (finding->sites.transactions < PLH_SUSPECT_HELD_TRANSACTIONS)
		say_left_by(said, finding, image);
	else
		say_left(said, finding, image->alive);
	plh_proven_evidence_say(said, finding, image->alive);
	say_rounding(said, finding, image->alive);
	plh_site_evidence_say_unwritten(said, finding, image);
	if (finding->sites.early_epochs > 0 && finding->late_bytes > 0)
		say_speed(said, finding, image->alive);
	PLH_SAY(said, image->alive, reached_may_end,
			.limit = plh_words_size(PLH_SUSPECT_REACHED_BYTES));
}

void
plh_site_evidence_say_growth(PlhSaid *said, const PlhFinding *finding, bool alive)
{
	PLH_SAY(said, alive, grown,.bytes = plh_words_estimate(finding->bytes, finding->error_bytes),
			.growth = plh_words_size(finding->growth_bytes));
	plh_proven_evidence_say(said, finding, alive);
	say_rounding(said, finding, alive);
	if (finding->sites.statements > 1)
		PLH_SAY(said, alive, grown_by_statements,.count = finding->sites.statements);
	else if (finding->sites.sites > 1)
		PLH_SAY(said, alive, grown_by_lines,.count = finding->sites.sites);
	else
		PLH_SAY(said, alive, grown_lately);
}

void
plh_site_evidence_say_held(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image)
{
	say_left_by(said, finding, image);
	plh_proven_evidence_say(said, finding, image->alive);
	say_rounding(said, finding, image->alive);
	if (finding->sites.is_over && image->alive)
		PLH_SAY(said, true, held_stays,.noun = plh_process_kind_noun(image));
	plh_site_evidence_say_unwritten(said, finding, image);
}

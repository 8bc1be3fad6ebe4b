/*
 * proven_evidence.c
 *	  What a proof says of memory: what of it nothing points to, and who holds the rest.
 *
 * A proof is of its moment: a sentence on an older one begins with that.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "judge/process_kind.h"
#include "reader/database_text.h"
#include "report/words.h"
#include "telling/proven_evidence.h"

/* A proof of so long ago is current. */
#define MOMENT_US USECS_PER_SEC

/* As good as all of it, and next to nothing. */
#define ALL_PART 0.99
#define LITTLE_PART 0.01

/* What came later than the proof is told from this part on. */
#define LATER_PART 0.1

/* What is told of, and how. */
typedef struct Telling
{
	PlhSaid    *said;
	const PlhProven *proven;
	const char *holder;			/* NULL: not known */
	const char *path;			/* the same */
	int64		all_bytes;		/* that the finding is about, lost or not */
	bool		alive;
	bool		is_now;
} Telling;

const PlhProven *
plh_proven_evidence_of(const PlhFinding *finding)
{
	const PlhProven *proven = NULL;

	if (plh_finding_subject(finding) == PLH_SUBJECT_SITE)
		proven = &finding->sites.proven;
	else if (finding->kind == PLH_KIND_MALLOC_GROWS || finding->kind == PLH_KIND_MALLOC_REACHED)
		proven = &finding->process.proven;
	return proven == NULL || proven->at == 0 ? NULL : proven;
}

const char *
plh_proven_evidence_holder(const PlhFinding *finding)
{
	const PlhProven *proven = plh_proven_evidence_of(finding);

	return proven == NULL || proven->holder == NULL || proven->held_bytes == 0 ? NULL :
		plh_database_text_fit(proven->holder);
}

const char *
plh_proven_evidence_path(const PlhFinding *finding)
{
	return plh_proven_evidence_holder(finding) == NULL ||
		plh_proven_evidence_of(finding)->path == NULL ? NULL :
		plh_database_text_fit(plh_proven_evidence_of(finding)->path);
}

static bool
is_current(TimestampTz proven_at, const PlhFinding *finding)
{
	return finding->counted_at - proven_at <= MOMENT_US;
}

static bool
is_all(const Telling *telling, int64 bytes)
{
	return bytes >= ALL_PART * telling->all_bytes;
}

static bool
is_little(const Telling *telling, int64 bytes)
{
	return bytes <= LITTLE_PART * telling->all_bytes;
}

/* The beginning of a sentence on what is lost, with the moment where that is another one. */
static const char *
nothing_points(bool is_now, TimestampTz at, bool alive)
{
	return is_now ? PLH_PHRASE(alive, nothing_points) :
		PLH_PHRASE(alive, nothing_pointed,.since = plh_words_time(at));
}

static const char *
nothing_of_it(const Telling *telling)
{
	return nothing_points(telling->is_now, telling->proven->at, telling->alive);
}

static void
say_lost(const Telling *telling)
{
	const PlhProven *proven = telling->proven;
	int64		bytes = plh_proven_lost_for_good(proven);
	double		error = plh_sampling_error_bytes(proven->lost_variance, proven->lost_bytes,
												 proven->lost_samples);
	const PlhFields fields = {
		.what = nothing_of_it(telling),
		.bytes = plh_words_estimate(bytes, (int64) Min(error, (double) bytes))
	};

	if (!is_little(telling, bytes))
		plh_sentences_say(telling->said, is_all(telling, bytes) ? PLH_SAYS_lost_all :
						  PLH_SAYS_lost_part, telling->alive, &fields);
}

/* What is lost, but is freed with its context. */
static void
say_loose(const Telling *telling)
{
	int64		bytes = telling->proven->resettable_bytes;
	const PlhFields fields = {
		.what = nothing_of_it(telling),.bytes = plh_words_size(bytes)
	};
	PlhSentence sentence = PLH_SAYS_loose_part;

	if (is_little(telling, bytes))
		return;
	if (is_all(telling, bytes))
		sentence = PLH_SAYS_loose_all;
	else if (!is_little(telling, plh_proven_lost_for_good(telling->proven)))
		sentence = PLH_SAYS_loose_more;
	plh_sentences_say(telling->said, sentence, telling->alive, &fields);
}

/* Who holds what can be reached, as a part of a sentence. */
static const char *
holder_words(const Telling *telling)
{
	const PlhProven *proven = telling->proven;

	if (telling->holder == NULL)
		return PLH_PHRASE(true, holder_unnamed);
	return proven->holder_bytes >= ALL_PART * proven->held_bytes ? telling->holder :
		PLH_PHRASE(true, holder_of_most,.most = plh_words_size(proven->holder_bytes),
				   .name = telling->holder);
}

static void
say_reached(const Telling *telling)
{
	const PlhProven *proven = telling->proven;
	const PlhFields fields = {
		.since = plh_words_time(proven->at),.bytes = plh_words_size(proven->held_bytes),
		.who = holder_words(telling)
	};

	if (is_little(telling, proven->held_bytes))
		return;
	if (is_all(telling, proven->held_bytes))
		plh_sentences_say(telling->said, telling->is_now ? PLH_SAYS_reached_all :
						  PLH_SAYS_reached_all_then, telling->alive, &fields);
	else
		plh_sentences_say(telling->said, telling->is_now ? PLH_SAYS_reached_part :
						  PLH_SAYS_reached_part_then, telling->alive, &fields);
	if (telling->path != NULL)
		PLH_SAY(telling->said, telling->alive, reached_by,.list = telling->path);
}

static void
say_unproven(const Telling *telling)
{
	int64		bytes = telling->all_bytes - telling->proven->lost_bytes -
		telling->proven->held_bytes;

	if (!telling->is_now && bytes > LATER_PART * telling->all_bytes)
		PLH_SAY(telling->said, telling->alive, unproven,.bytes = plh_words_size(bytes));
}

void
plh_proven_evidence_say(PlhSaid *said, const PlhFinding *finding, bool alive)
{
	const PlhProven *proven = plh_proven_evidence_of(finding);
	const Telling telling = {
		.said = said,.proven = proven,.alive = alive,
		.holder = plh_proven_evidence_holder(finding),.path = plh_proven_evidence_path(finding),
		.all_bytes = plh_finding_subject(finding) == PLH_SUBJECT_SITE ?
		finding->sites.left_bytes : finding->bytes,
		.is_now = proven != NULL && is_current(proven->at, finding)
	};

	if (proven == NULL)
		return;
	say_lost(&telling);
	say_loose(&telling);
	say_reached(&telling);
	say_unproven(&telling);
}

bool
plh_proven_evidence_say_contexts(PlhSaid *said, const PlhFinding *finding,
								 const PlhProfileImage *image)
{
	const PlhFamilyAccount *family = finding->contexts.family;
	PlhProvenContexts proven = plh_proven_contexts(image, family->largest_name);
	const PlhFields fields = {
		.what = nothing_points(is_current(proven.at, finding), proven.at, image->alive),
		.count = proven.lost,.noun = plh_process_kind_noun(image)
	};

	if (proven.lost > LITTLE_PART * family->contexts)
		plh_sentences_say(said, PLH_SAYS_lost_contexts, image->alive, &fields);
	return proven.lost >= ALL_PART * family->contexts;
}

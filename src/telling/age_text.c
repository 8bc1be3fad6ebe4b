/*
 * age_text.c
 *	  How old is what a call site holds, in a sentence.
 *
 * A cache was filled once, and rests: nearly all is old.  In a queue, or in a statement's working
 * memory, nearly all is young, and nothing is left of what was allocated before.  Of a leak as much
 * is left of each time's allocations as of the next.
 */
#include "postgres.h"

#include "profile/site_facts.h"
#include "report/words.h"
#include "telling/age_text.h"

/* By fewer samples, ages are left to chance; and so is what is left of a span. */
#define LEAST_SAMPLES 16
#define SPAN_SAMPLES 4

/* So much is nearly all, and so little of what was allocated is nothing. */
#define NEARLY_ALL 0.9
#define NEARLY_NOTHING 0.1

/* A leak has this many spans at least, of each of which much the same part is left. */
#define STEPS 3
#define EVEN_PART 0.7

/* What the sentence is made of. */
typedef struct Ages
{
	PlhSiteAge	spans[PLH_SPANS];
	int			count;
	TimestampTz now;
	int64		live_bytes;
	double		sample_bytes;	/* that a live sample stands for */
	bool		alive;
} Ages;

/* A part as a percentage that does not say "all" of what is not all. */
static const char *
percent(double part)
{
	if (part > 0.0 && part < 0.01)
		return PLH_PHRASE(true, age_little);
	return PLH_PHRASE(true, age_percent,
					  .count = part < 1.0 ? Min(99, (int) (100.0 * part + 0.5)) : 100);
}

/* The same at the beginning of a sentence. */
static const char *
part_text(double part)
{
	return part < 1.0 ? percent(part) : PLH_PHRASE(true, age_all);
}

/* The live bytes of the spans from the oldest up to that number, inclusive. */
static int64
live_up_to(const Ages *ages, int number)
{
	int64		sum = 0;

	for (int i = 0; i <= number; i++)
		sum += ages->spans[i].live_bytes;
	return sum;
}

/* The first span by whose end the site had allocated that part of what it holds. */
static int
span_with(const Ages *ages, double part)
{
	int			number = 0;

	while (number < ages->count - 1 && live_up_to(ages, number) < part * ages->live_bytes)
		number++;
	return number;
}

/* Is nearly all in the older half of the time since the site allocated first? */
static bool
say_old(PlhSaid *said, const Ages *ages)
{
	int			number = span_with(ages, NEARLY_ALL);
	TimestampTz end = ages->spans[number].until;

	if (ages->now - end < end - ages->spans[0].from || ages->now - end < USECS_PER_SEC)
		return false;
	PLH_SAY(said, ages->alive, age_old,
			.percent = part_text((double) live_up_to(ages, number) / ages->live_bytes),
			.age = plh_words_duration(end, ages->now));
	return true;
}

/* Is nearly all in the last span or two, and little left of as much before? */
static bool
say_young(PlhSaid *said, const Ages *ages)
{
	int			number = ages->count - 1;
	int64		total = 0;
	int64		old;

	if (number > 0 && live_up_to(ages, number - 1) > NEARLY_NOTHING * ages->live_bytes)
		number--;
	old = number > 0 ? live_up_to(ages, number - 1) : 0;
	for (int i = 0; i < number; i++)
		total += ages->spans[i].total_bytes;
	if (old > NEARLY_NOTHING * ages->live_bytes || total < ages->live_bytes ||
		old > NEARLY_NOTHING * total)
		return false;
	PLH_SAY(said, ages->alive, age_young,
			.percent = part_text((double) (ages->live_bytes - old) / ages->live_bytes),
			.age = plh_words_duration(ages->spans[number].from, ages->now),
			.total = plh_words_size(total),
			.bytes = old == 0 ? PLH_PHRASE(true, age_nothing) : plh_words_size(old));
	return true;
}

static bool
is_all_left(const Ages *ages)
{
	for (int i = 0; i < ages->count; i++)
		if (ages->spans[i].live_bytes < ages->spans[i].total_bytes)
			return false;
	return true;
}

/*
 * What is left of each span, where that is as much of one as of another.  The last span does not
 * count: of that, something may be about to be freed.
 */
static void
say_even(PlhSaid *said, const Ages *ages)
{
	double		least = 1.0;
	double		most = 0.0;
	const PlhSiteAge *first = &ages->spans[0];
	PlhFields	fields = {0};

	if (ages->count <= STEPS)
		return;
	for (int i = 0; i < ages->count - 1; i++)
	{
		const PlhSiteAge *span = &ages->spans[i];
		double		survival = (double) span->live_bytes / span->total_bytes;

		if (span->total_bytes < SPAN_SAMPLES * ages->sample_bytes)
			return;
		least = Min(least, survival);
		most = Max(most, survival);
	}
	if (least < EVEN_PART * most || most < NEARLY_NOTHING)
		return;
	fields.since = plh_words_time(first->from);
	fields.span = plh_words_duration(first->from, first->until);
	fields.percent = percent(most);
	fields.most = percent(least);
	plh_sentences_say(said, is_all_left(ages) ? PLH_SAYS_age_none_freed :
					  most - least < 0.01 ? PLH_SAYS_age_even : PLH_SAYS_age_between,
					  ages->alive, &fields);
}

/* How old half of it is, and what is left of each time's allocations. */
static void
say_half(PlhSaid *said, const Ages *ages)
{
	TimestampTz end = ages->spans[span_with(ages, 0.5)].until;

	if (ages->now - end < USECS_PER_SEC)
		return;
	PLH_SAY(said, ages->alive, age_half,.age = plh_words_duration(end, ages->now));
	say_even(said, ages);
}

void
plh_age_text_say(PlhSaid *said, const PlhFinding *finding, const PlhProfileImage *image,
				 TimestampTz now)
{
	Ages		ages = {.now = now,.alive = image->alive};
	const PlhCounters *counters;

	if (plh_finding_subject(finding) != PLH_SUBJECT_SITE || finding->sites.sites > 1)
		return;
	counters = &finding->site->counters;
	if (counters->live_samples < LEAST_SAMPLES || counters->live_bytes <= 0)
		return;
	ages.count = plh_site_facts_ages(ages.spans, image, finding->site, now);
	ages.live_bytes = counters->live_bytes;
	ages.sample_bytes = (double) counters->live_bytes / counters->live_samples;
	if (ages.count > 0 && !say_old(said, &ages) && !say_young(said, &ages))
		say_half(said, &ages);
}

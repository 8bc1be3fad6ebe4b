/*
 * test_age_texts.c
 *	  How old is what a call site holds, in words.
 */
#include "postgres.h"

#include "report/words.h"
#include "suspect_facts.h"
#include "unit_tests.h"
#include "telling/age_text.h"

#define BEGAN (1000 * TICK_US)
#define TICK_US (INT64CONST(1) << PLH_TICK_BITS)

/* The server's own words for times need the server. */
char *
plh_words_duration(TimestampTz from, TimestampTz to)
{
	return psprintf(INT64_FORMAT " ticks", (to - from) / TICK_US);
}

static struct
{
	PlhProfileHeader header;
	PlhSpansRecord spans;
}			profile = {
	.header = {.first_tick_at = SOME_TIME},
	.spans = {
		.record = {PLH_RECORD_SPANS, sizeof(PlhSpansRecord)},
		.births = {.first_tick = 1000,.shift = 2}
	}
};
static PlhProfileImage image = {&profile.header, sizeof(profile),.alive = true};

/*
 * What is said of a site with these bytes in its spans, of 4 ticks each, when the last
 * of them is over.
 */
static const char *
said_of(const PlhSpan *spans, int count)
{
	PlhSiteRecord site = {.spans = (char *) &profile.spans - (char *) &profile};
	const PlhFinding finding = {.kind = PLH_KIND_SITE_LEAKS,.site = &site,.sites = {.sites = 1}};
	PlhSaid		said;

	memset(profile.spans.spans, 0, sizeof(profile.spans.spans));
	memcpy(profile.spans.spans, spans, sizeof(PlhSpan) * count);
	for (int i = 0; i < count; i++)
	{
		site.counters.live_bytes += spans[i].live_bytes;
		site.born_bytes += spans[i].total_bytes;
	}
	site.counters.live_samples = site.counters.live_bytes / MB;
	plh_sentences_begin(&said);
	plh_age_text_say(&said, &finding, &image, SOME_TIME + BEGAN + 4 * count * TICK_US);
	return said.text.data;
}

/* The same for so many spans, of which what is live and the total follow, in MB. */
static const char *
said_of_spans(int count,...)
{
	PlhSpan		spans[PLH_SPANS] = {0};
	va_list		megabytes;

	va_start(megabytes, count);
	for (int i = 0; i < count; i++)
	{
		spans[i].live_bytes = va_arg(megabytes, int) * MB;
		spans[i].total_bytes = va_arg(megabytes, int) * MB;
	}
	va_end(megabytes);
	return said_of(spans, count);
}

/* Is that what is said?  Else it is shown. */
static bool
is_said(const char *said, const char *expected)
{
	if (strcmp(said, expected) == 0)
		return true;
	printf("# it says: %s\n", said);
	return false;
}

void
test_age_texts(void)
{
	ok(is_said(said_of_spans(5, 98, 100, 97, 100, 98, 100, 96, 100, 60, 60),
			   "Half of what this call site holds is older than 8 ticks. Of what it allocated since second 1048, 96% to 98% is left, in steps of 4 ticks."),
	   "of a leak, as much is left of each time's allocations");
	ok(is_said(said_of_spans(4, 20, 100, 20, 100, 20, 100, 20, 100),
			   "Half of what this call site holds is older than 8 ticks. Of what it allocated since second 1048, 20% is left, in steps of 4 ticks."),
	   "of a leak that keeps a part, that part is left");
	ok(is_said(said_of_spans(4, 100, 100, 100, 100, 100, 100, 50, 50),
			   "Half of what this call site holds is older than 8 ticks. Nothing that it allocated since second 1048 has been freed."),
	   "of a leak of all, nothing has been freed");
	ok(is_said(said_of_spans(6, 95, 100, 1, 3, 0, 0, 0, 0, 0, 0, 2, 3),
			   "97% of what this call site holds is older than 20 ticks."),
	   "a cache that was filled is old");
	ok(is_said(said_of_spans(6, 996, 1000, 1, 3, 0, 0, 0, 0, 0, 0, 3, 3),
			   "99% of what this call site holds is older than 20 ticks."),
	   "what is not all is not called 100%");
	ok(is_said(said_of_spans(4, 0, 100, 0, 100, 1, 100, 30, 100),
			   "97% of what this call site holds was allocated in the last 4 ticks; of the 300000000 B allocated there before, 1000000 B is left."),
	   "a queue is young");
	ok(is_said(said_of_spans(4, 0, 100, 0, 100, 30, 100, 30, 100),
			   "All of what this call site holds was allocated in the last 8 ticks; of the 200000000 B allocated there before, nothing is left."),
	   "a queue reaches into the span before");
	ok(is_said(said_of_spans(4, 40, 100, 5, 100, 15, 100, 30, 100),
			   "Half of what this call site holds is older than 8 ticks."),
	   "what is neither has an age");
	image.alive = false;
	ok(is_said(said_of_spans(6, 95, 100, 1, 3, 0, 0, 0, 0, 0, 0, 2, 3),
			   "97% of what this call site held was older than 20 ticks."),
	   "of a process that is gone, ages are in the past");
	ok(is_said(said_of_spans(3, 0, 100, 0, 100, 30, 100),
			   "All of what this call site held was allocated in the last 4 ticks of its process; of the 200000000 B allocated there before, nothing was left."),
	   "the last time of a process that is gone is its own");
	image.alive = true;
	ok(is_said(said_of_spans(1, 100, 100), ""), "a single span says nothing");
	ok(is_said(said_of_spans(2, 5, 5, 5, 5), ""), "few samples say nothing");
}

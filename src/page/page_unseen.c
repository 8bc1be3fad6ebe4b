/*
 * page_unseen.c
 *	  What was not seen of a process, in sentences.
 *
 * Whoever sees a picture takes it for the whole: so what is not in it stands above.
 */
#include "postgres.h"

#include "base/plural.h"
#include "base/settings.h"
#include "report/json.h"
#include "page/page_unseen.h"
#include "report/words.h"

/* Less than this is not worth a sentence. */
#define WORTH_BYTES (1024 * 1024)

/* What call sites do not have, as it was not sampled. */
static void
append_unsampled(StringInfo json, const PlhProfileHeader *header, const PlhAccount *account)
{
	if (header->sample_interval == 0)
		plh_json_text(json, "Nothing is being sampled now: call sites show what was allocated before.");
	if (header->scope == PLH_SCOPE_LONG_LIVED)
		plh_json_text(json, "Only samples in contexts that last as long as the session were kept.");
	if (header->unsampled_bytes >= WORTH_BYTES)
		plh_json_text(json, psprintf("%s was allocated in memory contexts before sampling began, freed memory included. No call site has it.",
									 plh_words_size(header->unsampled_bytes)));
	if (!header->malloc_tracked && account->knows_malloc && account->outside_bytes >= WORTH_BYTES)
		plh_json_text(json, psprintf("%s was allocated with malloc outside of memory contexts. It is counted, but no call site has it, as pg_leakhunt_malloc.so was not preloaded.",
									 plh_words_size(account->outside_bytes)));
	if (account->other_bytes >= WORTH_BYTES)
		plh_json_text(json, psprintf("%s is neither in memory contexts nor malloc's, such as mapped memory and the data of libraries.",
									 plh_words_size(account->other_bytes)));
}

/* What was sampled, and could not be kept. */
static void
append_lost(StringInfo json, const PlhProfileHeader *header)
{
	int64		lost = plh_profile_image_lost_samples(header);

	if (lost > 0)
		plh_json_text(json, psprintf(INT64_FORMAT " %s not kept at a call site: max_live_samples, max_profile_size, memory or disk was used up, or they were taken in a critical section.",
									 lost, plh_plural(lost, "sample was", "samples were")));
	if (!plh_profile_image_is_whole(header))
		plh_json_text(json, "A part of the profile is missing, as its file system was full.");
	if (header->courses_refused != 0)
		plh_json_text(json, "The course of some parts is missing, as the profile was full.");
}

void
plh_page_unseen_append(StringInfo json, const PlhProfileImage *image, const PlhAccount *account)
{
	plh_json_open(json, '[');
	append_unsampled(json, image->header, account);
	append_lost(json, image->header);
	if (!account->is_counted)
		plh_json_text(json, "The process has not counted its memory contexts yet.");
	plh_json_close(json, ']');
}

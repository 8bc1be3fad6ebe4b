/*
 * doubt_unseen.c
 *	  Where samples do not stand for what was counted: most was allocated unseen, or its frees were.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "judge/process_suspect.h"
#include "judge/suspect.h"
#include "report/words.h"
#include "telling/doubt_unseen.h"
#include "telling/moment.h"

/*
 * Of what memory contexts use, samples stand for less than this part: then most of it was allocated
 * unseen.  Contexts round up to twice the size at most.
 */
#define SEEN_PART 0.25

/* What the memory is that no sample stands for. */
static void
say_why_unseen(PlhDoubt *doubt, const PlhProfileImage *image, int64 used)
{
	const PlhProfileHeader *header = image->header;

	if (header->unsampled_bytes >= used / 4)
		PLH_SAY(&doubt->words, true, unseen_before,
				.bytes = plh_words_size(header->unsampled_bytes));
	else if (header->context_free_bytes < 0)
		PLH_SAY(&doubt->words, image->alive, unseen_free,.count = header->context_count);
	else
		PLH_SAY(&doubt->words, true, unseen_pause);
}

bool
plh_doubt_unseen_find_frees(PlhDoubt *doubt, const PlhProfileHeader *header)
{
	if (!plh_process_suspect_misses_frees(header))
		return false;
	PLH_SAY(&doubt->words, true, missed_frees,
			.bytes = plh_words_estimate(header->malloc_sampled_bytes, header->malloc_sampled_error),
			.other = plh_words_size(Max(0, header->malloc_bytes - header->context_bytes)));
	return true;
}

/* The interval at which most of what contexts have was sampled. */
static uint32
interval_of(const PlhProfileHeader *header)
{
	return header->passing_bytes > header->context_bytes / 2 ?
		plh_sampling_coarse_interval(header->sample_interval, 0) : header->sample_interval;
}

/* What samples of memory contexts stand for, which are all but those of malloc. */
static double
sampled_in_contexts(const PlhProfileHeader *header, double *error)
{
	const PlhCounters *all = &header->counters;
	const PlhCounters *of_malloc = &header->malloc_counters;
	double		bytes = Max(0.0, (double) all->live_bytes - (double) of_malloc->live_bytes);
	double		samples = (double) all->live_samples - (double) of_malloc->live_samples;

	*error = samples > 0 ?
		plh_sampling_error_bytes(Max(0.0, all->live_variance - of_malloc->live_variance),
								 bytes, (int64) samples) :
		plh_sampling_missed_bytes(interval_of(header));
	return bytes;
}

bool
plh_doubt_unseen_find(PlhDoubt *doubt, const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;
	double		error;
	double		sampled = sampled_in_contexts(header, &error);
	int64		used = header->context_bytes - Max(0, header->context_free_bytes);
	PlhFields	fields = {NULL};

	if (header->census_at == 0 || used < PLH_SUSPECT_LARGE_BYTES ||
		(process->image->alive && !plh_moment_is_now(process)) ||
		sampled + error >= SEEN_PART * used)
		return false;
	fields.bytes = plh_words_estimate((int64) sampled, (int64) error);
	fields.total = plh_words_size(used);
	plh_sentences_say(&doubt->words, header->context_free_bytes < 0 ? PLH_SAYS_unseen_of_all :
					  PLH_SAYS_unseen_of_used, process->image->alive, &fields);
	say_why_unseen(doubt, process->image, used);
	if (process->image->alive)
		PLH_SAY(&doubt->next, true, take_baseline,.pid = process->pid);
	return true;
}

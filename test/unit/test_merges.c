/*
 * test_merges.c
 *	  Profiles of several processes that become one: each of its sites has the
 *	  sums of the same sites of all, and no other.
 */
#include "postgres.h"

#include <math.h>

#include "utils/timestamp.h"

#include "backend.h"
#include "base/sampling.h"
#include "profile/statement_shape.h"
#include "reader/profile_merge.h"
#include "reader_tests.h"
#include "report/listed_site.h"
#include "sound_profile.h"
#include "symbols/symbols.h"

#define SEED 34
#define IMAGES 3

/* Images whose sites are merged, and the lists of each alone. */
typedef struct Merging
{
	PlhProfileHeader *headers[IMAGES];
	PlhProfileImage images[IMAGES];
	PlhBaseline *baselines[IMAGES];
	PlhSiteList *lists[IMAGES];
	bool		with_queries;
	bool		apart;			/* by the types of their processes */
	const PlhMergedProfiles *merged;
} Merging;

/* Profiles that have much in common: the first two have the same sites. */
static void
begin_merging(Merging *merging, int round)
{
	PlhProfileMerge *merge;

	merging->with_queries = round % 2 == 0;
	merging->apart = round % 3 == 0;
	merge = plh_profile_merge_begin(merging->with_queries,
									merging->apart ? PLH_OWNER_BACKEND_TYPE : 0);
	for (int i = 0; i < IMAGES; i++)
	{
		PlhProfileImage *image = &merging->images[i];

		merging->headers[i] = make_profile(1 + round % 40,
										   SEED + round + i / 2);
		merging->headers[i]->pid += i;
		merging->headers[i]->sample_interval >>= i;
		if (i == 2)
			strcpy(merging->headers[i]->label, "another type");
		plh_profile_image_adopt(image, merging->headers[i],
								merging->headers[i]->used_bytes);
		image->alive = i != 1;
		merging->baselines[i] = half_of_profile(image);
		merging->lists[i] = list_sites(image, merging->baselines[i]);
		plh_profile_merge_add(merge, image, merging->baselines[i]);
	}
	merging->merged = plh_profile_merge_end(merge);
}

static void
end_merging(Merging *merging)
{
	for (int i = 0; i < IMAGES; i++)
		free(merging->headers[i]);
	forget_memory();
}

static bool
is_same_text(const char *left, const char *right)
{
	return left == right ||
		(left != NULL && right != NULL && strcmp(left, right) == 0);
}

/* Are these one statement but for its literals? */
static bool
is_same_query(const char *left, const char *right)
{
	if (left == NULL || right == NULL)
		return left == right;
	return plh_statement_shape_compare(left, strlen(left),
									   right, strlen(right)) == 0;
}

/* Should a site of an image be merged into that one? */
static bool
is_same_site(const PlhListedSite *left, const PlhListedSite *right,
			 const Merging *merging)
{
	bool		with_queries = merging->with_queries;

	if (merging->apart && !is_same_text(left->owner->backend_type,
										right->owner->backend_type))
		return false;
	return left->has_stack == right->has_stack &&
		left->stack.stack_id == right->stack.stack_id &&
		left->stack.frame_count == right->stack.frame_count &&
		is_same_text(left->stack.site, right->stack.site) &&
		left->query_id == right->query_id &&
		(!with_queries || left->query_id != 0 ||
		 is_same_query(left->query, right->query)) &&
		is_same_text(left->context_name, right->context_name) &&
		is_same_text(left->lifetime, right->lifetime);
}

/* Add what a site holds to a sum. */
static void
add_to_sum(PlhListedSite *sum, PlhCounters *counters,
		   const PlhListedSite *listed)
{
	const PlhCounters *added = listed->facts.counters;

	sum->bytes += listed->bytes;
	sum->count += listed->count;
	sum->old_bytes += listed->old_bytes;
	sum->old_count += listed->old_count;
	sum->facts.peak_bytes += listed->facts.peak_bytes;
	counters->total_bytes += added->total_bytes;
	counters->total_count += added->total_count;
	counters->live_samples += added->live_samples;
	counters->live_variance += added->live_variance;
}

/* Does a merged site have the sums, the owners and the error of those it is of? */
static const char *
check_site(const Merging *merging, const PlhListedSite *listed, int *members)
{
	const PlhCounters *counters = listed->facts.counters;
	PlhListedSite sum = {0};
	PlhCounters sums = {0};
	const char *broken = NULL;

	for (int i = 0; i < IMAGES; i++)
	{
		for (int j = 0; j < merging->lists[i]->count; j++)
		{
			const PlhListedSite *single = &merging->lists[i]->sites[j];

			if (!is_same_site(listed, single, merging))
				continue;
			(*members)++;
			add_to_sum(&sum, &sums, single);
		}
	}
	REQUIRE(broken, listed->bytes == sum.bytes && listed->count == sum.count);
	REQUIRE(broken, listed->old_bytes == sum.old_bytes &&
			listed->old_count == sum.old_count);
	REQUIRE(broken, listed->facts.peak_bytes == sum.facts.peak_bytes);
	REQUIRE(broken, counters->total_bytes == sums.total_bytes &&
			counters->total_count == sums.total_count);
	REQUIRE(broken, counters->live_samples == sums.live_samples);
	REQUIRE(broken, fabs(counters->live_variance - sums.live_variance) <=
			1e-9 * sums.live_variance);
	REQUIRE(broken, listed->facts.error_bytes ==
			(int64) plh_sampling_error_bytes(counters->live_variance,
											 sum.bytes, sums.live_samples));
	REQUIRE(broken, listed->owner->pid == 0);
	REQUIRE(broken, (listed->owner->backend_type != NULL) == merging->apart);
	return broken;
}

static const char *
check_merged(const Merging *merging)
{
	const PlhMergedProfiles *merged = merging->merged;
	PlhSiteList *list = plh_site_list_make_merged(plh_symbols_open(), merged,
												  true, GetCurrentTimestamp());
	int			members = 0;
	const char *broken = NULL;

	REQUIRE(broken, merged->process_count == IMAGES);
	REQUIRE(broken, merged->crashed_count == 1);
	REQUIRE(broken, merged->least_interval == 1024 &&
			merged->most_interval == 4096);
	for (int i = 0; i < list->count; i++)
	{
		const char *site = check_site(merging, &list->sites[i], &members);

		broken = broken != NULL ? broken : site;
	}
	for (int i = 0; i < IMAGES; i++)
		members -= merging->lists[i]->count;

	/* each site was counted once */
	REQUIRE(broken, members == 0);
	return broken;
}

/* The title and the sampling of all, in words. */
static const char *
check_words(const Merging *merging)
{
	PlhSiteList *list = plh_site_list_make_merged(plh_symbols_open(),
												  merging->merged, false,
												  GetCurrentTimestamp());
	const char *broken = NULL;

	REQUIRE(broken, strcmp(plh_site_list_title(list),
						   "3 processes (1 crashed)") == 0);
	REQUIRE(broken, strcmp(plh_site_list_interval(list),
						   "one sample in 1024 bytes to 4096 bytes") == 0);
	REQUIRE(broken, strcmp(plh_site_list_scope(list), "all contexts") == 0);
	plh_site_list_take_peak(list);
	REQUIRE(broken, list->count == 0 ||
			list->sites[0].bytes == list->sites[0].facts.peak_bytes);
	return broken;
}

/* A merge of nothing has nothing. */
static bool
is_empty_merge(void)
{
	const PlhMergedProfiles *merged =
		plh_profile_merge_end(plh_profile_merge_begin(true, PLH_OWNER_ALL));

	return merged->process_count == 0 &&
		merged->image->header->site_count == 0 &&
		list_sites(merged->image, merged->baseline)->count == 0;
}

/* How many records of a kind are in an image? */
static int
count_records(const PlhProfileImage *image, PlhRecordKind kind)
{
	uint32		position = 0;
	int			count = 0;

	while (plh_profile_image_next(image, kind, &position) != NULL)
		count++;
	return count;
}

/* Two profiles of the same sites, and their merge. */
typedef struct Pair
{
	PlhProfileHeader *headers[2];
	PlhProfileImage images[2];
	const PlhProfileImage *merged;
} Pair;

static void
make_pair(Pair *pair)
{
	for (int i = 0; i < 2; i++)
	{
		pair->headers[i] = make_profile(10, SEED);
		plh_profile_image_adopt(&pair->images[i], pair->headers[i],
								pair->headers[i]->used_bytes);
	}
}

static void
merge_pair(Pair *pair)
{
	PlhProfileMerge *merge = plh_profile_merge_begin(true, 0);

	for (int i = 0; i < 2; i++)
		plh_profile_merge_add(merge, &pair->images[i], NULL);
	pair->merged = plh_profile_merge_end(merge)->image;
}

static void
free_pair(Pair *pair)
{
	free(pair->headers[0]);
	free(pair->headers[1]);
}

/* The first module of an image, to be changed. */
static PlhModuleRecord *
first_module(const PlhProfileImage *image)
{
	return unconstify(PlhModuleRecord *, plh_profile_image_module(image, 1));
}

/* Binaries are the same by their build-ids, and without any by their paths. */
static void
test_modules(void)
{
	Pair		pair = {0};
	PlhModuleRecord *modules[2];
	int			count;

	make_pair(&pair);
	count = count_records(&pair.images[0], PLH_RECORD_MODULE);
	for (int i = 0; i < 2; i++)
	{
		modules[i] = first_module(&pair.images[i]);
		modules[i]->build_id_bytes = PLH_BUILD_ID_MAX;
		memset(modules[i]->build_id, 1, PLH_BUILD_ID_MAX);
	}
	modules[1]->path[0] = '?';
	modules[0]->seen_at = 2000;
	modules[1]->seen_at = 1000;
	merge_pair(&pair);
	ok(count_records(pair.merged, PLH_RECORD_MODULE) == count,
	   "binaries with one build-id are merged wherever they are");
	ok(first_module(pair.merged)->seen_at == 1000,
	   "a merged binary was seen when the first process saw it");
	modules[0]->seen_at = 500;
	merge_pair(&pair);
	ok(first_module(pair.merged)->seen_at == 500,
	   "the order of processes does not change when a binary was seen");

	modules[1]->build_id[0] = 2;
	merge_pair(&pair);
	ok(count_records(pair.merged, PLH_RECORD_MODULE) == count + 1,
	   "binaries with two build-ids are not merged");
	modules[0]->build_id_bytes = modules[1]->build_id_bytes = 0;
	merge_pair(&pair);
	ok(count_records(pair.merged, PLH_RECORD_MODULE) == count + 1,
	   "binaries without build-ids are not merged if their paths differ");
	modules[1]->path[0] = modules[0]->path[0];
	merge_pair(&pair);
	ok(count_records(pair.merged, PLH_RECORD_MODULE) == count,
	   "binaries without build-ids are merged by their path");
	free_pair(&pair);
	forget_memory();
}

/* Word all statements of an image with ids, or without, in another way. */
static int
reword_statements(const PlhProfileImage *image, bool with_id)
{
	const PlhStatementRecord *statement;
	uint32		position = 0;
	int			count = 0;

	while ((statement = plh_profile_image_next(image, PLH_RECORD_STATEMENT,
											   &position)) != NULL)
	{
		if ((statement->query_id != 0) != with_id)
			continue;
		unconstify(PlhStatementRecord *, statement)->text[0] = 'Z';
		count++;
	}
	return count;
}

/* Statements are the same by their ids, and without any by their shapes. */
static void
test_statements(void)
{
	Pair		pair = {0};
	int			count;
	int			reworded;

	make_pair(&pair);
	merge_pair(&pair);
	count = count_records(pair.merged, PLH_RECORD_STATEMENT);
	reworded = reword_statements(&pair.images[1], true);
	merge_pair(&pair);
	ok(reworded > 0 &&
	   count_records(pair.merged, PLH_RECORD_STATEMENT) == count,
	   "statements with one id are merged however they are worded");
	reworded = reword_statements(&pair.images[1], false);
	merge_pair(&pair);
	ok(reworded > 0 &&
	   count_records(pair.merged, PLH_RECORD_STATEMENT) > count,
	   "statements without ids are not merged if they are worded differently");
	free_pair(&pair);
	forget_memory();
}

void
test_merges(void)
{
	const char *sums = NULL;
	const char *words = NULL;

	forget_memory();
	for (int i = 0; i < rounds(100); i++)
	{
		Merging		merging = {0};

		try_begins("merges", SEED, i);
		begin_merging(&merging, i);
		if (sums == NULL)
			sums = check_merged(&merging);
		if (words == NULL)
			words = check_words(&merging);
		end_merging(&merging);
	}
	try_begins(NULL, 0, 0);
	ok_unbroken(sums, "sites of several processes add up");
	ok_unbroken(words, "words about several processes say how many they are");
	ok(is_empty_merge(), "a merge of no process is empty");
	test_modules();
	test_statements();
	forget_memory();
}

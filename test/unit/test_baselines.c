/*
 * test_baselines.c
 *	  Files of baselines: taken, read, and refused where they are not whole or
 *	  those of another process.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xlog.h"
#include "utils/timestamp.h"

#include "backend.h"
#include "base/limits.h"
#include "base/whole_io.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"
#include "reader_tests.h"
#include "server.h"
#include "sound_profile.h"

#define SEED 11

static char directory[] = "/tmp/plh_unit_XXXXXX";

/* Write the file of that pid, of the first bytes of a baseline. */
static void
write_file(int pid, const PlhBaseline *baseline, Size bytes)
{
	char		path[PLH_PATH_MAX];
	FILE	   *file;

	plh_baseline_path(path, sizeof(path), directory, pid);
	file = fopen(path, "w");
	if (file == NULL || fwrite(baseline, 1, bytes, file) != bytes)
		abort();
	fclose(file);
}

static Size
bytes_of(const PlhBaseline *baseline)
{
	return offsetof(PlhBaseline, sites) +
		sizeof(PlhBaselineSite) * baseline->site_count;
}

/* All sites of an image held at the baseline what they hold. */
static const char *
compare_baseline(const PlhBaseline *baseline, const PlhProfileImage *image)
{
	const char *broken = NULL;
	const PlhSiteRecord *site;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		int64		bytes;
		int64		count;

		plh_baseline_site(baseline, plh_profile_image_offset(image, site),
						  &bytes, &count);
		REQUIRE(broken, bytes == site->counters.live_bytes);
		REQUIRE(broken, count == site->counters.live_count);
		plh_baseline_site(baseline, plh_profile_image_offset(image, site) + 8,
						  &bytes, &count);
		REQUIRE(broken, bytes == 0 && count == 0);
	}
	return broken;
}

static void
test_round_trip(const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	PlhBaseline *baseline;

	ok(plh_baseline_file_read(directory, image) == NULL,
	   "there is no baseline at first");
	ok(plh_baseline_file_take(directory, image), "a baseline is taken");
	baseline = plh_baseline_file_read(directory, image);
	ok(baseline != NULL && baseline->taken_at == GetCurrentTimestamp() &&
	   baseline->live_bytes == header->counters.live_bytes, "a baseline that was taken is read");
	ok_unbroken(baseline == NULL ? "it is there" :
				compare_baseline(baseline, image),
				"a baseline has what each site held, and nothing else");
	ok(!plh_baseline_file_take("/nonexistent/deeper", image) && errno == ENOENT,
	   "a baseline without a directory above it sets an error number");
}

static void
test_refused(const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	PlhBaseline *whole = plh_baseline_file_read(directory, image);
	PlhBaseline changed = *whole;
	const char *broken = NULL;

	for (Size bytes = 0; bytes < bytes_of(whole); bytes += 8)
	{
		write_file(header->pid, whole, bytes);
		REQUIRE(broken, plh_baseline_file_read(directory, image) == NULL);
	}
	ok_unbroken(broken, "a baseline file that ends anywhere is refused");

	whole->pid++;
	write_file(header->pid, whole, bytes_of(whole));
	ok(plh_baseline_file_read(directory, image) == NULL,
	   "a baseline of another PID is refused");
	whole->pid--;
	whole->process_start++;
	write_file(header->pid, whole, bytes_of(whole));
	ok(plh_baseline_file_read(directory, image) == NULL,
	   "a baseline of a former process of the same PID is refused");
	whole->process_start--;
	whole->magic[7]++;
	write_file(header->pid, whole, bytes_of(whole));
	ok(plh_baseline_file_read(directory, image) == NULL,
	   "a baseline of another version is refused");
	for (uint32 i = 0; i < 64; i++)
	{
		changed.site_count = i < 32 ? (uint32) 1 << i : PG_UINT32_MAX - i + 32;
		write_file(header->pid, &changed, sizeof(changed));
		REQUIRE(broken, plh_baseline_file_read(directory, image) == NULL);
	}
	ok_unbroken(broken, "a baseline that states more sites than it has is refused");
	ok(open_files == 0, "no baseline file is left open");
}

/* A header that says more than there is, as one that is damaged may. */
static void
test_used_bytes(const PlhProfileImage *image)
{
	PlhProfileHeader *header = copy_profile(image->header, image->bytes);
	PlhProfileImage damaged;

	plh_profile_image_adopt(&damaged, header, image->bytes);
	header->used_bytes = PG_UINT32_MAX;
	palloced_peak = palloced_bytes;
	ok(plh_baseline_file_take(directory, &damaged) &&
	   palloced_peak - palloced_bytes < image->bytes,
	   "a baseline takes no more memory than there are sites");
	plh_baseline_unlink(directory, header->pid);
	free(header);
}

/* Where growth is counted from for a process without a file of its own. */
static void
test_common(const PlhProfileImage *image)
{
	PlhProfileHeader *header = copy_profile(image->header,
											image->header->used_bytes);
	PlhProfileImage changed;

	plh_profile_image_adopt(&changed, header, header->used_bytes);
	plh_baseline_unlink(directory, header->pid);
	ok(plh_baseline_file_take_empty(directory, 0), "a baseline of all processes is taken");
	header->counters.first_at = GetCurrentTimestamp() + 1;
	ok(plh_baseline_file_read(directory, &changed) != NULL,
	   "a baseline of all counts for a process that began later");
	header->counters.first_at = GetCurrentTimestamp() - 1;
	ok(plh_baseline_file_read(directory, &changed) == NULL,
	   "a baseline of all does not count for a process that began before");
	plh_baseline_unlink(directory, 0);
	free(header);
}

/* The image that others have while the owner alone has the later half of the records. */
static PlhProfileImage *
make_unpublished(const PlhProfileImage *image)
{
	Size		seen_bytes = PLH_PROFILE_FIRST_BYTES +
		TYPEALIGN(PLH_RECORD_STEP, (image->bytes - PLH_PROFILE_FIRST_BYTES) / 2);
	PlhProfileHeader *header = copy_profile(image->header, seen_bytes);
	PlhProfileImage *unpublished;
	char		path[PLH_PATH_MAX];
	bool		refused;
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/profile", directory);
	header->system_identifier = GetSystemIdentifier();
	header->published_bytes = seen_bytes;
	file = fopen(path, "w");
	if (file == NULL || fwrite(header, 1, seen_bytes, file) != seen_bytes)
		abort();
	fclose(file);
	free(header);
	unpublished = plh_profile_reader_open(path, false, &refused);
	if (unpublished == NULL)
		abort();
	unlink(path);
	return unpublished;
}

/* A part that is unpublished when the baseline is taken, or when it is read. */
static void
test_unpublished(const PlhProfileImage *image)
{
	const PlhProfileImage *unpublished = make_unpublished(image);
	PlhBaseline *baseline;

	ok(plh_baseline_file_take(directory, unpublished), "a baseline is taken while a part is unpublished");
	baseline = plh_baseline_file_read(directory, image);
	ok_unbroken(compare_baseline(baseline, image),
				"no site has grown when the unpublished part is seen");
	ok(plh_baseline_file_take(directory, image), "a baseline is taken while no part is unpublished");
	baseline = plh_baseline_file_read(directory, unpublished);
	ok_unbroken(compare_baseline(baseline, unpublished),
				"no site has grown when a part cannot be seen any more");
	plh_baseline_unlink(directory, image->header->pid);
}

/* A site with a stack and a statement that holds something, after "position". */
static PlhSiteRecord *
find_site(const PlhProfileImage *image, uint32 *position)
{
	const PlhSiteRecord *site;

	while ((site = plh_profile_image_next_site(image, position)) != NULL)
		if (site->key.stack > PLH_FORMER_STACKS && site->key.statement != 0 &&
			site->counters.live_bytes > 0)
			return (PlhSiteRecord *) site;
	abort();
}

/* A site is given up, and its stack's room has become another stack's. */
static void
test_other_stack(const PlhProfileImage *image)
{
	PlhProfileHeader *header = copy_profile(image->header, image->bytes);
	PlhProfileImage changed = {0};
	PlhBaseline *baseline;
	PlhSiteRecord *given_up;
	PlhSiteRecord *other;
	uint32		position = 0;
	int64		bytes;
	int64		count;

	ok(plh_baseline_file_take(directory, image), "a baseline is taken before a site is given up");
	plh_profile_image_adopt(&changed, header, image->bytes);
	given_up = find_site(&changed, &position);
	other = find_site(&changed, &position);
	header->round++;
	given_up->record.kind = PLH_RECORD_FREE;
	other->key = given_up->key;
	other->key.statement = 0;
	other->record.born = header->round;
	((PlhRecord *) ((char *) header + other->key.stack))->born = header->round;
	baseline = plh_baseline_file_read(directory, &changed);
	plh_baseline_site(baseline, plh_profile_image_offset(&changed, other),
					  &bytes, &count);
	ok(bytes == 0 && count == 0,
	   "bytes of a former stack are not counted at the stack in its place");
	plh_baseline_site(baseline, header->catch_all_site, &bytes, &count);
	ok(bytes >= given_up->counters.live_bytes, "bytes of a former stack are not lost");
	plh_baseline_unlink(directory, header->pid);
	free(header);
}

/* Sites that are not in order: some are not found, and nothing else happens. */
static void
test_disorder(void)
{
	const char *broken = NULL;
	pg_prng_state prng;

	pg_prng_seed(&prng, SEED);
	for (int i = 0; i < rounds(2000); i++)
	{
		uint32		sites = random_below(&prng, 20);
		Size		bytes = offsetof(PlhBaseline, sites) +
			sizeof(PlhBaselineSite) * sites;
		PlhBaseline *baseline = palloc0(bytes);

		try_begins("baselines out of order", SEED, i);
		baseline->site_count = sites;
		for (uint32 j = 0; j < sites; j++)
		{
			baseline->sites[j].site = random_below(&prng, 20);
			baseline->sites[j].live_bytes = baseline->sites[j].site;
		}
		for (uint32 site = 0; site < 20; site++)
		{
			int64		live_bytes;
			int64		live_count;

			plh_baseline_site(baseline, site, &live_bytes, &live_count);
			REQUIRE(broken, live_bytes == 0 || live_bytes == site);
		}
		pfree(baseline);
	}
	try_begins(NULL, 0, 0);
	ok_unbroken(broken, "a lookup in a baseline out of order ends");
}

static void
test_put_together(void)
{
	PlhBaseline *baseline = plh_baseline_file_create(7);
	const char *broken = NULL;

	for (uint32 i = 1; i <= 1000; i++)
		plh_baseline_file_add(&baseline, 8 * i, i, 2 * i);
	for (uint32 i = 1; i <= 1001; i++)
	{
		int64		bytes;
		int64		count;

		plh_baseline_site(baseline, 8 * i, &bytes, &count);
		REQUIRE(broken, bytes == (i <= 1000 ? i : 0) && count == 2 * bytes);
	}
	REQUIRE(broken, baseline->live_bytes == 1000 * 1001 / 2);
	REQUIRE(broken, plh_baseline_is_sound(baseline, bytes_of(baseline), 7));
	ok_unbroken(broken, "a baseline that is put together has all that was added");
}

void
test_baselines(void)
{
	PlhProfileHeader *header = make_profile(20, SEED);
	PlhProfileImage image = {0};

	if (mkdtemp(directory) == NULL)
		abort();
	statement_start = 5000000;
	plh_profile_image_adopt(&image, header, header->used_bytes);
	test_round_trip(&image);
	test_refused(&image);
	test_used_bytes(&image);
	test_common(&image);
	test_unpublished(&image);
	test_other_stack(&image);
	test_disorder();
	test_put_together();
	ok(rmdir(directory) == 0, "no file is left in the directory of baselines");
	free(header);
	forget_memory();
}

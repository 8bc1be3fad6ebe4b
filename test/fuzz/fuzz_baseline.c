/*
 * fuzz_baseline.c
 *	  The file of a baseline with anything in it, beside the profile of a process
 *	  that is sound.
 *
 * An input is a file.  Unless its magic ends with UNCHANGED, magic, process and
 * number of sites are made those that a reader accepts.
 */
#include "postgres.h"

#include <unistd.h>

#include "base/limits.h"
#include "fuzz.h"
#include "reader/baseline_file.h"
#include "sound_profile.h"

#define SITES 5
#define SEED 11
#define UNCHANGED 'u'

static PlhProfileImage image;
static bool drawn;

static void
make_acceptable(PlhBaseline *baseline, Size bytes)
{
	char	   *mark = &baseline->magic[sizeof(baseline->magic) - 1];

	if (bytes < offsetof(PlhBaseline, sites) || *mark == UNCHANGED)
		return;
	memcpy(baseline->magic, PLH_BASELINE_MAGIC, sizeof(baseline->magic));
	if (baseline->pid != 0)
		baseline->pid = image.header->pid;
	baseline->process_start = image.header->process_start;
	baseline->site_count = (bytes - offsetof(PlhBaseline, sites)) /
		sizeof(PlhBaselineSite);
}

/* What is found lies in the baseline, at any offset. */
static void
look_up(const PlhBaseline *baseline)
{
	int64		bytes;
	int64		count;

	for (uint32 i = 0; i < baseline->site_count; i++)
	{
		plh_baseline_site(baseline, baseline->sites[i].site, &bytes, &count);
		plh_baseline_site(baseline, baseline->sites[i].site + 1, &bytes, &count);
	}
	plh_baseline_site(baseline, 0, &bytes, &count);
	plh_baseline_site(baseline, PG_UINT32_MAX, &bytes, &count);
}

static void
use_baseline(void *arg)
{
	PlhBaseline *baseline = plh_baseline_file_read(fuzz_directory(), &image);

	if (baseline == NULL)
		return;
	fuzz_accepted++;
	look_up(baseline);
	HOLDS(walk_profile(&image, baseline) == NULL);
	judge_profile(&image, baseline);
	dump_profile(&image);
	if (drawn)
		draw_profile(&image, baseline);
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t bytes)
{
	PlhBaseline *file = malloc(Max(bytes, sizeof(PlhBaseline)));
	char		path[PLH_PATH_MAX];
	int			pid;

	if (image.header == NULL)
	{
		PlhProfileHeader *header = make_profile(SITES, SEED);

		plh_profile_image_adopt(&image, header, header->used_bytes);
	}
	drawn = fuzz_goes_far(data, bytes);
	memcpy(file, data, bytes);
	make_acceptable(file, bytes);
	pid = bytes >= offsetof(PlhBaseline, sites) && file->pid == 0 ? 0 :
		image.header->pid;
	plh_baseline_path(path, sizeof(path), fuzz_directory(), pid);
	fuzz_write_file(path, file, bytes);
	free(file);
	HOLDS(fuzz_run(bytes, use_baseline, NULL) == 0);
	unlink(path);
	return 0;
}

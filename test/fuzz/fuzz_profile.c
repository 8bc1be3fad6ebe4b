/*
 * fuzz_profile.c
 *	  The profile of another process, with anything in it: found, read, walked
 *	  through, judged, dumped and drawn.
 *
 * An input is a file without the history (profile_input.h).  Most are given a header that a reader accepts, or none
 * would get further: magic, versions and pid are set, and a size within the file.
 * A UNCHANGED byte in the magic keeps the input as it is.  With a GROWING one, the
 * second look at the header finds another size than the first, as if the owner
 * wrote meanwhile.
 */
#include "postgres.h"

#include <unistd.h>

#include "utils/timestamp.h"

#include "base/whole_io.h"

static ssize_t read_changing(int fd, void *buffer, Size bytes, off_t offset);

#define plh_whole_io_read read_changing
#include "reader/profile_reader.c"
#undef plh_whole_io_read

#include "fuzz.h"
#include "profile_input.h"
#include "reader/baseline_file.h"
#include "sound_profile.h"

#define PID 1234

/* Bytes of the magic that no profile has. */
#define MARK(header) ((header)->magic[sizeof((header)->magic) - 1])
#define UNCHANGED 'u'
#define GROWING 'g'

static char path[64];

static int	reads;
static bool growing;
static bool drawn;

/* Like plh_whole_io_read; the second one of a header finds another size. */
static ssize_t
read_changing(int fd, void *buffer, Size bytes, off_t offset)
{
	ssize_t		done = plh_whole_io_read(fd, buffer, bytes, offset);
	PlhProfileHeader *header = buffer;

	if (growing && ++reads == 2 && done >= (ssize_t) sizeof(*header))
		header->used_bytes = header->database_oid;
	return done;
}

/* Set what a reader looks at before anything else. */
static void
make_acceptable(PlhProfileHeader *header, Size bytes)
{
	growing = MARK(header) == GROWING;
	reads = 0;
	if (MARK(header) == UNCHANGED)
		return;
	memcpy(header->magic, PLH_PROFILE_MAGIC, sizeof(header->magic));
	header->layout_version = PLH_LAYOUT_VERSION;
	header->pg_version = PG_VERSION_NUM;
	header->system_identifier = GetSystemIdentifier();
	header->pid = PID;
	if (header->used_bytes < sizeof(*header))
		header->used_bytes = bytes;
	if (header->published_bytes < PLH_PROFILE_FIRST_BYTES ||
		header->published_bytes > bytes)
		header->published_bytes = bytes;
}

/* All that is done with an image. */
static void
use_image(PlhProfileImage *image, void *arg)
{
	PlhBaseline *baseline = half_of_profile(image);
	PlhBaseline *taken = NULL;

	fuzz_accepted++;
	HOLDS(walk_profile(image, baseline) == NULL);
	judge_profile(image, NULL);
	judge_profile(image, baseline);
	dump_profile(image);
	if (drawn)
		draw_profile(image, baseline);
	if (image->header->pid == PID &&
		plh_baseline_file_take(fuzz_directory(), image))
	{
		taken = plh_baseline_file_read(fuzz_directory(), image);
		HOLDS(taken != NULL);
		plh_baseline_unlink(fuzz_directory(), PID);
		HOLDS(walk_profile(image, taken) == NULL);
	}
}

/* As far as a list of processes goes, which reads headers only. */
static void
use_header(PlhProfileImage *image, void *arg)
{
	HOLDS(image->bytes == sizeof(PlhProfileHeader));
	(void) plh_profile_image_backend_type(image);
	(void) walk_profile(image, half_of_profile(image));
}

static void
read_profile(void *arg)
{
	PlhProfileImage *image;

	plh_profile_reader_each(fuzz_directory(), 0, true, NULL, use_header, NULL);
	reads = 0;
	image = plh_profile_reader_find(fuzz_directory(), PID, false);
	if (image != NULL)
		use_image(image, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t bytes)
{
	PlhProfileHeader *file = calloc(1, bytes + sizeof(PlhProfileHeader));
	Size		file_bytes = bytes;

	drawn = fuzz_goes_far(data, bytes);
	snprintf(path, sizeof(path), "%s/%d", fuzz_directory(), PID);
	memcpy(file, data, Min(bytes, INPUT_HEAD_BYTES));
	if (bytes >= INPUT_HEAD_BYTES)
	{
		file_bytes += INPUT_GAP_BYTES;
		memcpy((char *) file + INPUT_HEAD_BYTES + INPUT_GAP_BYTES,
			   data + INPUT_HEAD_BYTES, bytes - INPUT_HEAD_BYTES);
		make_acceptable(file, file_bytes);
	}
	fuzz_write_file(path, file, file_bytes);
	free(file);
	(void) fuzz_run(file_bytes, read_profile, NULL);
	unlink(path);
	return 0;
}

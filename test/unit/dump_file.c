/*
 * dump_file.c
 *	  A dump file in memory, which tests write, change and read.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "backend.h"
#include "base/whole_io.h"
#include "dump_file.h"
#include "sound_profile.h"

#include "profile/dump_copy.c"

static int	file = -1;
static char path[64];

/* Nobody waits for a disk here. */
int
pg_fsync(int fd)
{
	return 0;
}

void
open_dump_file(void)
{
	file = memfd_create("dump", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
}

void
close_dump_file(void)
{
	close(file);
}

/*
 * Replace what is in the file.
 */
void
set_dump_file(const Text *text)
{
	if (ftruncate(file, 0) != 0 ||
		!plh_whole_io_write(file, text->data, text->bytes, 0))
		abort();
}

static Text
get_file(void)
{
	Text		text;

	text.bytes = lseek(file, 0, SEEK_END);
	text.data = palloc(text.bytes + 1);
	if (plh_whole_io_read(file, text.data, text.bytes, 0) != text.bytes)
		abort();
	text.data[text.bytes] = '\0';
	return text;
}

/*
 * Write an image to the file; returns what is there then.
 */
Text
write_dump(const PlhProfileImage *image, const PlhDumpExtras *extras)
{
	if (ftruncate(file, 0) != 0 || lseek(file, 0, SEEK_SET) != 0 ||
		write_file(dup(file), image, extras) != 0)
		abort();
	return get_file();
}

/*
 * Make the size and the checksum of a file right, whatever else is in it.
 */
void
mend_foot(Text *text)
{
	PlhDumpFoot foot;
	pg_crc32c	checksum;

	if (text->bytes < sizeof(foot))
		return;
	memcpy(&foot, text->data + text->bytes - sizeof(foot), sizeof(foot));
	foot.file_bytes = text->bytes;
	memcpy(foot.magic, PLH_DUMP_MAGIC, sizeof(foot.magic));
	memcpy(text->data + text->bytes - sizeof(foot), &foot, sizeof(foot));
	INIT_CRC32C(checksum);
	COMP_CRC32C(checksum, text->data, text->bytes - sizeof(checksum));
	FIN_CRC32C(checksum);
	memcpy(text->data + text->bytes - sizeof(checksum), &checksum,
		   sizeof(checksum));
}

static void
read_file(void *arg)
{
	Attempt    *attempt = arg;

	attempt->dump = plh_dump_reader_read(path, attempt->header_only);
}

/*
 * Read the file; returns the SQLSTATE of the ERROR that it ends in, or 0.
 */
int
read_dump(Attempt *attempt)
{
	attempt->dump = NULL;
	return sqlstate_of(read_file, attempt);
}

/*
 * Is that one of the ERRORs that a file may end in, by what is in it?
 */
bool
is_dump_error(int sqlstate)
{
	return sqlstate == ERRCODE_DATA_CORRUPTED ||
		sqlstate == ERRCODE_FEATURE_NOT_SUPPORTED ||
		sqlstate == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}

/*
 * Use a dump that was read, in memory that ends where the image does.
 */
void
use_dump(const PlhDump *dump, bool drawn)
{
	PlhProfileHeader *header = copy_profile(dump->image->header,
											dump->image->bytes);
	PlhProfileImage *image = palloc(sizeof(PlhProfileImage));
	PlhBaseline *baseline = dump->baseline;

	plh_profile_image_adopt(image, header, dump->image->bytes);
	image->alive = false;
	image->crashed = dump->image->crashed;
	image->names = dump->image->names;
	image->proof = dump->image->proof;
	if (baseline == NULL)
		baseline = half_of_profile(image);
	(void) walk_profile(image, baseline);
	judge_profile(image, baseline);
	dump_profile(image);
	if (drawn)
		draw_profile(image, baseline);
	free(header);
}

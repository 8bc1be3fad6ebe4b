/*
 * dump_reader.c
 *	  Reads a dump into an image, so that every report of a profile is one of a dump, too.
 *
 * The file is read into memory before it is looked at, and closed: an ERROR about it leaves nothing
 * open.  Files that are no dumps may be of any size, so that the foot and the size come first.
 */
#include "postgres.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

#include "common/int.h"
#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"

#include "base/plural.h"
#include "base/settings.h"
#include "base/whole_io.h"
#include "profile/dump_layout.h"
#include "profile/proof_image.h"
#include "reader/dump_reader.h"
#include "reader/frame_names.h"
#include "reader/profile_reader.h"

/* LARGEST_SHARE times the profile, or, as other servers' may be larger, LARGEST_BYTES. */
#define LARGEST_SHARE 16
#define LARGEST_BYTES ((Size) 128 * 1024 * 1024)

/* Bytes that are read between two checks for interrupts. */
#define PIECE_BYTES (1024 * 1024)

/* A dump that is being read. */
typedef struct DumpFile
{
	const char *path;
	int			fd;				/* -1: closed */
	Size		bytes;
	PlhDumpFoot foot;
	char	   *start;			/* of the whole file in memory */
} DumpFile;

static void
close_file(DumpFile *file)
{
	if (file->fd >= 0)
		CloseTransientFile(file->fd);
	file->fd = -1;
}

static void
damaged(DumpFile *file, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
					errmsg("dump file \"%s\" is damaged", file->path),
					errdetail_internal("%s", detail)));
}

/* Opening must not block before we know that it is a file: a FIFO would wait for a writer. */
static void
open_file(DumpFile *file)
{
	struct stat status;

	file->fd = OpenTransientFile(file->path, O_RDONLY | O_NONBLOCK | PG_BINARY);
	if (file->fd < 0 || fstat(file->fd, &status) != 0)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not open dump file \"%s\": %m", file->path)));
	if (!S_ISREG(status.st_mode))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is not a file", file->path)));
	file->bytes = status.st_size;
}

/* Read bytes that the file must have; a cancel takes effect between two pieces. */
static void
read_bytes(DumpFile *file, void *buffer, Size bytes, Size offset)
{
	for (Size done = 0; done < bytes;)
	{
		Size		piece = Min(bytes - done, PIECE_BYTES);
		ssize_t		part = plh_whole_io_read(file->fd, (char *) buffer + done,
											 piece, offset + done);

		if (part < 0)
			ereport(ERROR, (errcode_for_file_access(),
							errmsg("could not read dump file \"%s\": %m", file->path)));
		if ((Size) part != piece)
			damaged(file, "It became shorter while it was read.");
		done += part;
		CHECK_FOR_INTERRUPTS();
	}
}

static void
check_size(DumpFile *file)
{
	Size		largest = Max((Size) plh_load_settings.max_profile_size * LARGEST_SHARE,
							  LARGEST_BYTES);

	if (file->bytes <= largest)
		return;
	ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					errmsg("dump file \"%s\" is too large", file->path),
					errdetail("It has %zu bytes; the maximum is %zu.", file->bytes, largest),
					errhint("Raise pg_leakhunt.max_profile_size to read it.")));
}

static void
read_foot(DumpFile *file)
{
	PlhDumpFoot *foot = &file->foot;

	if (file->bytes < sizeof(*foot))
		damaged(file, "It is too short for a dump.");
	read_bytes(file, foot, sizeof(*foot), file->bytes - sizeof(*foot));
	if (memcmp(foot->magic, PLH_DUMP_MAGIC, sizeof(foot->magic)) != 0)
		damaged(file, "Its last bytes are not those of a dump.");
	if (foot->file_bytes != file->bytes)
		damaged(file, psprintf("It has %zu %s, and was written with %llu.",
							   file->bytes, plh_plural(file->bytes, "byte", "bytes"),
							   (unsigned long long) foot->file_bytes));
	if (foot->profile_bytes > file->bytes - sizeof(*foot) ||
		foot->profile_bytes > PG_INT32_MAX || foot->profile_bytes % 8 != 0 ||
		foot->profile_bytes < sizeof(PlhRecord))
		damaged(file, "The size of its profile is invalid.");
	foot->reason[sizeof(foot->reason) - 1] = '\0';
	if (foot->reason[strspn(foot->reason, "abcdefghijklmnopqrstuvwxyz")] != '\0')
		damaged(file, "Its reason is invalid.");
}

/* May a process have counted that?  A variance may have become less than 0 by rounding. */
static bool
are_possible(const PlhCounters *counters)
{
	return counters->live_bytes >= 0 && counters->live_count >= 0 &&
		counters->total_bytes >= 0 && counters->total_count >= 0 &&
		counters->live_samples >= 0 && counters->total_samples >= 0 &&
		isfinite(counters->live_variance);
}

static void
check_header(DumpFile *file, const PlhProfileHeader *header)
{
	if (memcmp(header->magic, PLH_PROFILE_MAGIC, sizeof(header->magic)) != 0)
		damaged(file, "It does not begin with a profile.");
	if (header->layout_version != PLH_LAYOUT_VERSION)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("dump file \"%s\" has layout %u", file->path, header->layout_version),
						errdetail("This version of pg_leakhunt reads layout %d.", PLH_LAYOUT_VERSION),
						errhint("The text beside it, for jeprof and pprof, does not depend on the layout.")));
	if (file->foot.profile_bytes < sizeof(*header))
		damaged(file, "Its profile is too short.");
	if (header->pid <= 0)
		damaged(file, "It names no process.");
	if (!are_possible(&header->counters) || header->peak_bytes < 0)
		damaged(file, "Its figures cannot be those of a process.");
}

/*
 * Check the head of the first record, if there is any.  Commits before 1.0 did not number their
 * layouts: a header of theirs has another size, and records begin elsewhere.
 */
static void
check_first_record(DumpFile *file, const PlhRecord *record)
{
	Size		room = file->foot.profile_bytes - sizeof(PlhProfileHeader);

	if (room > 0 && !plh_profile_image_is_record(record, room))
		damaged(file, "Its first record is invalid, as in a dump of a commit before 1.0.");
}

static PlhProfileHeader *
read_header(DumpFile *file)
{
	PlhProfileHeader *header = palloc0(sizeof(PlhProfileHeader) + sizeof(PlhRecord));

	read_bytes(file, header,
			   Min(sizeof(*header) + sizeof(PlhRecord), file->foot.profile_bytes), 0);
	check_header(file, header);
	check_first_record(file, (const PlhRecord *) (header + 1));
	return header;
}

static void
read_file(DumpFile *file)
{
	Size		summed = file->bytes - sizeof(file->foot.checksum);
	pg_crc32c	checksum;

	check_size(file);
	file->start = MemoryContextAllocHuge(CurrentMemoryContext, file->bytes);
	read_bytes(file, file->start, file->bytes, 0);
	close_file(file);
	INIT_CRC32C(checksum);
	COMP_CRC32C(checksum, file->start, summed);
	FIN_CRC32C(checksum);
	if (!EQ_CRC32C(checksum, file->foot.checksum))
		damaged(file, "Its checksum does not match.");
	check_header(file, (PlhProfileHeader *) file->start);
	check_first_record(file, (const PlhRecord *) (file->start + sizeof(PlhProfileHeader)));
}

static void
take_baseline(DumpFile *file, PlhDump *dump, PlhBaseline *baseline, Size bytes)
{
	if (dump->baseline != NULL || bytes < sizeof(PlhBaseline))
		return;
	if (!plh_baseline_is_sound(baseline, bytes, baseline->pid))
		damaged(file, "Its baseline is invalid.");
	dump->baseline = baseline;
}

/* One of another layout is passed over, as parts of unknown kinds are. */
static void
take_proof(DumpFile *file, PlhProfileImage *image, const PlhProof *proof, Size bytes)
{
	if (image->proof != NULL || bytes < sizeof(proof->magic) ||
		memcmp(proof->magic, PLH_PROOF_MAGIC, sizeof(PLH_PROOF_MAGIC)) != 0)
		return;
	if (!plh_proof_image_is_sound(proof, bytes) || proof->pid != image->header->pid ||
		proof->process_start != image->header->process_start)
		damaged(file, "Its proof is invalid.");
	image->proof = proof;
}

static void
take_part(DumpFile *file, PlhDump *dump, uint32 kind, void *data, Size bytes)
{
	switch (kind)
	{
		case PLH_DUMP_BASELINE:
			take_baseline(file, dump, data, bytes);
			break;
		case PLH_DUMP_NAMES:
			if (dump->image->names == NULL)
				dump->image->names = plh_frame_names_read(data, bytes);
			break;
		case PLH_DUMP_PROOF:
			take_proof(file, dump->image, data, bytes);
			break;
	}
}

/* Take over the parts behind the profile, of each kind the first. */
static void
take_parts(DumpFile *file, PlhDump *dump)
{
	Size		offset = file->foot.profile_bytes;
	Size		end = file->bytes - sizeof(PlhDumpFoot);

	while (offset < end)
	{
		const PlhDumpPart *part = (PlhDumpPart *) (file->start + offset);
		char	   *data = (char *) (part + 1);
		Size		room = end - offset;

		if (room < sizeof(*part) || part->bytes > room - sizeof(*part) ||
			part->padding > 7 || (part->bytes + part->padding) % 8 != 0 ||
			part->bytes + part->padding > room - sizeof(*part))
			damaged(file, "A part of it goes beyond its end.");
		take_part(file, dump, part->kind, data, part->bytes);
		offset += sizeof(*part) + part->bytes + part->padding;
	}
}

static void
make_image(DumpFile *file, PlhDump *dump, PlhProfileHeader *header, Size bytes)
{
	PlhProfileImage *image = dump->image;

	plh_profile_reader_end_texts(header);
	strlcpy(image->path, file->path, sizeof(image->path));
	image->crashed = strcmp(dump->reason, "crash") == 0 || header->death.at != 0;
	plh_profile_image_adopt(image, header, bytes);
}

/* Add up figures.  Returns false where the sums become too large. */
static bool
add_counters(PlhCounters *sums, const PlhCounters *counters)
{
	return !pg_add_s64_overflow(sums->live_bytes, counters->live_bytes, &sums->live_bytes) &&
		!pg_add_s64_overflow(sums->live_count, counters->live_count, &sums->live_count) &&
		!pg_add_s64_overflow(sums->total_bytes, counters->total_bytes, &sums->total_bytes) &&
		!pg_add_s64_overflow(sums->total_count, counters->total_count, &sums->total_count);
}

/*
 * Throw an ERROR unless the figures of all sites are some that reports can add up.  In a dump of a
 * process at work, the header's may be a moment apart from these.
 */
static void
check_figures(DumpFile *file, const PlhProfileImage *image)
{
	const PlhSiteRecord *site;
	PlhCounters sums = {0};
	int64		peak_bytes = 0;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		int64		peak = plh_site_peak_bytes(image->header, site);

		if (!are_possible(&site->counters) || peak < 0)
			damaged(file, "A call site has impossible figures.");
		if (!add_counters(&sums, &site->counters) ||
			pg_add_s64_overflow(peak_bytes, peak, &peak_bytes))
			damaged(file, "The sums of its call sites overflow.");
	}
}

static void
read_all(DumpFile *file, PlhDump *dump)
{
	read_file(file);
	dump->bytes = file->start;
	dump->byte_count = file->bytes;
	make_image(file, dump, (PlhProfileHeader *) file->start, file->foot.profile_bytes);
	check_figures(file, dump->image);
	take_parts(file, dump);
}

PlhDump *
plh_dump_reader_read(const char *path, bool header_only)
{
	DumpFile	file = {.path = path,.fd = -1};
	PlhDump    *dump = palloc0(sizeof(PlhDump));

	/* callers go on after an ERROR, so that nobody else would close the file */
	PG_TRY();
	{
		open_file(&file);
		read_foot(&file);
		dump->image = palloc0(sizeof(PlhProfileImage));
		dump->reason = pstrdup(file.foot.reason);
		dump->written_at = file.foot.written_at;
		if (header_only)
			make_image(&file, dump, read_header(&file), sizeof(PlhProfileHeader));
		else
			read_all(&file, dump);
	}
	PG_FINALLY();
	{
		close_file(&file);
	}
	PG_END_TRY();
	return dump;
}

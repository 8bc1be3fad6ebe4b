/*
 * dump_copy.c
 *	  Writes a dump: the profile as it is, and its trailer.
 *
 * A dump is written under a temporary name and renamed, so that nobody ever sees half of one.  It
 * never takes the name of another dump.
 *
 * A dump is synced only where nobody waits for it.  What is not synced may be missing or incomplete
 * after a crash of the machine, which has taken all processes with it anyway; its size and checksum
 * tell.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"
#include "utils/timestamp.h"

#include "base/fork.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "base/whole_io.h"
#include "profile/dump_copy.h"
#include "profile/dump_layout.h"
#include "profile/dump_names.h"
#include "profile/last_proof.h"

/* Names to try: a concurrent writer may take each one first. */
#define MAX_ATTEMPTS 1000

/* A piece that has gone through the checksum is still in the cache. */
#define PIECE_BYTES (128 * 1024)

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

/* Cleared in a forked child: the dumps are its parent's. */
static struct
{
	int			sequence;		/* of our last dump of ourselves; 0: none */
}			state;

typedef struct DumpFile
{
	int			fd;
	int			failure;		/* errno of the first failure, or 0 */
	uint64		bytes;			/* so far */
	pg_crc32c	checksum;		/* of these */
} DumpFile;

/* Append bytes, unless something has failed before. */
static void
append(DumpFile *file, const void *data, Size bytes)
{
	const char *next = data;

	for (Size piece; bytes > 0 && file->failure == 0; bytes -= piece)
	{
		piece = Min(bytes, PIECE_BYTES);
		COMP_CRC32C(file->checksum, next, piece);
		if (!plh_whole_io_write(file->fd, next, piece, PLH_FILE_POSITION))
			file->failure = errno;
		file->bytes += piece;
		next += piece;
	}
}

/* Append the profile, with the header as a reader elsewhere needs it. */
static void
append_profile(DumpFile *file, const PlhProfileImage *image, Size bytes)
{
	/* an exiting process may be out of memory; it is filled here */
	static PLH_SURVIVES_FORK PLH_LARGE PlhProfileHeader header;

	header = *image->header;
	/* what was not published to the writer of this dump is not in it, either */
	header.used_bytes = Max(header.used_bytes, bytes);
	header.published_bytes = bytes;
	strlcpy(header.label, plh_profile_image_backend_type(image), sizeof(header.label));
	append(file, &header, sizeof(header));
	append(file, image->header + 1, bytes - sizeof(header));
}

/* What stands before a part, and returns how many zeros stand behind it. */
static Size
begin_part(DumpFile *file, PlhDumpPartKind kind, Size bytes)
{
	PlhDumpPart part = {.kind = kind,.padding = TYPEALIGN(8, bytes) - bytes,.bytes = bytes};

	append(file, &part, sizeof(part));
	return part.padding;
}

static void
end_part(DumpFile *file, Size padding)
{
	static const char zeros[8];

	append(file, zeros, padding);
}

static void
append_part(DumpFile *file, PlhDumpPartKind kind, const void *data, Size bytes)
{
	Size		padding;

	if (data == NULL)
		return;
	padding = begin_part(file, kind, bytes);
	append(file, data, bytes);
	end_part(file, padding);
}

/* Append the bytes of a file that nobody changes. */
static void
append_file(DumpFile *file, int fd, Size bytes)
{
	char		piece[4096];

	for (Size done = 0; done < bytes && file->failure == 0;)
	{
		ssize_t		part = plh_whole_io_read(fd, piece, Min(bytes - done, sizeof(piece)), done);

		if (part <= 0)
			file->failure = part < 0 ? errno : EIO;
		else
			append(file, piece, part);
		done += Max(part, 0);
	}
}

/* Append the last proof of the process, if it has one. */
static void
append_proof(DumpFile *file, const PlhProfileHeader *header)
{
	PlhLastProof proof;
	Size		padding;

	if (!plh_last_proof_open(&proof, header))
		return;
	padding = begin_part(file, PLH_DUMP_PROOF, proof.bytes);
	append_file(file, proof.fd, proof.bytes);
	end_part(file, padding);
	plh_last_proof_close(&proof);
}

/* Append what makes the file complete. */
static void
append_foot(DumpFile *file, uint64 profile_bytes, const char *reason)
{
	PlhDumpFoot foot = {
		.file_bytes = file->bytes + sizeof(foot),
		.profile_bytes = profile_bytes,
		.written_at = GetCurrentTimestamp(),
		.magic = PLH_DUMP_MAGIC
	};
	Size		summed = offsetof(PlhDumpFoot, checksum);

	strlcpy(foot.reason, reason, sizeof(foot.reason));
	append(file, &foot, summed);
	FIN_CRC32C(file->checksum);
	foot.checksum = file->checksum;
	append(file, &foot.checksum, sizeof(foot) - summed);
}

/* Write, sync if wanted, and close a new file.  Returns an errno or 0. */
static int
write_file(int fd, const PlhProfileImage *image, const PlhDumpExtras *extras)
{
	DumpFile	file = {.fd = fd};
	const PlhBaseline *baseline = extras->baseline;
	Size		profile_bytes = image->bytes / 8 * 8;

	INIT_CRC32C(file.checksum);
	append_profile(&file, image, profile_bytes);
	append_part(&file, PLH_DUMP_BASELINE, baseline,
				baseline == NULL ? 0 : plh_baseline_bytes(baseline));
	append_part(&file, PLH_DUMP_NAMES, extras->names, extras->names_bytes);
	append_proof(&file, image->header);
	append_foot(&file, profile_bytes, extras->reason);
	if (file.failure == 0 && extras->sync && pg_fsync(fd) != 0)
		file.failure = errno;
	if (close(fd) != 0 && file.failure == 0)
		file.failure = errno;
	return file.failure;
}

/*
 * Rename a file where the flag that refuses to replace another is not known.  File systems without
 * it usually have hard links, which do not replace either.
 */
static int
rename_by_link(const char *from, const char *to)
{
	struct stat status;

	if (link(from, to) == 0)
		return unlink(from) == 0 ? 0 : errno;
	if (errno == EEXIST || lstat(to, &status) == 0)
		return EEXIST;
	return rename(from, to) == 0 ? 0 : errno;
}

/* Rename a file, unless the new name is taken.  Returns an errno or 0. */
static int
rename_if_free(const char *from, const char *to)
{
	if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	return errno == EINVAL || errno == ENOSYS ? rename_by_link(from, to) : errno;
}

/*
 * Give a complete file its name, and enter the name into the result.  The numbers of a process' own
 * dumps are not looked up: only if the next one is taken, by somebody else's dump of this process
 * or by a former process with its pid, is the directory read.  Returns an errno or 0.
 */
static int
name_file(const char *temporary, PlhDumpName *name, PlhDumpResult *result)
{
	bool		is_own = name->pid == (int) getpid();
	bool		looked_up = !is_own;
	int			failure;

	name->sequence = state.sequence;
	failure = is_own ? 0 : plh_dump_names_highest(name->pid, &name->sequence);
	for (int i = 0; i < MAX_ATTEMPTS && failure == 0; i++)
	{
		name->sequence++;
		plh_dump_names_path(result->path, sizeof(result->path), name);
		failure = rename_if_free(temporary, result->path);
		if (failure != EEXIST)
			break;
		if (!looked_up)
			failure = plh_dump_names_highest(name->pid, &name->sequence);
		else if (i < MAX_ATTEMPTS - 1)
			failure = 0;
		looked_up = true;
	}
	if (failure == 0 && is_own)
		state.sequence = name->sequence;
	result->sequence = name->sequence;
	return failure;
}

/* Sync the directory, so that the new name survives a crash, too. */
static void
sync_directory(void)
{
	int			fd = open(plh_load_settings.dump_directory, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void) pg_fsync(fd);
	close(fd);
}

/* Write a complete file, and give it its name.  Returns an errno or 0. */
static int
write_and_name(const PlhProfileImage *image, const PlhDumpExtras *extras, PlhDumpResult *result)
{
	PlhDumpName name = {.pid = image->header->pid};
	char		temporary[PLH_PATH_MAX];
	int			failure;
	int			fd = plh_dump_names_create(result->path, sizeof(result->path));

	if (fd < 0)
		return errno;
	strlcpy(temporary, result->path, sizeof(temporary));
	strlcpy(name.reason, extras->reason, sizeof(name.reason));
	failure = write_file(fd, image, extras);
	if (failure == 0 && extras->replaces != NULL)
		failure = rename(temporary, extras->replaces) == 0 ? 0 : errno;
	else if (failure == 0)
		failure = name_file(temporary, &name, result);
	if (failure != 0)
		unlink(temporary);
	return failure;
}

/*
 * Write a dump of the image.  Returns whether it was written; "result" has its path, or the error.
 */
bool
plh_dump_copy_write(const PlhProfileImage *image, const PlhDumpExtras *extras,
					PlhDumpResult *result)
{
	Assert(CritSectionCount == 0);
	strlcpy(result->path, plh_load_settings.dump_directory, sizeof(result->path));
	result->failure = plh_dump_names_make_directory();
	if (result->failure == 0)
		result->failure = write_and_name(image, extras, result);
	if (result->failure == 0 && extras->sync)
		sync_directory();
	return result->failure == 0;
}

/* Forget the dumps in a forked child: they are the parent's. */
PLH_EVERY_PROCESS void
plh_dump_copy_forget(void)
{
	memset(&state, 0, sizeof(state));
}

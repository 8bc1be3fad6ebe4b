/*
 * profile_reader.c
 *	  Reading profiles, of this process or of any other, dead or alive.
 *
 * A file is read into private memory, not mapped: whoever shortens it can't
 * give us a SIGBUS, and what has been checked stays as it was.  The owner
 * writes meanwhile, so that counters of one row may be a moment apart.
 *
 * Invariant: every record of an image that a function here returns lies
 * within image->bytes as a whole, with all its variable part.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "process/process.h"
#include "reader/profile_reader.h"
#include "reader/server_processes.h"

/* Room that the variable part of a record may take. */
static Size
payload_bytes(const PlhRecord *record, Size fixed_bytes)
{
	return record->bytes - fixed_bytes;
}

/* Does the record, which is in the image as a whole, hold what it says? */
static bool
is_sound(const PlhRecord *record)
{
	switch ((PlhRecordKind) record->kind)
	{
		case PLH_RECORD_MODULE:
			{
				const PlhModuleRecord *module = (const PlhModuleRecord *) record;
				Size		fixed = offsetof(PlhModuleRecord, path);

				return record->bytes > fixed &&
					module->path_bytes < MAXPGPATH &&
					module->path_bytes < payload_bytes(record, fixed) &&
					module->path[module->path_bytes] == '\0' &&
					module->build_id_bytes <= PLH_BUILD_ID_MAX;
			}
		case PLH_RECORD_STRING:
			{
				const PlhStringRecord *string = (const PlhStringRecord *) record;
				Size		fixed = offsetof(PlhStringRecord, text);

				return record->bytes > fixed &&
					string->text_bytes < payload_bytes(record, fixed) &&
					string->text[string->text_bytes] == '\0';
			}
		case PLH_RECORD_STATEMENT:
			{
				const PlhStatementRecord *statement = (const PlhStatementRecord *) record;
				Size		fixed = offsetof(PlhStatementRecord, text);

				return record->bytes > fixed &&
					statement->text_bytes < payload_bytes(record, fixed) &&
					statement->text[statement->text_bytes] == '\0';
			}
		case PLH_RECORD_STACK:
			{
				const PlhStackRecord *stack = (const PlhStackRecord *) record;
				Size		fixed = offsetof(PlhStackRecord, frames);

				return record->bytes >= fixed &&
					stack->depth <= payload_bytes(record, fixed) / sizeof(PlhFrame);
			}
		case PLH_RECORD_SITE:
			return record->bytes >= sizeof(PlhSiteRecord);
		case PLH_RECORD_CONTEXT:
			return record->bytes >= sizeof(PlhContextRecord);
	}
	return false;
}

/* The record at an offset if there is one, of that kind and sound. */
static const void *
record_at(const PlhProfileImage *image, uint32 offset, PlhRecordKind kind)
{
	const PlhRecord *record;

	if (offset < sizeof(PlhProfileHeader) || offset % 8 != 0 ||
		offset + sizeof(PlhRecord) > image->bytes)
		return NULL;

	record = (const PlhRecord *) ((const char *) image->header + offset);
	if (record->kind != kind || record->bytes > image->bytes - offset ||
		!is_sound(record))
		return NULL;
	return record;
}

/*
 * The next record of that kind at *position or behind, which is moved on;
 * start with 0.  NULL at the end, or where the chain of records breaks.
 */
static const void *
next_record(const PlhProfileImage *image, PlhRecordKind kind,
			uint32 *position)
{
	Size		offset = *position == 0 ? MAXALIGN(sizeof(PlhProfileHeader)) :
		*position;

	while (offset + sizeof(PlhRecord) <= image->bytes)
	{
		const PlhRecord *record =
			(const PlhRecord *) ((const char *) image->header + offset);
		Size		bytes = record->bytes;

		if (bytes < sizeof(PlhRecord) || bytes % 8 != 0 ||
			bytes > image->bytes - offset)
			break;
		*position = offset + bytes;
		if (record_at(image, offset, kind) != NULL)
			return record;
		offset += bytes;
	}
	return NULL;
}

/* Enter the modules of an image into its table. */
static void
index_modules(PlhProfileImage *image)
{
	const PlhModuleRecord *module;
	uint32		position = 0;

	memset(image->modules, 0, sizeof(image->modules));
	while ((module = next_record(image, PLH_RECORD_MODULE, &position)) != NULL)
	{
		if (module->index < PLH_IMAGE_MODULES)
			image->modules[module->index] = (const char *) module -
				(const char *) image->header;
	}
}

/*
 * An image of this process' own profile, where it is: nothing is copied, or
 * allocated.  Valid until the next call.
 */
PlhProfileImage *
plh_profile_reader_own(const PlhProfileHeader *header)
{
	static PlhProfileImage own;

	own.header = header;
	own.bytes = header->used_bytes;
	own.alive = true;
	own.path[0] = '\0';
	index_modules(&own);
	return &own;
}

/*
 * Make a profile that was put together in memory, whose owner is not to be
 * asked, the contents of an image.
 */
void
plh_profile_reader_adopt(PlhProfileImage *image, PlhProfileHeader *header)
{
	image->header = header;
	image->bytes = header->used_bytes;
	image->alive = false;
	index_modules(image);
}

/* Read "bytes" of a file from its start; false if it has fewer. */
static bool
read_start(int fd, char *buffer, Size bytes)
{
	Size		done = 0;

	while (done < bytes)
	{
		ssize_t		got = pread(fd, buffer + done, bytes - done, done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += got;
	}
	return true;
}

/* Is that the header of a profile that this version wrote? */
static bool
is_profile(const PlhProfileHeader *header, Size file_bytes)
{
	return memcmp(header->magic, PLH_PROFILE_MAGIC,
				  sizeof(header->magic)) == 0 &&
		header->layout_version == PLH_LAYOUT_VERSION &&
		header->pg_version / 10000 == PG_VERSION_NUM / 10000 &&
		header->used_bytes >= sizeof(PlhProfileHeader) &&
		header->used_bytes <= file_bytes;
}

/*
 * Read an open file into an image in the current memory context.  Returns
 * NULL if it is no profile of ours.
 */
static PlhProfileImage *
read_image(int fd, const char *path, bool header_only)
{
	struct stat status;
	PlhProfileHeader start;
	PlhProfileHeader *header;
	PlhProfileImage *image;
	Size		bytes;

	/* in this order: the file may grow between the two, but never shrinks */
	if (!read_start(fd, (char *) &start, sizeof(start)) ||
		fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
		status.st_uid != geteuid() ||
		!is_profile(&start, status.st_size))
		return NULL;

	bytes = header_only ? sizeof(PlhProfileHeader) : start.used_bytes;
	header = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	if (!read_start(fd, (char *) header, bytes))
		return NULL;
	header->label[sizeof(header->label) - 1] = '\0';

	image = palloc0(sizeof(PlhProfileImage));
	image->header = header;
	image->bytes = bytes;
	image->alive = header->process_start != 0 &&
		header->process_start == plh_server_processes_start_ticks(header->pid);
	strlcpy(image->path, path, sizeof(image->path));
	index_modules(image);
	return image;
}

/* Has the file's owner removed it since we opened it? */
static bool
is_unlinked(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_nlink == 0;
}

/*
 * The image of a file, in the current memory context; NULL if it is gone, no
 * profile, which is a WARNING, or not that of the process "pid", if not 0.
 */
static PlhProfileImage *
open_image(const char *path, int pid, bool header_only)
{
	PlhProfileImage *image;
	bool		exited;
	int			fd = OpenTransientFile(path,
									   O_RDONLY | O_NOFOLLOW | PG_BINARY);

	/* gone again already is no error */
	if (fd < 0)
		return NULL;
	image = read_image(fd, path, header_only);

	/* cleanly, while we were reading: not a crash */
	exited = image != NULL && !image->alive && is_unlinked(fd);
	CloseTransientFile(fd);
	if (image == NULL)
		ereport(WARNING,
				(errmsg("ignoring file \"%s\"", path),
				 errdetail("It is not a profile of this version of pg_leakhunt.")));
	return image == NULL || exited ||
		(pid != 0 && image->header->pid != pid) ? NULL : image;
}

/* Visit one file, in a memory context of its own. */
static void
visit_file(const char *path, int pid, bool header_only,
		   PlhProfileVisitor visit, void *arg)
{
	MemoryContext file_context = AllocSetContextCreate(CurrentMemoryContext,
													   "pg_leakhunt profile image",
													   ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(file_context);
	PlhProfileImage *image = open_image(path, pid, header_only);

	MemoryContextSwitchTo(caller_context);
	if (image != NULL)
		visit(image, arg);
	MemoryContextDelete(file_context);
}

/*
 * Call "visit" with the image of each profile in the directory, or of those
 * of one pid.  Without "header_only" with all records.  The image is gone
 * when the visitor returns.
 */
void
plh_profile_reader_each(const char *directory, int pid, bool header_only,
						PlhProfileVisitor visit, void *arg)
{
	DIR		   *dir = AllocateDir(directory);
	struct dirent *entry;
	char		path[MAXPGPATH + NAME_MAX];

	/* a directory that is gone has no profiles */
	while ((entry = ReadDirExtended(dir, directory, LOG)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();

		/* PID, or PID.SECONDS of a dead one that another process replaced */
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
			(pid != 0 && atoi(entry->d_name) != pid))
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		visit_file(path, pid, header_only, visit, arg);
	}
	FreeDir(dir);
}

/*
 * The image of the process with that pid, the dead ones that had it left aside
 * as far as there is another; NULL if it has no profile.
 */
PlhProfileImage *
plh_profile_reader_find(const char *directory, int pid)
{
	char		path[MAXPGPATH + 16];

	/* a process that finds the profile of a dead one in its way moves it */
	snprintf(path, sizeof(path), "%s/%d", directory, pid);
	return open_image(path, pid, false);
}

/*
 * The next site at *position or behind, which is moved on; start with 0.
 * NULL at the end.
 */
const PlhSiteRecord *
plh_profile_reader_next_site(const PlhProfileImage *image, uint32 *position)
{
	return next_record(image, PLH_RECORD_SITE, position);
}

/*
 * What the owner is; as it says itself, or as this version calls it.
 */
const char *
plh_profile_reader_backend_type(const PlhProfileImage *image)
{
	return image->header->label[0] != '\0' ? image->header->label :
		GetBackendTypeDesc(image->header->backend_type);
}

/*
 * Where a record is in the profile, which never changes.
 */
uint32
plh_profile_reader_offset(const PlhProfileImage *image, const void *record)
{
	return (const char *) record - (const char *) image->header;
}

/*
 * What a site held when the process held most.
 */
int64
plh_profile_reader_peak_bytes(const PlhProfileImage *image,
							  const PlhSiteRecord *site)
{
	return site->last_change > image->header->peak_change ?
		site->peak_bytes : site->counters.live_bytes;
}

/*
 * The next memory contexts at *position or behind, likewise.
 */
const PlhContextRecord *
plh_profile_reader_next_context(const PlhProfileImage *image,
								uint32 *position)
{
	return next_record(image, PLH_RECORD_CONTEXT, position);
}

/*
 * Samples of that process that are not counted as live, or not at their site.
 */
int64
plh_profile_reader_lost_samples(const PlhProfileHeader *header)
{
	int64		sum = 0;

	for (int loss = 0; loss < PLH_LOSSES; loss++)
		sum += header->lost_samples[loss];
	return sum;
}

/*
 * The stack at an offset; NULL if it has no frames, as libunwind found none.
 */
const PlhStackRecord *
plh_profile_reader_stack(const PlhProfileImage *image, uint32 offset)
{
	const PlhStackRecord *stack = record_at(image, offset, PLH_RECORD_STACK);

	return stack != NULL && stack->depth > 0 ? stack : NULL;
}

/*
 * The statement at an offset.
 */
const PlhStatementRecord *
plh_profile_reader_statement(const PlhProfileImage *image, uint32 offset)
{
	return record_at(image, offset, PLH_RECORD_STATEMENT);
}

/*
 * The string at an offset.
 */
const PlhStringRecord *
plh_profile_reader_string(const PlhProfileImage *image, uint32 offset)
{
	return record_at(image, offset, PLH_RECORD_STRING);
}

/*
 * The module that frames refer to by "index".
 */
const PlhModuleRecord *
plh_profile_reader_module(const PlhProfileImage *image, uint32 index)
{
	if (index >= PLH_IMAGE_MODULES)
		return NULL;
	return record_at(image, image->modules[index], PLH_RECORD_MODULE);
}

/*
 * dump.c
 *	  Heap files: a profile as text that outlives its process.
 *
 * The form is the one that both jeprof and Go's pprof read; what else we know
 * stands in lines that start with "#", which both skip.  src/README, "Dump
 * files", describes every line.
 *
 * A file is written under a temporary name, checked, synced and renamed, so
 * that none is ever seen half-written.  No palloc and no ERROR in this file.
 */
#include "postgres.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "common/hashfn.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/timestamp.h"

#include "dump.h"
#include "lifetime.h"
#include "sampling.h"
#include "settings.h"

#define DUMP_VERSION 1

/* A file that is being written. */
typedef struct DumpFile
{
	int			fd;
	int			saved_errno;	/* of the first failure; 0 = none */
	Size		used;			/* bytes in the buffer */
	char		buffer[16 * 1024];
} DumpFile;

/* Static, as an exiting process may be out of memory. */
static DumpFile dump_file;

/* Made-up load addresses: slots of that size, from that address on. */
#define SLOT_BITS 28
#define SLOT_COUNT ((uint64) 1 << 18)
#define SLOT_BASE ((uint64) 1 << 44)

static uint64 slot_of_module[PLH_IMAGE_MODULES];	/* by index */

static void
flush_file(DumpFile *file)
{
	Size		done = 0;

	while (done < file->used && file->saved_errno == 0)
	{
		ssize_t		written;

		errno = 0;
		written = write(file->fd, file->buffer + done, file->used - done);
		if (written > 0)
			done += written;
		else if (errno != EINTR)
			file->saved_errno = errno != 0 ? errno : ENOSPC;
	}
	file->used = 0;
}

static void emit(DumpFile *file, const char *format,...) pg_attribute_printf(2, 3);

/* Append formatted text of at most a few thousand bytes. */
static void
emit(DumpFile *file, const char *format,...)
{
	va_list		args;
	Size		room;
	int			length;

	if (sizeof(file->buffer) - file->used < 4096)
		flush_file(file);
	room = sizeof(file->buffer) - file->used;
	va_start(args, format);
	length = vsnprintf(file->buffer + file->used, room, format, args);
	va_end(args);
	if (length > 0)
		file->used += Min((Size) length, room - 1);
}

/*
 * Append " name=value", the value's white space, control characters and '%'
 * as %XX, so that any value stays within its line.
 */
static void
emit_value(DumpFile *file, const char *name, const char *value, Size bytes)
{
	emit(file, " %s=", name);
	for (Size i = 0; i < bytes; i++)
	{
		unsigned char c = value[i];

		if (c <= ' ' || c == '%' || c == 0x7F)
			emit(file, "%%%02X", c);
		else
			emit(file, "%c", c);
	}
}

/* Is the slot given to a module with a lower index? */
static bool
slot_is_taken(uint64 slot, uint32 index)
{
	for (uint32 other = 1; other < index; other++)
	{
		if (slot_of_module[other] == slot)
			return true;
	}
	return false;
}

/*
 * Give each module the load address that its build-id makes up, the same in
 * every dump: addresses in dumps of different processes can be compared.
 */
static void
place_modules(const PlhProfileImage *image)
{
	memset(slot_of_module, 0, sizeof(slot_of_module));
	for (uint32 index = 1; index < PLH_IMAGE_MODULES; index++)
	{
		const PlhModuleRecord *module = plh_profile_reader_module(image, index);
		uint64		hash;

		if (module == NULL)
			break;
		if (module->build_id_bytes > 0)
			hash = hash_bytes_extended(module->build_id,
									   module->build_id_bytes, 0);
		else
			hash = hash_bytes_extended((const unsigned char *) module->path,
									   module->path_bytes, 0);
		slot_of_module[index] = hash % SLOT_COUNT;
		while (slot_is_taken(slot_of_module[index], index))
			slot_of_module[index] = (slot_of_module[index] + 1) % SLOT_COUNT;
	}
}

static uint64
base_of_module(uint32 index)
{
	return SLOT_BASE + (slot_of_module[index] << SLOT_BITS);
}

/* Where a frame is in the dump's made-up address space. */
static uint64
address_of_frame(const PlhProfileImage *image, PlhFrame frame)
{
	uint32		index = PLH_FRAME_MODULE(frame);
	uint64		address = PLH_FRAME_ADDRESS(frame);

	if (plh_profile_reader_module(image, index) == NULL)
		return address;
	return base_of_module(index) + address;
}

/* Microseconds since 1970. */
static long long
unix_us(TimestampTz time)
{
	return (long long) time +
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
}

/* "objects: bytes [objects: bytes]", in which objects need bytes for jeprof. */
static void
emit_counters(DumpFile *file, const PlhCounters *counters)
{
	emit(file, "%lld: %lld [%lld: %lld] @",
		 (long long) (counters->live_bytes > 0 ? counters->live_count : 0),
		 (long long) counters->live_bytes,
		 (long long) (counters->total_bytes > 0 ? counters->total_count : 0),
		 (long long) counters->total_bytes);
}

/* What is known of the process. */
static void
emit_header(DumpFile *file, const PlhProfileHeader *header,
			const char *reason)
{
	const char *type = header->label[0] != '\0' ? header->label :
	GetBackendTypeDesc(header->backend_type);

	emit(file, "heap profile: ");
	emit_counters(file, &header->counters);
	emit(file, " heapprofile\n");

	emit(file, "# pg_leakhunt dump_version=%d reason=%s pid=%d",
		 DUMP_VERSION, reason, header->pid);
	emit_value(file, "backend_type", type, strlen(type));
	emit(file, " database_oid=%u role_oid=%u encoding=%d\n",
		 header->database_oid, header->role_oid, header->encoding);

	emit(file, "# postgres=%u started_at_us=%lld written_at_us=%lld sample_interval=%u scope=%s\n",
		 header->pg_version, unix_us(header->started_at),
		 unix_us(GetCurrentTimestamp()), header->sample_interval,
		 plh_settings_scope_name(header->scope));
	emit(file, "# samples_live=%lld samples_kept=%lld samples_taken=%lld peak_bytes=%lld private_bytes=%lld profile_bytes=%lld\n",
		 (long long) header->counters.live_samples,
		 (long long) header->counters.total_samples,
		 (long long) header->samples_taken, (long long) header->peak_bytes,
		 (long long) header->private_bytes, (long long) header->profile_bytes);
	emit(file, "# lost_untracked=%lld lost_untracked_bytes=%lld lost_site=%lld lost_site_bytes=%lld lost_critical=%lld lost_critical_bytes=%lld\n",
		 (long long) header->lost_samples[PLH_LOSS_LIVE_TABLE],
		 (long long) header->lost_bytes[PLH_LOSS_LIVE_TABLE],
		 (long long) header->lost_samples[PLH_LOSS_PROFILE],
		 (long long) header->lost_bytes[PLH_LOSS_PROFILE],
		 (long long) header->lost_samples[PLH_LOSS_CRITICAL],
		 (long long) header->lost_bytes[PLH_LOSS_CRITICAL]);
}

/* What is known of a site, beside its figures and its stack. */
static void
emit_site_facts(DumpFile *file, const PlhProfileImage *image,
				const PlhSiteRecord *site, const PlhStackRecord *stack)
{
	const PlhCounters *counters = &site->counters;
	const PlhStringRecord *context =
	plh_profile_reader_string(image, site->key.context_name);
	const PlhStatementRecord *statement =
	plh_profile_reader_statement(image, site->key.statement);

	emit(file, "#");
	if (context != NULL)
		emit_value(file, "context", context->text, context->text_bytes);
	if (context != NULL)
		emit(file, " lifetime=%s", plh_lifetime_name(site->key.lifetime));
	if (statement != NULL && statement->query_id != 0)
		emit(file, " query_id=%lld", (long long) statement->query_id);
	emit(file, " live_count=%lld total_count=%lld samples=%lld total_samples=%lld error_bytes=%.0f first_at_us=%lld last_at_us=%lld truncated=%d",
		 (long long) counters->live_count, (long long) counters->total_count,
		 (long long) counters->live_samples,
		 (long long) counters->total_samples,
		 plh_sampling_error_bytes(counters->live_variance,
								  counters->live_bytes,
								  counters->live_samples),
		 unix_us(counters->first_at), unix_us(counters->last_at),
		 stack != NULL && stack->truncated ? 1 : 0);
	if (statement != NULL && statement->text_bytes > 0)
		emit_value(file, "query", statement->text, statement->text_bytes);
	emit(file, "\n");
}

/*
 * One site.  Frames are return addresses minus one.  jeprof subtracts one from
 * all addresses but the first, pprof from all: with one added to all but the
 * first, every address is within the call for both.
 */
static void
emit_site(DumpFile *file, const PlhProfileImage *image,
		  const PlhSiteRecord *site)
{
	const PlhStackRecord *stack = plh_profile_reader_stack(image,
														   site->key.stack);

	emit_site_facts(file, image, site, stack);
	emit_counters(file, &site->counters);
	if (stack == NULL || stack->depth == 0)
		emit(file, " 0x1");		/* in no module: no stack is known */
	else
	{
		for (uint32 i = 0; i < stack->depth; i++)
			emit(file, " 0x%llx",
				 (unsigned long long) address_of_frame(image,
													   stack->frames[i]) +
				 (i > 0 ? 1 : 0));
	}
	emit(file, "\n");
}

/* All sites that ever had a sample; returns how many have live ones. */
static uint32
emit_sites(DumpFile *file, const PlhProfileImage *image)
{
	const PlhSiteRecord *site;
	uint32		position = 0;
	uint32		live_sites = 0;

	while ((site = plh_profile_reader_next_site(image, &position)) != NULL)
	{
		if (site->counters.total_samples == 0)
			continue;
		if (site->counters.live_count > 0)
			live_sites++;
		emit_site(file, image, site);
	}
	return live_sites;
}

/* The modules, in the form of /proc/PID/maps. */
static void
emit_modules(DumpFile *file, const PlhProfileImage *image)
{
	const PlhModuleRecord *module;

	emit(file, "\nMAPPED_LIBRARIES:\n");
	for (uint32 index = 1;
		 (module = plh_profile_reader_module(image, index)) != NULL;
		 index++)
	{
		uint64		start = base_of_module(index) + module->text_address;

		emit(file, "%llx-%llx r-xp %08llx 00:00 0 ",
			 (unsigned long long) start,
			 (unsigned long long) (start + module->text_bytes),
			 (unsigned long long) module->text_file_offset);
		emit(file, "%s\n", module->path);
	}
}

/* The build-ids, which tell whether a binary is still the same. */
static void
emit_build_ids(DumpFile *file, const PlhProfileImage *image)
{
	const PlhModuleRecord *module;

	for (uint32 index = 1;
		 (module = plh_profile_reader_module(image, index)) != NULL;
		 index++)
	{
		emit(file, "# module base=0x%llx build_id=",
			 (unsigned long long) base_of_module(index));
		for (uint32 i = 0; i < module->build_id_bytes; i++)
			emit(file, "%02x", module->build_id[i]);
		emit_value(file, "path", module->path, module->path_bytes);
		emit(file, "\n");
	}
}

/* The parts of "PID.SEQ.REASON.heap"; false if the name has another form. */
static bool
parse_name(const char *name, int *pid, int *sequence)
{
	int			end = 0;

	return sscanf(name, "%d.%d.%*[a-z].heap%n", pid, sequence, &end) == 2 &&
		end > 0 && name[end] == '\0';
}

/* The first sequence number that no file of that pid has. */
static int
next_sequence(int dump_pid)
{
	DIR		   *dir = opendir(plh_fixed.dump_directory);
	struct dirent *entry;
	int			highest = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
	{
		int			pid;
		int			sequence;

		if (parse_name(entry->d_name, &pid, &sequence) && pid == dump_pid)
			highest = Max(highest, sequence);
	}
	if (dir != NULL)
		closedir(dir);
	return highest + 1;
}

/* Is "left" older than "right"? */
static bool
is_older(const struct stat *left, const struct stat *right)
{
	if (left->st_mtim.tv_sec != right->st_mtim.tv_sec)
		return left->st_mtim.tv_sec < right->st_mtim.tv_sec;
	return left->st_mtim.tv_nsec < right->st_mtim.tv_nsec;
}

/* Number of dump files, and the path of the oldest. */
static int
count_dumps(char *oldest, Size oldest_size)
{
	DIR		   *dir = opendir(plh_fixed.dump_directory);
	struct dirent *entry;
	struct stat oldest_status = {0};
	int			count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
	{
		char		path[MAXPGPATH + NAME_MAX];
		struct stat status;
		int			pid;
		int			sequence;

		snprintf(path, sizeof(path), "%s/%s", plh_fixed.dump_directory,
				 entry->d_name);
		if (!parse_name(entry->d_name, &pid, &sequence) ||
			lstat(path, &status) != 0 || !S_ISREG(status.st_mode))
			continue;
		if (count++ == 0 || is_older(&status, &oldest_status))
		{
			strlcpy(oldest, path, oldest_size);
			oldest_status = status;
		}
	}
	if (dir != NULL)
		closedir(dir);
	return count;
}

/* Remove the oldest files beyond dump_keep. */
static void
remove_old_dumps(void)
{
	char		oldest[MAXPGPATH + NAME_MAX];

	while (count_dumps(oldest, sizeof(oldest)) > plh_dump_keep)
	{
		if (unlink(oldest) != 0 && errno != ENOENT)
		{
			ereport(WARNING,
					(errcode_for_file_access(),
					 errmsg("could not remove dump file \"%s\": %m", oldest)));
			break;
		}
	}
}

static bool
report_failure(const char *path, int failure)
{
	errno = failure;
	ereport(WARNING,
			(errcode_for_file_access(),
			 errmsg("could not write dump file \"%s\": %m", path)));
	return false;
}

/* Sync the directory, so that the new name is safe, too. */
static void
sync_directory(void)
{
	int			fd = open(plh_fixed.dump_directory, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void) pg_fsync(fd);
	close(fd);
}

/* Write, sync and close the open file; returns an errno or 0. */
static int
write_contents(DumpFile *file, const PlhProfileImage *image,
			   const char *reason, PlhDumpResult *result)
{
	place_modules(image);
	emit_header(file, image->header, reason);
	emit_build_ids(file, image);
	result->sites = emit_sites(file, image);
	emit_modules(file, image);
	flush_file(file);

	if (file->saved_errno == 0 && pg_fsync(file->fd) != 0)
		file->saved_errno = errno;
	if (close(file->fd) != 0 && file->saved_errno == 0)
		file->saved_errno = errno;
	return file->saved_errno;
}

/*
 * Write a dump of the image; "reason" becomes part of its name.  Returns
 * whether it was written, and its path in "result".
 */
bool
plh_dump_write(const PlhProfileImage *image, const char *reason,
			   PlhDumpResult *result)
{
	char		temporary[MAXPGPATH + 64];
	int			pid = image->header->pid;
	int			failure;

	if (mkdir(plh_fixed.dump_directory, pg_dir_create_mode) != 0 && errno != EEXIST)
		return report_failure(plh_fixed.dump_directory, errno);

	snprintf(result->path, sizeof(result->path), "%s/%d.%d.%s.heap",
			 plh_fixed.dump_directory, pid, next_sequence(pid), reason);
	snprintf(temporary, sizeof(temporary), "%s/%d.tmp", plh_fixed.dump_directory,
			 (int) getpid());

	dump_file.used = 0;
	dump_file.saved_errno = 0;
	dump_file.fd = open(temporary,
						O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
						S_IRUSR | S_IWUSR);
	if (dump_file.fd < 0)
		return report_failure(temporary, errno);

	failure = write_contents(&dump_file, image, reason, result);
	if (failure == 0 && rename(temporary, result->path) != 0)
		failure = errno;
	if (failure != 0)
	{
		unlink(temporary);
		return report_failure(result->path, failure);
	}
	sync_directory();
	remove_old_dumps();
	return true;
}

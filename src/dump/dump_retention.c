/*
 * dump_retention.c
 *	  Which dump files stay: their number of each reason, and their bytes.
 *
 * Of a reason that has too much (src/dump/README), the oldest of the role that has most goes first:
 * so no role that makes many cheap dumps pushes out those of another, which has fewer.
 *
 * All dumps in the directory count, whoever wrote them, and texts whose dumps are gone, as those of
 * former versions.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/directory_names.h"
#include "base/fork.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "base/whole_io.h"
#include "dump/dump_retention.h"
#include "profile/dump_names.h"
#include "profile/profile_image.h"

/* One call removes at most that many dumps. */
#define MAX_REMOVED 64

/* Of that many dumps it chooses; of more, it takes those that it meets first. */
#define MAX_DUMPS 2048

/* Dumps of more reasons than these are not looked at. */
#define MAX_REASONS 8

/*
 * To read a directory of many files takes longer than to write one.  So one writer of some looks
 * for old dumps: of so few that the number of dumps exceeds dump_keep by about a tenth.
 */
#define EXCESS_DIVISOR 10
#define MAX_WRITERS 8

/* A file is written within seconds: one left incomplete for an hour has lost its writer. */
#define ABANDONED_SECONDS 3600

/* A dump with its text, or a text whose dump is gone. */
typedef struct DumpFiles
{
	PlhDumpName name;
	int64		bytes;
	struct timespec written_at;
	uint64		system_identifier;	/* of the cluster that the role is of */
	Oid			role;			/* InvalidOid: none, or not known */
	int			younger;		/* dumps of that role and reason */
} DumpFiles;

/* The dumps of one reason. */
typedef struct ReasonFiles
{
	char		reason[sizeof(((PlhDumpName *) NULL)->reason)];
	int			dumps;
	int			listed;			/* of these, in Directory.dumps */
	int64		bytes;
	int			next;			/* to go, of the dumps in their order */
} ReasonFiles;

/* All that is in the directory. */
typedef struct Directory
{
	int			reason_count;
	ReasonFiles reasons[MAX_REASONS];
	int64		bytes;
	int			dump_count;
	DumpFiles	dumps[MAX_DUMPS];
} Directory;

static bool
look_at(const PlhDumpName *name, struct stat *status)
{
	char		path[PLH_PATH_MAX];

	plh_dump_names_path(path, sizeof(path), name);
	return lstat(path, status) == 0 && S_ISREG(status->st_mode);
}

/* Look at a dump and its text.  False for a text whose dump is there: it counts with that. */
static bool
look_at_dump(DumpFiles *files, const PlhDumpName *name)
{
	PlhDumpName other = *name;
	struct stat status;
	struct stat other_status;
	bool		has_other;

	other.is_text = !name->is_text;
	if (!look_at(name, &status))
		return false;
	has_other = look_at(&other, &other_status);
	if (name->is_text && has_other)
		return false;
	files->name = *name;
	files->bytes = status.st_size + (has_other ? other_status.st_size : 0);
	files->written_at = status.st_mtim;
	return true;
}

/* Note whose dump it is, if that is known: not of a mere text, or of another layout. */
static void
note_role(DumpFiles *files)
{
	char		path[PLH_PATH_MAX];
	union
	{
		PlhProfileHeader header;
		char		bytes[offsetof(PlhProfileHeader, label)];
	}			begin;
	int			fd;

	files->role = InvalidOid;
	files->system_identifier = 0;
	if (files->name.is_text)
		return;
	plh_dump_names_path(path, sizeof(path), &files->name);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (plh_whole_io_read(fd, begin.bytes, sizeof(begin.bytes), 0) == sizeof(begin.bytes) &&
		plh_profile_image_has_layout(&begin.header))
	{
		files->role = begin.header.role_oid;
		files->system_identifier = begin.header.system_identifier;
	}
	close(fd);
}

/* Returns the entry of a reason; NULL if there is no room for it. */
static ReasonFiles *
entry_of(Directory *directory, const char *reason)
{
	ReasonFiles *entry = directory->reasons;

	for (int i = 0; i < directory->reason_count; i++, entry++)
	{
		if (strcmp(entry->reason, reason) == 0)
			return entry;
	}
	if (directory->reason_count == MAX_REASONS)
		return NULL;
	directory->reason_count++;
	strlcpy(entry->reason, reason, sizeof(entry->reason));
	return entry;
}

static bool
is_older(const struct timespec *left, const struct timespec *right)
{
	return left->tv_sec != right->tv_sec ? left->tv_sec < right->tv_sec :
		left->tv_nsec < right->tv_nsec;
}

/* qsort comparator: by reason, role, and then age, the youngest first. */
static int
compare_owners(const void *a, const void *b)
{
	const DumpFiles *one = a;
	const DumpFiles *other = b;
	int			reasons = strcmp(one->name.reason, other->name.reason);

	if (reasons != 0)
		return reasons;
	if (one->role != other->role)
		return one->role < other->role ? -1 : 1;
	if (one->system_identifier != other->system_identifier)
		return one->system_identifier < other->system_identifier ? -1 : 1;
	return is_older(&one->written_at, &other->written_at) ? 1 :
		is_older(&other->written_at, &one->written_at) ? -1 : 0;
}

/*
 * qsort comparator: by reason, and then in the order in which they are to go.  The dump that has
 * most younger ones of its role is the oldest of the role that has most; among equals, the oldest
 * goes first.
 */
static int
compare_turns(const void *a, const void *b)
{
	const DumpFiles *one = a;
	const DumpFiles *other = b;
	int			reasons = strcmp(one->name.reason, other->name.reason);

	if (reasons != 0)
		return reasons;
	if (one->younger != other->younger)
		return one->younger > other->younger ? -1 : 1;
	return is_older(&one->written_at, &other->written_at) ? -1 :
		is_older(&other->written_at, &one->written_at) ? 1 : 0;
}

static bool
is_same_owner(const DumpFiles *one, const DumpFiles *other)
{
	return one->role == other->role &&
		one->system_identifier == other->system_identifier &&
		strcmp(one->name.reason, other->name.reason) == 0;
}

/* Put the dumps in the order in which they are to go. */
static void
order_dumps(Directory *directory)
{
	DumpFiles  *dumps = directory->dumps;
	int			count = directory->dump_count;

	qsort(dumps, count, sizeof(DumpFiles), compare_owners);
	for (int i = 0; i < count; i++)
		dumps[i].younger = i > 0 && is_same_owner(&dumps[i], &dumps[i - 1]) ?
			dumps[i - 1].younger + 1 : 0;
	qsort(dumps, count, sizeof(DumpFiles), compare_turns);
	for (int i = 0; i < directory->reason_count; i++)
	{
		ReasonFiles *reason = &directory->reasons[i];

		while (reason->next < count && strcmp(dumps[reason->next].name.reason, reason->reason) != 0)
			reason->next++;
	}
}

/* PlhNameVisitor: count a dump. */
static void
count_dump(const char *name, void *arg)
{
	Directory  *directory = arg;
	PlhDumpName parsed;
	DumpFiles	files;
	ReasonFiles *reason;

	if (!plh_dump_names_parse(name, &parsed) || !look_at_dump(&files, &parsed) ||
		(reason = entry_of(directory, parsed.reason)) == NULL)
		return;
	reason->dumps++;
	reason->bytes += files.bytes;
	directory->bytes += files.bytes;
	if (directory->dump_count == MAX_DUMPS)
		return;
	note_role(&files);
	reason->listed++;
	directory->dumps[directory->dump_count++] = files;
}

/*
 * Is there a dump of that reason that may go?  Where others are not listed, the last one that is
 * may be the youngest of all.
 */
static bool
has_next(const ReasonFiles *reason)
{
	return reason->listed > (reason->dumps > reason->listed ? 1 : 0);
}

/* Returns the reason of which a dump has to go; NULL if none has to, or can. */
static ReasonFiles *
excessive_reason(Directory *directory)
{
	ReasonFiles *largest = NULL;

	for (int i = 0; i < directory->reason_count; i++)
	{
		ReasonFiles *reason = &directory->reasons[i];

		if (!has_next(reason))
			continue;
		if (reason->dumps > plh_dump_keep)
			return reason;
		if (reason->dumps > 1 && (largest == NULL || reason->bytes > largest->bytes))
			largest = reason;
	}
	return directory->bytes > plh_dump_max_size ? largest : NULL;
}

/* Remove a file that may be gone.  Returns an errno or 0. */
static int
remove_file(const PlhDumpName *name)
{
	char		path[PLH_PATH_MAX];

	plh_dump_names_path(path, sizeof(path), name);
	return unlink(path) == 0 || errno == ENOENT ? 0 : errno;
}

/* Remove the next dump of a reason, with its text.  Returns an errno or 0. */
static int
remove_next(Directory *directory, ReasonFiles *reason)
{
	DumpFiles  *files = &directory->dumps[reason->next];
	PlhDumpName other = files->name;
	int			failure = remove_file(&files->name);

	reason->next++;
	reason->dumps--;
	reason->listed--;
	reason->bytes -= files->bytes;
	directory->bytes -= files->bytes;
	other.is_text = !other.is_text;
	return failure != 0 ? failure : remove_file(&other);
}

/* Remove dumps beyond the limits, as far as one look tells.  Returns an errno or 0. */
int
plh_dump_retention_trim(void)
{
	/* too large for a stack, and filled anew each time */
	static PLH_SURVIVES_FORK PLH_LARGE Directory directory;
	ReasonFiles *reason;
	int			failure;

	memset(&directory, 0, offsetof(Directory, dumps));
	failure = plh_directory_names_visit(plh_load_settings.dump_directory, count_dump, &directory);
	if (failure == 0)
		order_dumps(&directory);
	for (int i = 0; i < MAX_REMOVED && failure == 0 &&
		 (reason = excessive_reason(&directory)) != NULL; i++)
		failure = remove_next(&directory, reason);
	return failure == ENOENT ? 0 : failure;
}

/* The same, or leave it to another writer. */
int
plh_dump_retention_trim_sometimes(void)
{
	uint32		writers = Max(Min(plh_dump_keep / EXCESS_DIVISOR, MAX_WRITERS), 1);

	return plh_clock_us(CLOCK_REALTIME) % writers == 0 ? plh_dump_retention_trim() : 0;
}

/* PlhNameVisitor: remove an incomplete file that has lost its writer. */
static void
remove_if_abandoned(const char *name, void *arg)
{
	const time_t *now = arg;
	char		path[PLH_PATH_MAX];
	struct stat status;

	if (!plh_dump_names_is_temporary(name))
		return;
	snprintf(path, sizeof(path), "%s/%s", plh_load_settings.dump_directory, name);
	if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
		status.st_mtime < *now - ABANDONED_SECONDS)
		(void) unlink(path);
}

/* Remove what killed processes left incomplete; others may be at work in the directory. */
void
plh_dump_retention_remove_abandoned(void)
{
	time_t		now = time(NULL);

	(void) plh_directory_names_visit(plh_load_settings.dump_directory, remove_if_abandoned, &now);
}

/*
 * profile_reader.c
 *	  Reads the profiles of all processes of this server, dead or alive, into images.
 *
 * A file is read into private memory, not mapped: nobody who shortens it can give us a SIGBUS, and
 * bytes that have been checked do not change.  The owner writes meanwhile, so rows may be a moment
 * apart; what was copied in the middle of a change is read again: the owner must not wait for
 * readers, nor count what they could wait for at each palloc, so it numbers its changes, before the
 * counters and behind them (profile/profile_layout.h).  Where records were used again meanwhile, or
 * a census was taken, the file is read once more.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "base/fork.h"
#include "base/limits.h"
#include "base/process_facts.h"
#include "base/whole_io.h"
#include "profile/site_facts.h"
#include "reader/profile_reader.h"
#include "reader/proof_file.h"

/* Sums of the sites in an image. */
typedef struct SiteSums
{
	PlhCounters counters;
	int64		peak_bytes;
} SiteSums;

/* A change takes some 10 ns, unless its process has to wait for a processor in the middle. */
#define MAX_TRIES 200
#define TRIES_AT_ONCE 100
#define PAUSE_US 1000

/*
 * A site that was being changed while it was first copied may look as it was before: those that
 * were changed so lately are read again, too, in a process that goes on changing.
 */
#define LATELY 65536

/* What is read again of a header: all that counters are told with. */
#define COUNTERS_END (offsetof(PlhProfileHeader, peak_change) + sizeof(uint64))

/*
 * A file is read at most so often.  The owner ends a round of recycling after some hundred new
 * sites at the earliest, which takes it longer than a read.  A census may take longer than these
 * reads, or never end, as its process was stopped: then the figures are what they are.
 */
#define MAX_READS 20

/* A profile that is found may be renamed so often before it is read. */
#define MAX_RENAMES 3

/* How much a profile may grow while it is read. */
#define SPARE_BYTES (64 * 1024)

/* The owner goes on while the file is read, so that the parts may be more than the total. */
static int64
missing(int64 total, int64 parts)
{
	return Max(total - parts, 0);
}

/* Add what is missing in the sites' sums to the process' figures to a site. */
static void
add_missing(PlhSiteRecord *site, int64 site_peak_bytes,
			const PlhProfileHeader *header, const SiteSums *sums)
{
	const PlhCounters *all = &header->counters;
	const PlhCounters *seen = &sums->counters;
	PlhCounters *counters = &site->counters;

	counters->live_bytes += missing(all->live_bytes, seen->live_bytes);
	counters->live_count += missing(all->live_count, seen->live_count);
	counters->total_bytes += missing(all->total_bytes, seen->total_bytes);
	counters->total_count += missing(all->total_count, seen->total_count);
	counters->live_samples += missing(all->live_samples, seen->live_samples);
	counters->total_samples += missing(all->total_samples, seen->total_samples);
	counters->live_variance += Max(all->live_variance - seen->live_variance, 0);
	counters->first_at = all->first_at;
	counters->last_at = all->last_at;
	site->peak_bytes = site_peak_bytes + missing(header->peak_bytes, sums->peak_bytes);

	/* peak_bytes count from the next change after the peak on */
	site->last_change = Max(site->last_change, header->peak_change + 1);
}

/*
 * Give the catch-all site of the image what the image's other sites lack.  "header" is that of the
 * image, which can be changed.
 *
 * Where there is no room for all of a profile, its file has the figures of the process and a part
 * of its sites, or none.  The difference goes to the row of samples whose call site found no room,
 * so that sites add up to the process.
 */
static void
add_unpublished(const PlhProfileImage *image, PlhProfileHeader *header)
{
	SiteSums	sums = {{0}};
	const PlhSiteRecord *catch_all = plh_profile_image_site(image, header->catch_all_site);
	const PlhSiteRecord *site;
	uint32		position = 0;

	if (catch_all == NULL)
		return;
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		plh_site_facts_sum(&sums.counters, &site->counters);
		sums.peak_bytes += plh_site_peak_bytes(image->header, site);
	}
	add_missing((PlhSiteRecord *) ((char *) header + header->catch_all_site),
				plh_site_peak_bytes(image->header, catch_all), header, &sums);
}

static void
pause_before(int number)
{
	if (number >= TRIES_AT_ONCE)
		pg_usleep(PAUSE_US);
}

/* Are these the numbers of one change?  0 stands for none that is over. */
static bool
is_settled(uint32 settled, uint64 last_change)
{
	return settled == 0 || settled == (uint32) last_change;
}

/*
 * Read the first "bytes" of a record at an offset: first what lies before "counters", then what
 * lies before "last_change", then the rest.  Within each part the processor may read in any order.
 *
 * An x86-64 reads the parts of one call in their order.  Others need a barrier between two calls,
 * which take longer: so more changes come in between.
 */
static bool
read_in_order(int fd, void *record, Size counters, Size last_change, Size bytes, off_t offset)
{
	char	   *start = record;
	struct iovec parts[] = {
		{start, counters},
		{start + counters, last_change - counters},
		{start + last_change, bytes - last_change}
	};

#ifdef __x86_64__
	ssize_t		done;

	do
		done = preadv(fd, parts, lengthof(parts), offset);
	while (done < 0 && errno == EINTR);
	return done == (ssize_t) bytes;
#else
	for (int i = 0; i < lengthof(parts); i++)
	{
		if (plh_whole_io_read(fd, parts[i].iov_base, parts[i].iov_len, offset) !=
			(ssize_t) parts[i].iov_len)
			return false;
		offset += parts[i].iov_len;
		pg_read_barrier();
	}
	return true;
#endif
}

/* Take the counters of "again", but not what tells how much of the profile is there. */
static void
take_counters(PlhProfileHeader *header, const PlhProfileHeader *again)
{
	Size		start = offsetof(PlhProfileHeader, settled);
	uint32		round = header->round;

	memcpy((char *) header + start, (const char *) again + start, COUNTERS_END - start);
	header->round = round;
}

/*
 * Read the counters once more until they are those between two changes.  A change that is not
 * finished soon, as its process has been stopped or killed, is left as it is.
 */
static void
settle_header(int fd, PlhProfileHeader *header)
{
	PlhProfileHeader again;

	/* of the first copy nobody knows in which order it was made */
	for (int tries = 0; tries < MAX_TRIES && header->settled != 0; tries++)
	{
		pause_before(tries);
		if (!read_in_order(fd, &again, offsetof(PlhProfileHeader, counters),
						   offsetof(PlhProfileHeader, last_change),
						   COUNTERS_END, 0))
			return;
		take_counters(header, &again);
		if (is_settled(header->settled, header->last_change))
			return;
	}
}

/* NULL without any within the "bytes" of a copy: they may have been added behind it. */
static const PlhSpansRecord *
read_spans(int fd, PlhProfileHeader *header, Size bytes, uint32 offset)
{
	PlhSpansRecord *spans = (PlhSpansRecord *) ((char *) header + offset);
	PlhSpansRecord again;

	if (offset < sizeof(PlhProfileHeader) || offset % 8 != 0 ||
		offset + sizeof(again) > bytes ||
		plh_whole_io_read(fd, &again, sizeof(again), offset) != (ssize_t) sizeof(again) ||
		again.record.kind != PLH_RECORD_SPANS || again.record.bytes != spans->record.bytes)
		return NULL;
	*spans = again;
	return spans;
}

/*
 * Read a site again, at that offset of the file, until it is settled.  Its spans lie behind
 * last_change, and in another record.  They are only known to be of the same change as they add up.
 */
static void
settle_site(int fd, PlhProfileHeader *header, Size bytes, Size offset)
{
	PlhSiteRecord *site = (PlhSiteRecord *) ((char *) header + offset);
	PlhSiteRecord again;

	for (int tries = 0; tries < MAX_TRIES; tries++)
	{
		pause_before(tries);

		/* of another size, it is another record, of a later round */
		if (!read_in_order(fd, &again, offsetof(PlhSiteRecord, counters),
						   offsetof(PlhSiteRecord, last_change),
						   sizeof(again), offset) ||
			again.record.bytes != site->record.bytes)
			return;
		*site = again;
		if (site->record.kind != PLH_RECORD_SITE ||
			(is_settled(site->record.references, site->last_change) &&
			 plh_site_facts_ages_add_up(site, read_spans(fd, header, bytes, site->spans))))
			return;
	}
}

/* May a site have been copied in the middle of a change, the last before being "since"? */
static bool
is_doubtful(const PlhSiteRecord *site, uint64 since)
{
	return site->record.references != 0 &&
		(site->last_change >= since || !is_settled(site->record.references, site->last_change));
}

/*
 * The same for the sites of a profile, of which "bytes" are there; change number "since" was the
 * last one before they were copied.
 */
static void
settle_sites(int fd, PlhProfileHeader *header, Size bytes, uint64 since)
{
	Size		offset = MAXALIGN(sizeof(PlhProfileHeader));

	if (header->last_change != since)
		since -= Min(since, LATELY);
	while (offset + sizeof(PlhRecord) <= bytes)
	{
		PlhRecord  *record = (PlhRecord *) ((char *) header + offset);
		Size		record_bytes = record->bytes;

		if (record_bytes < sizeof(PlhRecord) || record_bytes % 8 != 0 ||
			record_bytes > bytes - offset)
			return;
		if (record->kind == PLH_RECORD_SITE &&
			record_bytes >= sizeof(PlhSiteRecord) && is_doubtful((PlhSiteRecord *) record, since))
			settle_site(fd, header, bytes, offset);
		offset += record_bytes;
	}
}

/*
 * Has this header our layout, and was it written in this database cluster?  Another cluster may
 * have had the same directory: its name comes from an inode, which a new file system object may get
 * again.
 */
static bool
is_profile(const PlhProfileHeader *header, Size file_bytes)
{
	return plh_profile_image_has_layout(header) &&
		header->pg_version / 10000 == PG_VERSION_NUM / 10000 &&
		header->system_identifier == GetSystemIdentifier() &&
		header->used_bytes >= sizeof(PlhProfileHeader) &&
		header->published_bytes >= PLH_PROFILE_FIRST_BYTES && header->published_bytes <= file_bytes;
}

/* Is the round of recycling still the one in which that header was read? */
static bool
is_same_round(int fd, const PlhProfileHeader *header)
{
	uint32		round;

	return plh_whole_io_read(fd, &round, sizeof(round), offsetof(PlhProfileHeader, round)) ==
		(ssize_t) sizeof(round) && round == header->round;
}

/* The number before or behind a copy, of which nothing is read meanwhile; odd if not known. */
static uint32
census_changes(int fd)
{
	const Size	place = offsetof(PlhProfileHeader, census_changes);
	uint32		changes;
	ssize_t		done;

	pg_read_barrier();
	done = plh_whole_io_read(fd, &changes, sizeof(changes), place);
	pg_read_barrier();
	return done == (ssize_t) sizeof(changes) ? changes : PG_UINT32_MAX;
}

/*
 * Are the figures of a copy those of one census, if that was the number before it?  The number in
 * the copy itself tells nothing: all of a census may be written while a header is being copied.
 */
static bool
is_of_one_census(int fd, uint32 before)
{
	return before % 2 == 0 && census_changes(fd) == before;
}

/* The bytes of a profile that can be read from its file. */
static Size
bytes_of(const PlhProfileHeader *header)
{
	return Min(header->used_bytes, header->published_bytes);
}

/* Its first "bytes"; false if it is not a profile of this version, or another user's. */
static bool
copy_header(int fd, PlhProfileHeader *header, Size bytes)
{
	struct stat status;

	/* in this order: the file may grow in between, but never shrinks */
	return plh_whole_io_read(fd, header, bytes, 0) == (ssize_t) bytes &&
		fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
		status.st_uid == geteuid() && is_profile(header, status.st_size);
}

/*
 * Copy a profile, or its header only, from an open file; "start" is a header that was read before.
 * Returns NULL if it is not a profile of this version.
 *
 * The owner goes on meanwhile, and we may be the owner: the memory for the copy may itself be a new
 * site.  So the copy has room for some more, and the header in it says how much of that is there.
 */
static PlhProfileHeader *
copy_file(int fd, const PlhProfileHeader *start, bool header_only, Size *bytes)
{
	Size		room = header_only ? sizeof(PlhProfileHeader) : bytes_of(start) + SPARE_BYTES;
	PlhProfileHeader *header = MemoryContextAllocHuge(CurrentMemoryContext, room);
	ssize_t		copied = plh_whole_io_read(fd, header, room, 0);

	/* by now the file may have grown by any number of bytes */
	if (copied >= (ssize_t) sizeof(PlhProfileHeader) && is_profile(header, PG_INT64_MAX))
	{
		*bytes = Min(bytes_of(header), (Size) copied);
		return header;
	}
	pfree(header);
	return NULL;
}

/*
 * Read once, until the counters are settled.  *whole says whether it is of one round, and of one
 * census.  Returns NULL if it is not a profile of this version, or belongs to another user.
 */
static PlhProfileHeader *
read_once(int fd, bool header_only, Size *bytes, bool *whole)
{
	PlhProfileHeader start;
	PlhProfileHeader *header;
	uint32		census;

	if (!copy_header(fd, &start, sizeof(start)))
		return NULL;
	census = census_changes(fd);
	header = copy_file(fd, &start, header_only, bytes);
	if (header == NULL)
		return NULL;

	/* at once: to settle counters takes longer than to copy, and changes nothing of a census */
	*whole = is_of_one_census(fd, census);
	settle_header(fd, header);
	if (!header_only)
	{
		settle_sites(fd, header, *bytes, start.last_change);
		*whole &= is_same_round(fd, header);
	}
	return header;
}

void
plh_profile_reader_end_texts(PlhProfileHeader *header)
{
	header->label[sizeof(header->label) - 1] = '\0';
	header->application_name[sizeof(header->application_name) - 1] = '\0';
	header->database[sizeof(header->database) - 1] = '\0';
	header->role[sizeof(header->role) - 1] = '\0';
}

/* Returns NULL if the file is not a profile of this version, or belongs to another user. */
static PlhProfileImage *
read_image(int fd, const char *path, bool header_only)
{
	PlhProfileHeader *header = NULL;
	PlhProfileImage *image;
	Size		bytes;
	bool		whole = false;

	for (int reads = 0; reads < MAX_READS && !whole; reads++)
	{
		if (header != NULL)
		{
			pfree(header);
			pg_usleep(PAUSE_US);
		}
		header = read_once(fd, header_only, &bytes, &whole);
		if (header == NULL)
			return NULL;
	}
	plh_profile_reader_end_texts(header);

	image = palloc0(sizeof(PlhProfileImage));
	image->alive = plh_process_facts_is_alive(header->pid, header->process_start);
	image->crashed = !image->alive;
	strlcpy(image->path, path, sizeof(image->path));
	plh_profile_image_adopt(image, header, bytes);
	if (!plh_profile_image_is_whole(header) && !header_only)
		add_unpublished(image, header);
	return image;
}

/*
 * All but the history, and not whether the process lives: for callers that read a thousand, and
 * know that.  Returns false if there is no profile.
 */
bool
plh_profile_reader_peek(const char *path, PlhProfileHeader *header)
{
	int			fd = OpenTransientFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | PG_BINARY);
	bool		is_sound = false;
	bool		whole = false;

	if (fd < 0)
		return false;
	for (int reads = 0; reads < MAX_READS && !whole; reads++)
	{
		uint32		census;

		if (reads > 0)
			pg_usleep(PAUSE_US);
		census = census_changes(fd);
		is_sound = copy_header(fd, header, offsetof(PlhProfileHeader, history));
		whole = !is_sound || is_of_one_census(fd, census);
	}
	if (is_sound)
		settle_header(fd, header);
	CloseTransientFile(fd);
	plh_profile_reader_end_texts(header);
	return is_sound;
}

/* Read what all layouts have in one place; false if it is not the start of a profile. */
static bool
read_start(const char *path, PlhProfileHeader *header)
{
	Size		bytes = offsetof(PlhProfileHeader, label);
	int			fd = OpenTransientFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | PG_BINARY);
	bool		is_start;

	if (fd < 0)
		return false;
	is_start = plh_whole_io_read(fd, header, bytes, 0) == (ssize_t) bytes &&
		memcmp(header->magic, PLH_PROFILE_MAGIC, sizeof(header->magic)) == 0;
	CloseTransientFile(fd);
	return is_start;
}

bool
plh_profile_reader_is_foreign(const char *path)
{
	PlhProfileHeader header;

	return read_start(path, &header) && header.system_identifier != GetSystemIdentifier();
}

bool
plh_profile_reader_has_other_layout(const char *path)
{
	PlhProfileHeader header;

	return read_start(path, &header) && header.layout_version != PLH_LAYOUT_VERSION;
}

/* Has the owner removed the file since we opened it? */
static bool
is_unlinked(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_nlink == 0;
}

/* NULL if the file is gone or can't be opened, or, with *refused, if it is not a profile. */
PlhProfileImage *
plh_profile_reader_open(const char *path, bool header_only, bool *refused)
{
	PlhProfileImage *volatile image = NULL;
	volatile bool exited = false;

	/* nobody waits for the writer of a FIFO, which is no profile */
	int			fd = OpenTransientFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | PG_BINARY);

	/* a process that exits removes its profile at any time */
	*refused = false;
	if (fd < 0)
		return NULL;

	/* callers go on after an ERROR, so that nobody else would close the file */
	PG_TRY();
	{
		image = read_image(fd, path, header_only);

		/* it has exited cleanly while we were reading: this is not a crash */
		exited = image != NULL && !image->alive && is_unlinked(fd);
	}
	PG_FINALLY();
	{
		CloseTransientFile(fd);
	}
	PG_END_TRY();
	*refused = image == NULL;
	return exited ? NULL : image;
}

/* Is nothing said of files that are no profiles?  Set in the keeper only. */
static PLH_SURVIVES_FORK bool is_silent;

void
plh_profile_reader_be_silent(void)
{
	is_silent = true;
}

/* Its proof lies in the same folder. */
static void
attach_proof(PlhProfileImage *image)
{
	char		directory[PLH_PATH_MAX];

	strlcpy(directory, image->path, sizeof(directory));
	get_parent_directory(directory);
	plh_proof_file_attach(directory, image);
}

/* NULL if it is gone, of another cluster, no profile (a WARNING), or not of "pid", unless 0. */
static PlhProfileImage *
open_image(const char *path, int pid, bool header_only)
{
	bool		refused;
	PlhProfileImage *image = plh_profile_reader_open(path, header_only, &refused);

	/* nobody has asked for those of a cluster with the same directory */
	if (refused && !is_silent && !plh_profile_reader_is_foreign(path))
		ereport(WARNING, (errmsg("ignoring file \"%s\" in the directory of the profiles",
								 last_dir_separator(path) + 1),
						  errdetail("It is not a profile of this version of pg_leakhunt.")));
	if (image == NULL || (pid != 0 && image->header->pid != pid))
		return NULL;
	if (!header_only)
		attach_proof(image);
	return image;
}

/* Does "wanted" want that profile?  Most of a file is not read for that. */
static bool
is_wanted(const char *path, int pid, PlhProfileFilter wanted, void *arg)
{
	PlhProfileImage *image;

	if (wanted == NULL)
		return true;
	image = open_image(path, pid, true);
	return image != NULL && wanted(image, arg);
}

/* Find what a file is called by now: the keeper renames it before and after it makes a dump. */
static bool
find_renamed(const char *directory, ino_t inode, char *path)
{
	DIR		   *dir = AllocateDir(directory);
	struct dirent *entry;
	bool		found = false;

	while (!found && (entry = ReadDirExtended(dir, directory, LOG)) != NULL)
	{
		found = entry->d_ino == inode;
		if (found)
			snprintf(path, PLH_PATH_MAX, "%s/%s", directory, entry->d_name);
	}
	FreeDir(dir);
	return found;
}

/* Read one file in a memory context of its own, if it is wanted, and let "visit" have it. */
static void
visit_file(const char *path, int pid, bool header_only,
		   PlhProfileFilter wanted, PlhProfileVisitor visit, void *arg)
{
	MemoryContext file_context = AllocSetContextCreate(CurrentMemoryContext,
													   "pg_leakhunt profile image",
													   ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(file_context);
	PlhProfileImage *image = is_wanted(path, pid, wanted, arg) ?
		open_image(path, pid, header_only) : NULL;

	if (image != NULL)
		visit(image, arg);
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(file_context);
}

/* Only those of "pid", unless that is 0, and those that are wanted, unless "wanted" is NULL. */
void
plh_profile_reader_each(const char *directory, int pid, bool header_only, PlhProfileFilter wanted,
						PlhProfileVisitor visit, void *arg)
{
	DIR		   *dir = AllocateDir(directory);
	struct dirent *entry;
	struct stat status;
	char		path[PLH_PATH_MAX];

	/* LOG, not ERROR: a directory that is gone has no profiles */
	while ((entry = ReadDirExtended(dir, directory, LOG)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();

		/* PID, or PID.SECONDS and more of a dead process */
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
			(pid != 0 && atoi(entry->d_name) != pid))
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (lstat(path, &status) == 0 || find_renamed(directory, entry->d_ino, path))
			visit_file(path, pid, header_only, wanted, visit, arg);
	}
	FreeDir(dir);
}

/* The youngest of the processes that had a pid, and the file of its profile. */
typedef struct YoungestProfile
{
	TimestampTz started_at;
	char		path[PLH_PATH_MAX]; /* empty: there is none */
} YoungestProfile;

/* PlhProfileVisitor: note the profile if its process is the youngest. */
static void
note_youngest(PlhProfileImage *image, void *arg)
{
	YoungestProfile *youngest = arg;

	if (youngest->path[0] != '\0' && image->header->started_at < youngest->started_at)
		return;
	youngest->started_at = image->header->started_at;
	strlcpy(youngest->path, image->path, sizeof(youngest->path));
}

/* If several processes have had that pid, the profile is that of the last one. */
PlhProfileImage *
plh_profile_reader_find(const char *directory, int pid, bool header_only)
{
	char		path[PLH_PATH_MAX];
	PlhProfileImage *image;

	if (pid <= 0)
		return NULL;
	snprintf(path, sizeof(path), "%s/%d", directory, pid);
	image = open_image(path, pid, header_only);

	/* profiles of dead processes are renamed, by a new owner or when saved */
	for (int tries = 0; tries < MAX_RENAMES && image == NULL; tries++)
	{
		YoungestProfile youngest = {0};

		plh_profile_reader_each(directory, pid, true, NULL, note_youngest, &youngest);
		if (youngest.path[0] == '\0')
			break;
		image = open_image(youngest.path, pid, header_only);
	}
	return image;
}

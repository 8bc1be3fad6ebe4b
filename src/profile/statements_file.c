/*
 * statements_file.c
 *	  The file of statements of this server: made, mapped, locked, grown, removed.
 *
 * The postmaster maps the file before it forks, so that all processes have it, if somebody removes
 * it, too.  A process that loads pg_leakhunt by itself opens it by its name.  All of its entries
 * are mapped at once; the file grows below them.
 *
 * The lock is the holder's pid (src/profile/README).
 */
#include "postgres.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"

#include "base/fork.h"
#include "base/hash_seed.h"
#include "base/page_layout.h"
#include "base/sealed_file.h"
#include "profile/shared_directory.h"
#include "profile/statements_file.h"

/* Tries to get the lock: at once, then this far apart, some 50 ms in all. */
#define SPINS 100
#define PAUSES 400
#define PAUSE_US 50

PLH_SET_AT_LOAD PlhStatementsFile *plh_statements_file;

static PLH_SET_AT_LOAD PLH_LARGE char path[PLH_PATH_MAX];
static PLH_SET_AT_LOAD const char *file_directory;
static PLH_SET_AT_LOAD ino_t file_inode;
static PLH_SET_AT_LOAD uint32 mapped_entries;

/* A process that had the lock for too long: nobody waits for it again. */
static PLH_SAME_IN_CHILD uint32 stuck_holder;

/* Is that the header of a file of this version and cluster? */
static bool
is_sound(const PlhStatementsFile *file, Size bytes, uint64 cluster)
{
	return memcmp(file->magic, PLH_STATEMENTS_MAGIC, sizeof(file->magic)) == 0 &&
		file->layout_version == PLH_STATEMENTS_LAYOUT &&
		file->header_bytes == sizeof(PlhStatementsFile) &&
		file->entry_bytes == sizeof(PlhStatementEntry) &&
		file->system_identifier == cluster &&
		file->max_entries > 0 && file->max_entries <= PLH_MAX_STATEMENTS &&
		file->reserved_entries <= file->max_entries &&
		bytes >= PLH_STATEMENTS_BYTES(file->reserved_entries);
}

static void
fill_header(PlhStatementsFile *file, uint64 cluster, uint32 max_entries)
{
	memcpy(file->magic, PLH_STATEMENTS_MAGIC, sizeof(file->magic));
	file->layout_version = PLH_STATEMENTS_LAYOUT;
	file->header_bytes = sizeof(PlhStatementsFile);
	file->entry_bytes = sizeof(PlhStatementEntry);
	file->max_entries = max_entries;
	file->system_identifier = cluster;
	file->seed = plh_hash_seed_draw();
	pg_atomic_init_u64(&file->lost, 0);
	pg_atomic_init_u32(&file->holder, 0);
}

/* Map a file for that many entries, most of which it may not have yet. */
static PlhStatementsFile *
map(int fd, uint32 entries)
{
	void	   *mapped = mmap(NULL, PLH_STATEMENTS_BYTES(entries),
							  PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return mapped == MAP_FAILED ? NULL : mapped;
}

/* Use what is mapped from now on, which is of the file that is open. */
static bool
use(PlhStatementsFile *file, int fd, uint32 entries)
{
	struct stat status;

	if (file == NULL || fstat(fd, &status) != 0)
		return false;
	plh_statements_file = file;
	file_inode = status.st_ino;
	mapped_entries = entries;
	return true;
}

/* Map the file that is there.  Returns false if there is none that is sound. */
static bool
adopt(uint64 cluster)
{
	int			fd = plh_sealed_file_open(path, 0);
	PlhStatementsFile *file = NULL;
	struct stat status;
	bool		adopted = false;

	if (fd < 0)
		return false;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
		status.st_size >= (off_t) sizeof(PlhStatementsFile))
		file = map(fd, 0);
	if (file != NULL)
	{
		uint32		entries = file->max_entries;

		if (is_sound(file, status.st_size, cluster))
			adopted = use(map(fd, entries), fd, entries);
		munmap(file, PLH_STATEMENTS_BYTES(0));
	}
	close(fd);
	return adopted;
}

/* Make a file under a temporary name, and name it once complete, unless another was faster. */
static void
make(uint64 cluster, uint32 max_entries)
{
	char		temporary[PLH_PATH_MAX];
	PlhStatementsFile *file = NULL;
	int			fd;

	if (plh_shared_directory_make(file_directory) != PLH_DIRECTORY_FINE ||
		!plh_shared_directory_has_room(file_directory, PLH_STATEMENTS_BYTES(0), PLH_ROOM_RECORDS))
		return;
	snprintf(temporary, sizeof(temporary), "%s/tmp.statements.%d", file_directory, (int) getpid());
	fd = plh_sealed_file_create(temporary);
	if (fd < 0)
		return;
	if (plh_sealed_file_reserve(fd, 0, PLH_STATEMENTS_BYTES(0)))
		file = map(fd, max_entries);
	if (file != NULL)
	{
		fill_header(file, cluster, max_entries);
		if (!plh_sealed_file_seal(fd) || link(temporary, path) != 0 || !use(file, fd, max_entries))
			munmap(file, PLH_STATEMENTS_BYTES(max_entries));
	}
	(void) unlink(temporary);
	close(fd);
}

void
plh_statements_file_path(char *file_path, const char *directory, uint64 cluster)
{
	snprintf(file_path, PLH_PATH_MAX, "%s/statements.%d.%llu", directory,
			 PLH_STATEMENTS_LAYOUT, (unsigned long long) cluster);
}

void
plh_statements_file_start(const char *directory, uint64 cluster, uint32 max_entries,
						  bool new_server)
{
	if (max_entries == 0)
		return;
	file_directory = directory;
	plh_statements_file_path(path, directory, cluster);
	if (new_server)
		(void) unlink(path);
	else if (adopt(cluster))
		return;
	make(cluster, max_entries);
	if (plh_statements_file == NULL && !new_server)
		(void) adopt(cluster);
}

static bool
try_lock(bool look_at_holder)
{
	pg_atomic_uint32 *lock = &plh_statements_file->holder;
	uint32		holder = 0;
	uint32		own = (uint32) getpid();

	if (pg_atomic_compare_exchange_u32(lock, &holder, own))
		return true;
	return look_at_holder && holder != 0 && holder != own &&
		kill((pid_t) holder, 0) != 0 && errno == ESRCH &&
		pg_atomic_compare_exchange_u32(lock, &holder, own);
}

bool
plh_statements_file_lock(void)
{
	for (int spins = 0; spins < SPINS; spins++)
	{
		if (try_lock(spins == 0))
		{
			stuck_holder = 0;
			return true;
		}
		if (spins == 0 && stuck_holder != 0 &&
			stuck_holder == pg_atomic_read_u32(&plh_statements_file->holder))
			return false;
	}
	for (int pauses = 0; pauses < PAUSES; pauses++)
	{
		pg_usleep(PAUSE_US);
		if (try_lock(true))
			return true;
	}
	stuck_holder = pg_atomic_read_u32(&plh_statements_file->holder);
	return false;
}

void
plh_statements_file_unlock(void)
{
	pg_write_barrier();
	pg_atomic_write_u32(&plh_statements_file->holder, 0);
}

void
plh_statements_file_break_lock(void)
{
	if (plh_statements_file != NULL)
		plh_statements_file_unlock();
}

uint32
plh_statements_file_reserved(void)
{
	uint32		reserved = *(volatile uint32 *) &plh_statements_file->reserved_entries;

	return Min(reserved, mapped_entries);
}

bool
plh_statements_file_grow(void)
{
	uint32		reserved = plh_statements_file_reserved();
	uint32		wanted = Min(reserved + PLH_STATEMENT_STEP, mapped_entries);
	Size		old_bytes = PLH_STATEMENTS_BYTES(reserved);
	Size		bytes = PLH_STATEMENTS_BYTES(wanted) - old_bytes;
	int			fd;

	if (bytes == 0 || !plh_shared_directory_has_room(file_directory, bytes, PLH_ROOM_RECORDS))
		return false;
	fd = plh_sealed_file_open(path, file_inode);
	if (fd < 0)
		return false;
	if (plh_sealed_file_reserve(fd, old_bytes, bytes))
		plh_statements_file->reserved_entries = wanted;
	close(fd);
	return plh_statements_file_reserved() > reserved;
}

void
plh_statements_file_unlink(void)
{
	struct stat status;

	if (plh_statements_file != NULL && lstat(path, &status) == 0 && status.st_ino == file_inode)
		(void) unlink(path);
}

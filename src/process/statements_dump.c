/*
 * statements_dump.c
 *	  Keeps the file of statements over a restart of the server.
 *
 * What is read is trusted in nothing: the checksum tells damage by chance, and each entry is
 * checked before it is added to the new file.  A file that makes no sense is set aside, and the
 * server starts without it.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/pg_crc32c.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "base/fork.h"
#include "base/limits.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "base/whole_io.h"
#include "process/statements_dump.h"
#include "profile/dump_names.h"
#include "profile/statement_entries.h"
#include "profile/statements_file.h"

#define DUMP_MAGIC "PLHSTMD"

/* Behind the file of statements. */
typedef struct Foot
{
	uint64		bytes;			/* of all before this */
	char		magic[8];
	pg_crc32c	checksum;		/* of all before this */
	uint32		unused;
} Foot;

typedef struct Former
{
	PlhStatementsFile *file;	/* NULL: there is none */
	Size		bytes;
	const char *problem;		/* why it can't be used; or NULL */
} Former;

static PLH_SET_AT_LOAD uint64 system_identifier;

static void
dump_path(char *path, const char *suffix)
{
	snprintf(path, PLH_PATH_MAX, "%s/statements.%llu%s", plh_load_settings.dump_directory,
			 (unsigned long long) system_identifier, suffix);
}

/* Read a whole file into memory.  Returns false if there is none. */
static bool
read_whole(const char *path, Former *former)
{
	int			fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	memset(former, 0, sizeof(*former));
	if (fd < 0)
		return false;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
		status.st_size < (off_t) sizeof(PlhStatementsFile) ||
		status.st_size > (off_t) PLH_STATEMENTS_BYTES(PLH_MAX_STATEMENTS) + (off_t) sizeof(Foot))
		former->problem = "It has not the size of such a file.";
	else
	{
		former->bytes = status.st_size;
		former->file = palloc_extended(former->bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
		if (former->file == NULL)
			former->problem = "There is not enough memory to read it.";
		else if (plh_whole_io_read(fd, former->file, former->bytes, 0) != (ssize_t) former->bytes)
			former->problem = "It could not be read.";
	}
	close(fd);
	return true;
}

/* Find out what is wrong with a file that has been read. */
static void
check(Former *former)
{
	const PlhStatementsFile *file = former->file;

	if (former->problem != NULL)
		return;
	if (memcmp(file->magic, PLH_STATEMENTS_MAGIC, sizeof(file->magic)) != 0)
		former->problem = "It is no file of statements.";
	else if (file->layout_version != PLH_STATEMENTS_LAYOUT ||
			 file->header_bytes != sizeof(PlhStatementsFile) ||
			 file->entry_bytes != sizeof(PlhStatementEntry))
		former->problem = "Another version of pg_leakhunt has written it.";
	else if (file->system_identifier != system_identifier)
		former->problem = "It is of another database cluster.";
	else if (file->reserved_entries > PLH_MAX_STATEMENTS ||
			 former->bytes < PLH_STATEMENTS_BYTES(file->reserved_entries))
		former->problem = "It is shorter than it says.";
}

/* The same, of one that has a foot. */
static void
check_dump(Former *former)
{
	Foot		foot;
	pg_crc32c	checksum;
	Size		summed;

	if (former->problem != NULL)
		return;
	if (former->bytes < sizeof(PlhStatementsFile) + sizeof(foot))
	{
		former->problem = "It has not the size of such a file.";
		return;
	}
	former->bytes -= sizeof(foot);
	summed = former->bytes + offsetof(Foot, checksum);
	memcpy(&foot, (char *) former->file + former->bytes, sizeof(foot));
	INIT_CRC32C(checksum);
	COMP_CRC32C(checksum, former->file, summed);
	FIN_CRC32C(checksum);
	if (foot.bytes != former->bytes ||
		memcmp(foot.magic, DUMP_MAGIC, sizeof(foot.magic)) != 0 ||
		!EQ_CRC32C(checksum, foot.checksum))
		former->problem = "Its checksum is not that of its contents.";
	else
		check(former);
}

static void
report(const char *path, const Former *former, const char *aside)
{
	ereport(LOG, (errmsg("pg_leakhunt ignores file \"%s\" of statements", path),
				  errdetail_internal("%s", former->problem),
				  aside == NULL ? 0 : errhint("It is kept as \"%s\".", aside)));
}

/* Read what the last server has left, after a crash or when it stopped. */
static Former
read_former(const char *directory)
{
	char		path[PLH_PATH_MAX];
	char		aside[PLH_PATH_MAX];
	Former		former;

	plh_statements_file_path(path, directory, system_identifier);
	if (read_whole(path, &former))
	{
		check(&former);
		if (former.problem == NULL)
			return former;
		report(path, &former, NULL);
	}
	dump_path(path, "");
	if (!read_whole(path, &former))
		return former;
	check_dump(&former);
	if (former.problem != NULL)
	{
		dump_path(aside, ".damaged");
		report(path, &former, rename(path, aside) == 0 ? aside : NULL);
	}
	return former;
}

/* Add what is there to the new file. */
static void
restore(const PlhStatementsFile *former)
{
	for (uint32 i = 0; i < former->reserved_entries; i++)
		plh_statement_entries_restore(&former->entries[i], former->modules, former->module_count);
	plh_statements_file->evicted += Max(former->evicted, 0);
	pg_atomic_write_u64(&plh_statements_file->lost,
						pg_atomic_read_u64(unconstify(pg_atomic_uint64 *, &former->lost)));
}

void
plh_statements_dump_start(const char *directory, uint64 cluster, bool new_server)
{
	uint32		max_statements = plh_load_settings.max_statements;
	Former		former = {0};

	system_identifier = cluster;
	if (new_server && max_statements > 0)
		former = read_former(directory);
	plh_statements_file_start(directory, cluster, max_statements, new_server);
	if (former.file != NULL && former.problem == NULL && plh_statements_file != NULL)
		restore(former.file);
	if (former.file != NULL)
		pfree(former.file);
}

/* Write a copy of the file, with a foot.  Returns an errno or 0. */
static int
write_copy(const char *path, const char *copy, Size bytes)
{
	Foot		foot = {.bytes = bytes,.magic = DUMP_MAGIC};
	int			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
						  S_IRUSR | S_IWUSR);
	int			failure;

	if (fd < 0)
		return errno;
	INIT_CRC32C(foot.checksum);
	COMP_CRC32C(foot.checksum, copy, bytes);
	COMP_CRC32C(foot.checksum, &foot, offsetof(Foot, checksum));
	FIN_CRC32C(foot.checksum);
	failure = plh_whole_io_write(fd, copy, bytes, PLH_FILE_POSITION) &&
		plh_whole_io_write(fd, &foot, sizeof(foot), PLH_FILE_POSITION) &&
		pg_fsync(fd) == 0 ? 0 : errno;
	if (close(fd) != 0 && failure == 0)
		failure = errno;
	return failure;
}

/* Write the file to the directory of the dumps.  Returns an errno or 0. */
static int
save(void)
{
	char		path[PLH_PATH_MAX];
	char		temporary[PLH_PATH_MAX];
	Size		bytes = PLH_STATEMENTS_BYTES(plh_statements_file_reserved());
	int			failure = plh_dump_names_make_directory();
	char	   *copy;

	if (failure != 0)
		return failure;
	dump_path(path, "");
	dump_path(temporary, ".new");

	/* after an immediate stop, others may still change the file */
	copy = malloc(bytes);
	if (copy == NULL)
		return ENOMEM;
	memcpy(copy, plh_statements_file, bytes);
	((PlhStatementsFile *) copy)->reserved_entries =
		(bytes - PLH_STATEMENTS_BYTES(0)) / sizeof(PlhStatementEntry);
	failure = write_copy(temporary, copy, bytes);
	free(copy);
	if (failure == 0 && rename(temporary, path) != 0)
		failure = errno;
	if (failure != 0)
		(void) unlink(temporary);
	return failure;
}

void
plh_statements_dump_save(void)
{
	int			failure;

	if (plh_statements_file == NULL)
		return;
	failure = plh_statements_file->born == 0 ? 0 : save();
	if (failure == 0)
		plh_statements_file_unlink();
	else
	{
		errno = failure;
		ereport(LOG, (errcode_for_file_access(),
					  errmsg("could not write what statements took to \"%s\": %m",
							 plh_load_settings.dump_directory),
					  errdetail("It stays in the directory of the profiles.")));
	}
}

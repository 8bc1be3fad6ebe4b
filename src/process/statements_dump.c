/*
 * statements_dump.c
 *	  Keeps the file of statements over a restart of the server.
 *
 * What is read is trusted in nothing: the checksum tells damage by chance, and each entry is
 * checked before it is added to the new file.  A file that makes no sense is set aside, and the
 * server starts without it.
 */
#include "postgres.h"

#include <stdio.h>

#include "base/fork.h"
#include "base/limits.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "process/statements_dump.h"
#include "profile/dump_names.h"
#include "profile/statement_entries.h"
#include "profile/statements_file.h"
#include "reader/summed_file.h"

#define DUMP_MAGIC "PLHSTMD"

static PLH_SET_AT_LOAD uint64 system_identifier;

static void
dump_path(char *path, const char *suffix)
{
	snprintf(path, PLH_PATH_MAX, "%s/statements.%llu%s", plh_load_settings.dump_directory,
			 (unsigned long long) system_identifier, suffix);
}

/* Find out what is wrong with a file that has been read. */
static void
check(PlhSummedFile *former)
{
	const PlhStatementsFile *file = former->contents;

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

static void
report(const char *path, const PlhSummedFile *former, const char *aside)
{
	ereport(LOG, (errmsg("pg_leakhunt ignores file \"%s\" of statements", path),
				  errdetail_internal("%s", former->problem),
				  aside == NULL ? 0 : errhint("It is kept as \"%s\".", aside)));
}

/* Read what the last server has left, after a crash or when it stopped. */
static PlhSummedFile
read_former(const char *directory)
{
	const Size	least = sizeof(PlhStatementsFile);
	const Size	most = PLH_STATEMENTS_BYTES(PLH_MAX_STATEMENTS);
	char		path[PLH_PATH_MAX];
	char		aside[PLH_PATH_MAX];
	PlhSummedFile former;

	plh_statements_file_path(path, directory, system_identifier);
	if (plh_summed_file_read_bare(path, least, most, &former))
	{
		check(&former);
		if (former.problem == NULL)
			return former;
		report(path, &former, NULL);
	}
	dump_path(path, "");
	if (!plh_summed_file_read(path, DUMP_MAGIC, least, most, &former))
		return former;
	check(&former);
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
	PlhSummedFile former = {NULL};

	system_identifier = cluster;
	if (new_server && max_statements > 0)
		former = read_former(directory);
	plh_statements_file_start(directory, cluster, max_statements, new_server);
	if (former.contents != NULL && former.problem == NULL && plh_statements_file != NULL)
		restore(former.contents);
	if (former.contents != NULL)
		pfree(former.contents);
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
	failure = plh_summed_file_write(path, temporary, DUMP_MAGIC, copy, bytes, true);
	free(copy);
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

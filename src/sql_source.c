/*
 * sql_source.c
 *	  What functions of SQL are asked to show: a process or a dump file, as it
 *	  is or as it has grown.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/timestamp.h"

#include "process.h"
#include "server_processes.h"
#include "settings.h"
#include "sql_source.h"

/* An ERROR unless the caller may see what a process of that role did. */
static void
check_may_see(const PlhProfileHeader *header, const char *what)
{
	if (has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		(OidIsValid(header->role_oid) &&
		 has_privs_of_role(GetUserId(), header->role_oid)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for %s", what),
			 errdetail("Only roles with privileges of the process' role or of \"%s\" may look at it.",
					   "pg_read_all_stats")));
}

/*
 * The profile of a process, which the caller may see.  NULL and a WARNING if
 * there is no such process, or if it has no profile.
 */
PlhProfileImage *
plh_source_process(int pid)
{
	PlhProfileImage *image = NULL;

	plh_process_publish();
	if (pid > 0)
		image = plh_profile_reader_find(plh_process_profile_directory(), pid);
	if (image != NULL)
		check_may_see(image->header, psprintf("process %d", pid));
	else if (plh_server_processes_check(pid))
		ereport(WARNING,
				(errmsg("process %d has no profile", pid),
				 plh_server_processes_loaded(pid) == PLH_NOT_LOADED ?
				 errdetail("It has not loaded pg_leakhunt.") :
				 errdetail("It has not kept enough samples yet.")));
	return image;
}

/*
 * Where a dump is that users call by its name, or as the server's log does.
 * Elsewhere only those may read who may read all files of the server.
 */
static char *
path_of_dump(const char *file)
{
	const char *directory = plh_fixed.dump_directory;
	Size		length = strlen(directory);

	if (strncmp(file, directory, length) == 0 && file[length] == '/' &&
		strchr(file + length + 1, '/') == NULL)
		file += length + 1;
	if (file[0] != '\0' && strchr(file, '/') == NULL)
		return psprintf("%s/%s", directory, file);
	if (!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for file \"%s\"", file),
				 errdetail("Only roles with privileges of \"%s\" may read files outside of pg_leakhunt.dump_directory.",
						   "pg_read_server_files")));
	return pstrdup(file);
}

/*
 * A dump that the caller may see.
 */
PlhDump *
plh_source_dump(const char *file)
{
	PlhDump    *dump = plh_dump_reader_read(path_of_dump(file), false);

	check_may_see(dump->image->header, psprintf("dump file \"%s\"", file));
	return dump;
}

/* The sites of a process; NULL if it has none to show. */
static PlhSiteList *
sites_of_process(const PlhSource *source, PlhSymbols *symbols)
{
	PlhProfileImage *image = plh_source_process(source->pid);
	PlhBaseline *baseline;
	PlhSiteList *list;

	if (image == NULL)
		return NULL;
	list = plh_site_list_make(symbols, image, GetCurrentTimestamp());
	if (!source->growth)
		return list;
	baseline = plh_baseline_read(plh_process_profile_directory(),
								 image->header);
	if (baseline == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there is no baseline of process %d", source->pid),
				 errhint("Growth is counted from the last call of pg_leakhunt_baseline.")));
	plh_site_list_subtract_baseline(list, baseline);
	return list;
}

/*
 * The sites of what was asked for.  NULL, after a WARNING, if there is no such
 * process.
 */
PlhSiteList *
plh_source_sites(const PlhSource *source)
{
	PlhSymbols *symbols = plh_symbols_open();
	PlhDump    *dump;
	PlhDump    *base;
	PlhSiteList *list;

	if (source->file == NULL)
		return sites_of_process(source, symbols);
	dump = plh_source_dump(source->file);
	list = plh_site_list_make(symbols, dump->image, dump->written_at);
	if (source->base != NULL)
	{
		base = plh_source_dump(source->base);
		plh_site_list_subtract(list,
							   plh_site_list_make(symbols, base->image,
												  base->written_at));
	}
	return list;
}

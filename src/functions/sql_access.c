/*
 * sql_access.c
 *	  Which processes the caller of a function may see.
 *
 * Roles without the privileges of pg_read_all_stats see their own processes only.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/acl.h"

#include "functions/sql_access.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "reader/server_processes.h"

bool
plh_sql_access_sees_all(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

/* Whether a caller who does not see all may see the processes of a role. */
static bool
sees_role(Oid role)
{
	return OidIsValid(role) && has_privs_of_role(GetUserId(), role);
}

bool
plh_sql_access_may_see(Oid role)
{
	return plh_sql_access_sees_all() || sees_role(role);
}

/*
 * Returns whether the caller may know about a process without a profile: as with profiles, by its
 * role.
 */
bool
plh_sql_access_knows(int pid)
{
	PGPROC	   *proc;

	if (plh_sql_access_sees_all())
		return true;
	proc = BackendPidGetProc(pid);
	return proc != NULL && sees_role(proc->roleId);
}

/*
 * Returns whether there are processes of roles that are hidden from a caller who does not see all.
 * The server's own processes, which have no role, do not count: they are everywhere.
 */
bool
plh_sql_access_hides_roles(void)
{
	ListCell   *cell;

	foreach(cell, plh_server_processes_list())
	{
		PGPROC	   *proc = BackendPidGetProc(lfirst_int(cell));

		if (proc != NULL && OidIsValid(proc->roleId) && !sees_role(proc->roleId))
			return true;
	}
	return false;
}

/*
 * Returns whether that is a process of this database cluster.  A dump may be of another one, in
 * which the same OIDs are other roles and databases.
 */
bool
plh_sql_access_is_of_cluster(const PlhProfileHeader *header)
{
	return header->system_identifier == GetSystemIdentifier();
}

/*
 * Returns whether the caller, who may or may not see all, may see the profile or the dump with that
 * header.
 */
bool
plh_sql_access_shows(bool sees_all, const PlhProfileHeader *header)
{
	return sees_all || (plh_sql_access_is_of_cluster(header) &&
						sees_role(header->role_oid));
}

/* May that process have loaded this module? */
bool
plh_sql_access_may_have_loaded(int pid)
{
	return plh_process_is_preloaded() || plh_server_processes_loaded(pid) != PLH_NOT_LOADED;
}

/* May it?  If not, a WARNING says so. */
bool
plh_sql_access_check_loaded(int pid)
{
	if (plh_sql_access_may_have_loaded(pid))
		return true;
	ereport(WARNING, (errmsg("PID %d has not loaded pg_leakhunt", pid),
					  errhint("Only sessions that began after pg_leakhunt was added to session_preload_libraries, that loaded it themselves, or that it was attached to, can be sampled.")));
	return false;
}

/* What plh_sql_access_visit passes on. */
typedef struct Visit
{
	bool		sees_all;
	PlhProfileVisitor visit;
	void	   *arg;
} Visit;

/* PlhProfileFilter: what the caller may see. */
static bool
may_visit(const PlhProfileImage *image, void *arg)
{
	const Visit *visit = arg;

	return plh_sql_access_shows(visit->sees_all, image->header);
}

/* PlhProfileVisitor: the same, of what has changed its owner since. */
static void
visit_shown(PlhProfileImage *image, void *arg)
{
	const Visit *visit = arg;

	if (plh_sql_access_shows(visit->sees_all, image->header))
		visit->visit(image, visit->arg);
}

/*
 * Call "visit" with the image of each profile that the caller may see, or only with those of "pid"
 * if it is not 0.  Of others the header is read at most: they may be many, and large.
 */
void
plh_sql_access_visit(bool sees_all, int pid, PlhProfileVisitor visit, void *arg)
{
	Visit		shown = {sees_all, visit, arg};

	plh_profile_reader_each(plh_profile_directory_path(), pid, false, sees_all ? NULL : may_visit,
							visit_shown, &shown);
}

/*
 * sql_explained.c
 *	  What is known of a process before it is explained: names, state, sizes.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/process_facts.h"
#include "functions/sql_access.h"
#include "functions/sql_explained.h"
#include "functions/sql_rows.h"
#include "reader/database_text.h"
#include "reader/server_activity.h"
#include "reader/server_processes.h"
#include "reader/session_peaks.h"

/* Fill in what the server's statistics and the kernel know of a process. */
void
plh_sql_explained_identify(PlhExplainedProcess *process, Oid role, Oid database)
{
	PlhServerActivity activity = {0};
	const PlhServerActivity *known = NULL;

	process->now = process->image == NULL || process->image->alive ?
		GetCurrentTimestamp() : plh_profile_image_ended_at(process->image->header);
	process->rss_anon_bytes = -1;
	if (process->image == NULL || process->image->alive)
	{
		process->rss_anon_bytes = plh_process_facts_rss_anon_bytes(process->pid);
		process->rss_shared_bytes = plh_server_processes_shared_bytes(process->pid);
		if (plh_server_activity_find(process->pid, &activity))
		{
			known = &activity;
			process->application_name = activity.application_name;
			process->state = activity.state;
			process->state_since = activity.state_since;
			role = OidIsValid(role) ? role : activity.role_oid;
			database = OidIsValid(database) ? database : activity.database_oid;
		}
	}
	if (process->image != NULL && !process->image->alive)
		process->application_name =
			plh_database_text_fit_foreign(process->image->header->application_name,
										  strlen(process->image->header->application_name),
										  process->image->header->encoding);
	process->backend_type = process->image != NULL ?
		plh_profile_image_backend_type(process->image) :
		plh_sql_rows_unprofiled_type(process->pid, known);
	if (OidIsValid(role))
		process->username = GetUserNameFromId(role, true);
	if (OidIsValid(database))
		process->database = get_database_name(database);
}

/* Find the call of the last day that took most, if the caller may see it. */
void
plh_sql_explained_find_largest(PlhExplainedProcess *process,
							   const PlhStatementPeaks *peaks)
{
	const PlhStatementEntry *entry =
		plh_session_peaks_find(peaks, process->pid, process->image->header->started_at,
							   process->now - USECS_PER_DAY);

	if (entry != NULL && plh_sql_access_may_see(entry->role_oid))
		process->largest = entry;
}

/* A name as a profile has it; NULL where it is empty. */
static const char *
name_in_profile(const char *name, const PlhProfileHeader *header)
{
	return name[0] == '\0' ? NULL :
		plh_database_text_fit_foreign(name, strlen(name), header->encoding);
}

/*
 * Names are those of now, where the dump is of this cluster and they are there still;
 * else those by which the client asked for them.
 */
void
plh_sql_explained_identify_dump(PlhExplainedProcess *process, const PlhDump *dump)
{
	const PlhProfileImage *image = dump->image;
	const PlhProfileHeader *header = image->header;

	process->pid = header->pid;
	process->image = image;
	process->baseline = dump->baseline;
	process->loaded = PLH_LOADED;
	process->rss_anon_bytes = -1;
	process->now = image->crashed ? plh_profile_image_ended_at(header) :
		dump->written_at;
	process->backend_type = plh_profile_image_backend_type(image);
	process->application_name = name_in_profile(header->application_name, header);
	if (plh_sql_access_is_of_cluster(header))
	{
		process->username = GetUserNameFromId(header->role_oid, true);
		process->database = get_database_name(header->database_oid);
	}
	if (process->username == NULL)
		process->username = name_in_profile(header->role, header);
	if (process->database == NULL)
		process->database = name_in_profile(header->database, header);
}

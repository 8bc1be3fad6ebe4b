/*
 * owner.c
 *	  The process that owns a profile: begins it, and fills in what its header says of the process.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "postmaster/bgworker_internals.h"
#include "storage/proc.h"

#include "base/client_names.h"
#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/private_memory.h"
#include "base/settings.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_file.h"
#include "sampler/memory_limits.h"
#include "sampler/owner.h"
#include "stack/unwind.h"

/* The database cluster, to which each profile says that it belongs. */
static PLH_SET_AT_LOAD uint64 system_identifier;

/*
 * The sampling in force, for a profile that begins later.  A forked child finds out before its
 * first sample.
 */
PLH_SURVIVES_FORK uint32 plh_owner_interval;
static PLH_SURVIVES_FORK int current_scope;

/* What other threads got of malloc; NULL where malloc is not sampled. */
static PLH_SET_AT_LOAD const uint64 *malloc_other_bytes;

void
plh_owner_start(uint64 cluster)
{
	system_identifier = cluster;
}

/* Copy a name into the header, as far as it fits.  NULL gives an empty one. */
static void
note_name(char *noted, const char *name)
{
	strlcpy(noted, name != NULL ? name : "", PLH_NAME_MAX);
}

/* A process learns its type and its role some time after it was forked. */
void
plh_owner_identify(void)
{
	PlhProfileHeader *header = plh_profile;

	header->backend_type = MyBackendType;
	header->database_oid = MyDatabaseId;
	header->role_oid = MyProc != NULL ? MyProc->roleId : InvalidOid;
	header->encoding = GetDatabaseEncoding();
	note_name(header->application_name, plh_client_names_application());
	note_name(header->database, plh_client_names_database());
	note_name(header->role, plh_client_names_role());

	if (!IsUnderPostmaster)
		strlcpy(header->label, IsPostmasterEnvironment ? "postmaster" : "standalone backend",
				sizeof(header->label));
	else if (MyBgworkerEntry != NULL)
		strlcpy(header->label, MyBgworkerEntry->bgw_type, sizeof(header->label));
}

/*
 * Begin the profile of this process, which has none.  Returns false if there is no memory for it.
 */
bool
plh_owner_begin_profile(void)
{
	bool		was_held = plh_guard_take();
	bool		begun = plh_profile_begin();

	Assert(CritSectionCount == 0);
	if (begun)
	{
		plh_profile_counters_start();
		plh_profile->pid = getpid();
		plh_profile->started_at = MyStartTimestamp;
		plh_profile->system_identifier = system_identifier;
		plh_owner_identify();
		plh_owner_settings_changed(plh_owner_interval, current_scope);
	}
	plh_guard_restore(was_held);
	return begun;
}

/* Say whether malloc is sampled, and what went by. */
static void
note_malloc(PlhProfileHeader *header)
{
	header->malloc_tracked = malloc_other_bytes != NULL && plh_track_malloc;
	if (malloc_other_bytes != NULL)
		header->malloc_other_bytes = __atomic_load_n(malloc_other_bytes, __ATOMIC_RELAXED);
}

/* Bring the header up to date, but for the application's name, which changes at any time. */
void
plh_owner_update_header(void)
{
	PlhProfileHeader *header = plh_profile;

	header->wrong_stacks = plh_unwind_wrong_stacks;
	header->overhead_bytes = plh_private_memory_bytes() - plh_profile_file_bytes();
	note_malloc(header);
	plh_memory_limits_note(header);
	if (header->backend_type != MyBackendType || header->database_oid != MyDatabaseId ||
		(header->role_oid == InvalidOid && MyProc != NULL))
		plh_owner_identify();
}

/* Malloc is sampled from now on, where settings allow it; this is what other threads get. */
void
plh_owner_note_malloc(const uint64 *other_bytes)
{
	malloc_other_bytes = other_bytes;
}

/* From now on samples are taken at that interval, 0 for none, and kept of contexts in scope. */
PLH_EVERY_PROCESS void
plh_owner_settings_changed(uint32 sample_interval, int scope)
{
	PlhProfileHeader *header = plh_profile;

	plh_owner_interval = sample_interval;
	current_scope = scope;
	if (header == NULL)
		return;
	header->sample_interval = sample_interval;
	header->scope = scope;
	note_malloc(header);
}

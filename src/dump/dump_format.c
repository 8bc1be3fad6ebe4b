/*
 * dump_format.c
 *	  The fields of the lines about the process in a dump file.
 *
 * This file has constants only: dump_writer.c uses them inside palloc.
 */
#include "postgres.h"

#include "dump/dump_format.h"
#include "profile/profile_layout.h"

#define FIELD(name, kind, member) \
	{NULL, name, PLH_FIELD_##kind, offsetof(PlhProfileHeader, member)}
#define FIRST_FIELD(name, kind, member) \
	{"#", name, PLH_FIELD_##kind, offsetof(PlhProfileHeader, member)}

const PlhDumpField plh_dump_format_process[] = {
	{"# pg_leakhunt", "dump_version", PLH_FIELD_VERSION},
	{NULL, "bytes", PLH_FIELD_FILE_BYTES},
	{NULL, "reason", PLH_FIELD_REASON},
	FIELD("pid", PID, pid),
	FIELD("backend_type", BACKEND_TYPE, label),
	FIELD("database_oid", UINT32, database_oid),
	FIELD("role_oid", UINT32, role_oid),
	FIELD("encoding", INT32, encoding),

	FIRST_FIELD("died_at_us", TIME, death.at),
	FIELD("death", DEATH, death.kind),
	FIELD("death_number", INT32, death.number),
	FIELD("application_name", NAME, application_name),
	FIELD("database", NAME, database),
	FIELD("role", NAME, role),

	FIRST_FIELD("postgres", UINT32, pg_version),
	FIELD("started_at_us", TIME, started_at),
	{NULL, "written_at_us", PLH_FIELD_WRITTEN_AT},
	FIELD("sample_interval", UINT32, sample_interval),
	FIELD("scope", SCOPE, scope),

	FIRST_FIELD("samples_live", COUNT, counters.live_samples),
	FIELD("samples_kept", COUNT, counters.total_samples),
	FIELD("samples_taken", COUNT, samples_taken),
	FIELD("peak_bytes", COUNT, peak_bytes),
	FIELD("peak_at_us", TIME, peak_at),
	FIELD("private_bytes", COUNT, private_bytes),
	FIELD("profile_bytes", COUNT, profile_bytes),

	FIRST_FIELD("counted_at_us", TIME, census_at),
	FIELD("context_bytes", COUNT, context_bytes),
	FIELD("context_free_bytes", COUNT_IF_KNOWN, context_free_bytes),
	FIELD("malloc_bytes", COUNT_IF_KNOWN, malloc_bytes),
	FIELD("malloc_free_bytes", COUNT_IF_KNOWN, malloc_free_bytes),
	FIELD("own_bytes", COUNT, own_bytes),
	FIELD("own_peak_bytes", COUNT, own_peak_bytes),
	FIELD("own_peak_at_us", TIME, own_peak_at),

	FIRST_FIELD("malloc_tracked", UINT32, malloc_tracked),
	FIELD("malloc_live_bytes", COUNT, malloc_counters.live_bytes),
	FIELD("malloc_sampled_bytes", COUNT, malloc_sampled_bytes),
	FIELD("malloc_sampled_error", COUNT, malloc_sampled_error),
	FIELD("malloc_untracked_bytes", COUNT, malloc_other_bytes),

	FIRST_FIELD("lost_untracked", COUNT, lost_samples[PLH_LOSS_LIVE_TABLE]),
	FIELD("lost_untracked_bytes", COUNT, lost_bytes[PLH_LOSS_LIVE_TABLE]),
	FIELD("lost_site", COUNT, lost_samples[PLH_LOSS_PROFILE]),
	FIELD("lost_site_bytes", COUNT, lost_bytes[PLH_LOSS_PROFILE]),
	FIELD("lost_critical", COUNT, lost_samples[PLH_LOSS_CRITICAL]),
	FIELD("lost_critical_bytes", COUNT, lost_bytes[PLH_LOSS_CRITICAL]),
	{0}
};

const char *const plh_dump_format_deaths[] = {
	[PLH_DEATH_UNKNOWN] = "unknown",
	[PLH_DEATH_SIGNAL] = "signal",
	[PLH_DEATH_EXIT_CODE] = "exit_code",
	[PLH_DEATH_WITH_PROCESS] = "with_process"
};

/*
 * stand_ins_of_exit.c
 *	  What a process asks of the server when it exits: whether it is worth a dump, which
 *	  nobody writes, and whom it worked for.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "base/client_names.h"
#include "base/settings.h"
#include "dump/dump_report.h"
#include "dump/dump_retention.h"
#include "process/dump_texts.h"
#include "profile/dump_copy.h"
#include "sampler/control_file.h"
#include "scenario_process.h"

/* As where nobody has set them. */
bool		plh_dump_on_exit = true;
bool		plh_log_summary = true;
double		plh_dump_min_bytes = 32.0 * 1024 * 1024;
double		plh_dump_min_peak = 256.0 * 1024 * 1024;

/* All turns to write to the log are counted here. */
static PlhControlFile control;
PlhControlFile *plh_control_file = &control;

const char *
plh_client_names_role(void)
{
	return scenario_process.username;
}

const char *
plh_client_names_database(void)
{
	return scenario_process.database;
}

const char *
plh_client_names_application(void)
{
	return scenario_process.application;
}

/* All characters are of one byte. */
int
pg_mbcliplen(const char *text, int bytes, int limit)
{
	return Min(bytes, limit);
}

bool
plh_dump_copy_write(const PlhProfileImage *image, const PlhDumpExtras *extras,
					PlhDumpResult *result)
{
	memset(result, 0, sizeof(*result));
	snprintf(result->path, sizeof(result->path), "pg_leakhunt/%d.1.%s.profile", MyProcPid,
			 extras->reason);
	return true;
}

bool
plh_dump_texts_write(const char *path, const PlhProfileImage *image, const char *reason,
					 TimestampTz now)
{
	return true;
}

int
plh_dump_retention_trim_sometimes(void)
{
	return 0;
}

void
plh_dump_report(const PlhDumpResult *result, int level)
{
}

void
plh_dump_report_removal(int failure)
{
}

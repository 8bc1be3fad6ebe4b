/*
 * dump_report.c
 *	  Reports what went wrong with dump files.
 *
 * What writes them runs inside palloc or at exit, too, and can't do so itself.
 */
#include "postgres.h"

#include "base/settings.h"
#include "dump/dump_report.h"

void
plh_dump_report(const PlhDumpResult *result, int level)
{
	if (result->failure == 0)
		return;
	errno = result->failure;
	if (strcmp(result->path, plh_load_settings.dump_directory) == 0)
		ereport(level, (errcode_for_file_access(),
						errmsg("could not create directory \"%s\" for dump files: %m", result->path)));
	else
		ereport(level, (errcode_for_file_access(),
						errmsg("could not write dump file \"%s\": %m", result->path)));
}

void
plh_dump_report_removal(int failure)
{
	if (failure == 0)
		return;
	errno = failure;
	ereport(WARNING, (errcode_for_file_access(),
					  errmsg("could not remove old dump files in \"%s\": %m",
							 plh_load_settings.dump_directory)));
}

/*
 * dump_report.c
 *	  Reports failures of plh_dump_write.
 *
 * plh_dump_write runs inside palloc, too, and so cannot report them itself.
 */
#include "postgres.h"

#include "base/settings.h"
#include "process/dump_report.h"

/*
 * Report a dump that could not be written at the given level, or else old
 * dumps that could not be removed as a WARNING.
 */
void
plh_dump_report(const PlhDumpResult *result, int level)
{
	if (result->failure != 0)
	{
		errno = result->failure;
		if (strcmp(result->path, plh_fixed.dump_directory) == 0)
			ereport(level,
					(errcode_for_file_access(),
					 errmsg("could not create directory \"%s\" for dump files: %m",
							result->path)));
		else
			ereport(level,
					(errcode_for_file_access(),
					 errmsg("could not write dump file \"%s\": %m",
							result->path)));
	}
	else if (result->removal_failure != 0)
	{
		errno = result->removal_failure;
		ereport(WARNING,
				(errcode_for_file_access(),
				 errmsg("could not remove old dump files in \"%s\": %m",
						plh_fixed.dump_directory)));
	}
}

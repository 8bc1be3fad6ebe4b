/*
 * meeting.c
 *	  Has all processes of a parallel query take part in it, so that none finds that the
 *	  others have done its work.
 */
#include "postgres.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/proc.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(meet);

/* Note in a directory of the query that this process has come. */
static void
come(const char *directory)
{
	char		path[MAXPGPATH];
	int			file;

	(void) mkdir(directory, S_IRWXU);
	snprintf(path, sizeof(path), "%s/%d", directory, MyProcPid);
	file = open(path, O_CREAT | O_WRONLY, S_IRUSR | S_IWUSR);
	if (file < 0)
		elog(ERROR, "could not create \"%s\": %m", path);
	close(file);
}

static int
count_files(const char *directory)
{
	DIR		   *folder = opendir(directory);
	int			count = 0;

	if (folder == NULL)
		elog(ERROR, "could not open \"%s\": %m", directory);
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

/*
 * meet(processes int): waits, when it is first called in a process, until so many processes of
 * the session and its workers have called it
 */
Datum
meet(PG_FUNCTION_ARGS)
{
	static bool has_met = false;
	PGPROC	   *leader = MyProc->lockGroupLeader != NULL ? MyProc->lockGroupLeader : MyProc;
	char		directory[MAXPGPATH];

	if (has_met)
		PG_RETURN_INT32(1);
	snprintf(directory, sizeof(directory), "meeting.%d", leader->pid);
	come(directory);
	while (count_files(directory) < PG_GETARG_INT32(0))
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
	has_met = true;
	PG_RETURN_INT32(1);
}

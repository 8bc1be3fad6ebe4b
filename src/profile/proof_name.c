/*
 * proof_name.c
 *	  The file of a process' last proof, beside its profile.
 */
#include "postgres.h"

#include <unistd.h>

#include "base/limits.h"
#include "base/page_layout.h"
#include "profile/proof_name.h"

/* Every exit needs this: it lies beside other variables, so that no page of constants is read. */
static const char path_format[] = "%s/proof.%d";

PLH_EVERY_PROCESS void
plh_proof_name_make(char *path, Size bytes, const char *directory, int pid)
{
	snprintf(path, bytes, path_format, directory, pid);
}

PLH_EVERY_PROCESS void
plh_proof_name_unfinished(char *path, Size bytes, const char *directory, int pid)
{
	snprintf(path, bytes, "%s/proof.%d.new", directory, pid);
}

int
plh_proof_name_pid(const char *name)
{
	const char *start = "proof.";

	return strncmp(name, start, strlen(start)) == 0 ? atoi(name + strlen(start)) : 0;
}

PLH_EVERY_PROCESS void
plh_proof_name_unlink(const char *directory, int pid)
{
	char		path[PLH_PATH_MAX];

	plh_proof_name_make(path, sizeof(path), directory, pid);
	(void) unlink(path);
	plh_proof_name_unfinished(path, sizeof(path), directory, pid);
	(void) unlink(path);
}

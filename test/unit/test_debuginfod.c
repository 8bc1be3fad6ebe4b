/*
 * test_debuginfod.c
 *	  Which debuginfod servers are asked, by the setting, the environment and the files
 *	  of the system.
 */
#include "postgres.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit_tests.h"

/* The files of the system, which are ours here. */
static char directory[] = "/tmp/plh_debuginfod.XXXXXX";

static int
find_ours(const char *pattern, int flags, int (*on_error) (const char *, int), glob_t * files)
{
	char		ours[64];

	snprintf(ours, sizeof(ours), "%s/*.urls", directory);
	return glob(ours, flags, on_error, files);
}

#define glob find_ours
#include "symbols/symbol_files.c"
#undef glob

/* Make a file of the system; NULL removes it. */
static void
put_urls(const char *name, const char *text)
{
	char		path[64];
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (text == NULL)
	{
		(void) unlink(path);
		return;
	}
	file = fopen(path, "w");
	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
		abort();
}

/* The environment after the setting was applied to one, NULL for none of both. */
static bool
becomes(const char *setting, const char *before, const char *after)
{
	const char *found;

	if (before == NULL)
		(void) unsetenv(ADDRESSES);
	else
		(void) setenv(ADDRESSES, before, 1);
	plh_symbol_files_choose_servers(setting);
	found = getenv(ADDRESSES);
	return after == NULL ? found == NULL : found != NULL && strcmp(found, after) == 0;
}

void
test_debuginfod(void)
{
	const PlhBinary binary = {.path = "/no/file",.build_id = (const unsigned char *) "\1\2",.build_id_bytes = 2};
	char		endless[2 * MAX_SYSTEM_BYTES];

	if (mkdtemp(directory) == NULL)
		abort();
	ok(becomes("", NULL, NULL) && becomes(NULL, "http://a", "http://a") && becomes("", "http://a", "http://a"),
	   "by default only the environment names debuginfod servers");
	ok(becomes("http://b http://c", "http://a", "http://b http://c") && becomes("http://b", NULL, "http://b"),
	   "the setting's servers come before the environment's");
	ok(becomes("none", "http://a", NULL), "none of the environment's servers is asked with \"none\"");
	ok(becomes("system", NULL, NULL), "\"system\" asks nobody where the system names none");
	put_urls("1.urls", "http://one\nhttp://two\n");
	put_urls("2.urls", "http://three\n");
	put_urls("3.txt", "http://four\n");
	ok(becomes("system", NULL, "http://one http://two http://three ") &&
	   becomes("system", "", "http://one http://two http://three "),
	   "\"system\" asks the servers in the system's files");
	ok(becomes("system", "http://a", "http://a"), "\"system\" leaves the environment's servers as they are");
	ok(becomes("", NULL, NULL), "the system's files count only if the setting says so");
	memset(endless, 'x', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	put_urls("2.urls", endless);
	ok(becomes("system", NULL, "http://one http://two "), "a file without an end is left out");
	put_urls("1.urls", "\n \n");
	ok(becomes("system", NULL, NULL), "blank files name nobody");
	ok(strcmp(getenv(PATIENCE), PATIENCE_SECONDS) == 0, "servers that do not answer are waited for some seconds only");
	(void) setenv(PATIENCE, "77", 1);
	ok(becomes("", NULL, NULL) && strcmp(getenv(PATIENCE), "77") == 0, "or as long as the environment says");
	(void) setenv(ADDRESSES, "http://a", 1);
	plh_symbol_files_asked_in_vain(plh_clock_us(CLOCK_MONOTONIC));
	ok(getenv(ADDRESSES) != NULL, "a server that answers at once is asked again");
	plh_symbol_files_asked_in_vain(plh_clock_us(CLOCK_MONOTONIC) - 2 * LONG_WAIT_US);
	ok(getenv(ADDRESSES) == NULL, "a server that has not answered for long is not asked again");
	ok(fetch_debug_file(&binary) == NULL, "without servers nothing is fetched");
	put_urls("1.urls", NULL);
	put_urls("2.urls", NULL);
	put_urls("3.txt", NULL);
	(void) rmdir(directory);
}

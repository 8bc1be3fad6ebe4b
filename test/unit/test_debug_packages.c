/*
 * test_debug_packages.c
 *	  What is said where names of functions are missing, on systems of several kinds.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"
#include "reader_tests.h"
#include "report/debug_packages.h"

#define POSTGRES "/usr/lib/postgresql/17/bin/postgres"
#define LIBRARY "/usr/lib/x86_64-linux-gnu/libperl.so.5.40"
#define NO_RESTART "\nA new session sees them. No restart is needed."

static char root[] = "/tmp/plh_packages.XXXXXX";
static PlhSystem system_under_test = {root, "17.5 (Debian 17.5-1)"};

/* There is no server whose version it could be. */
extern const char *GetConfigOption(const char *name, bool missing_ok,
								   bool restrict_privileged);
const char *
GetConfigOption(const char *name, bool missing_ok, bool restrict_privileged)
{
	return "17.5";
}

/* Make a file below the root, and the directories above it; NULL removes it. */
static void
put_file(const char *path, const char *text)
{
	char	   *full = psprintf("%s%s", root, path);
	FILE	   *file;

	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash != NULL;
		 slash = strchr(slash + 1, '/'))
	{
		*slash = '\0';
		(void) mkdir(full, S_IRWXU);
		*slash = '/';
	}
	if (text == NULL)
	{
		(void) unlink(full);
		return;
	}
	file = fopen(full, "w");
	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
		abort();
}

/* Is that what is said of a binary? */
static bool
is_said(const char *path, const char *expected)
{
	char	   *text = plh_debug_packages_text(&system_under_test, &path, 1);

	if (strcmp(text, expected) == 0)
		return true;
	printf("# said: %s\n", text);
	return false;
}

static bool
is_command(const char *path, const char *expected)
{
	const char *command = plh_debug_packages_command(&system_under_test, path);

	return expected == NULL ? command == NULL :
		command != NULL && strcmp(command, expected) == 0;
}

/* Debian, with the format of today, and that of before. */
static void
test_debian(void)
{
	static const char *const several[] = {LIBRARY, POSTGRES, "/usr/local/lib/mine.so"};

	put_file("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nVERSION_CODENAME=trixie\nID=debian\n");
	put_file("/etc/apt/sources.list.d/debian.sources",
			 "# a comment\nTypes: deb deb-src\nURIs: http://mirror.test/debian/\nSuites: trixie trixie-updates\n"
			 "Components: main\n\nTypes: deb\nURIs: http://mirror.test/debian-security\nSuites: trixie-security\n\n"
			 "Enabled: no\nTypes: deb\nURIs: http://off.test/debian\nSuites: trixie\n");
	ok(is_said(POSTGRES, "Function names of postgres are missing. These lines install them:"
			   "\necho 'deb http://mirror.test/debian-debug trixie-debug main' | sudo tee -a /etc/apt/sources.list.d/debian-debug.list"
			   "\necho 'deb http://mirror.test/debian-security-debug trixie-security-debug main' | sudo tee -a /etc/apt/sources.list.d/debian-debug.list"
			   "\nsudo apt-get update\nsudo apt-get install postgresql-17-dbgsym" NO_RESTART),
	   "Debian: the archives beside the known ones, and the server's package");
	ok(is_command(LIBRARY, "find-dbgsym-packages --install " LIBRARY) &&
	   strstr(plh_debug_packages_text(&system_under_test, several, 3),
			  "Function names of libperl.so.5.40, postgres and mine.so are missing. ") != NULL &&
	   strstr(plh_debug_packages_text(&system_under_test, several, 3),
			  "apt-get update\nsudo apt-get install debian-goodies\nfind-dbgsym-packages --install " LIBRARY
			  "\nsudo apt-get install postgresql-17-dbgsym\nBuild mine.so with debug information (gcc -g), and do not strip it.\n") != NULL,
	   "Debian: the package of a library is found by a program, whose package is told");
	put_file("/etc/apt/sources.list.d/debian.sources", NULL);
	put_file("/etc/apt/sources.list",
			 "#deb http://comment.test/debian trixie main\ndeb-src http://source.test/debian sid main\n"
			 "deb [arch=amd64 signed-by=/a/key] http://mirror.test/debian sid main contrib\n"
			 "deb http://user:secret@private.test/debian sid main\ndeb http://$(reboot)/debian sid main\n");
	ok(is_said(POSTGRES, "Function names of postgres are missing. These lines install them:"
			   "\necho 'deb http://mirror.test/debian-debug unstable-debug main' | sudo tee -a /etc/apt/sources.list.d/debian-debug.list"
			   "\nsudo apt-get update\nsudo apt-get install postgresql-17-dbgsym" NO_RESTART),
	   "lines of the older format, without passwords and what a shell would run");
	system_under_test.server_version = "17.5 (Debian 17.5-1.pgdg13+1)";
	ok(is_said(POSTGRES, "Function names of postgres are missing. These lines install them:"
			   "\nsudo apt-get install postgresql-17-dbgsym" NO_RESTART),
	   "PGDG's archive has the debug symbols of its server");
	system_under_test.server_version = "17.5 (Debian 17.5-1)";
	put_file("/etc/apt/sources.list.d/debian-debug.list", "deb http://mirror.test/debian-debug unstable-debug main\n");
	ok(is_said(POSTGRES, "Function names of postgres are missing. These lines install them:"
			   "\nsudo apt-get install postgresql-17-dbgsym" NO_RESTART),
	   "an archive of debug symbols that apt knows is not told");
	put_file("/etc/apt/sources.list.d/debian-debug.list", NULL);
	put_file("/etc/apt/sources.list", NULL);
}

/* Other systems, and files of no package. */
static void
test_others(void)
{
	put_file("/etc/os-release", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n");
	ok(is_command("/usr/pgsql-17/bin/postgres", "sudo dnf debuginfo-install postgresql17-server"),
	   "RHEL: the server's package of PGDG");
	ok(is_command("/usr/lib64/it's.so", "sudo dnf debuginfo-install \"$(rpm -qf '/usr/lib64/it'\\''s.so')\""),
	   "RHEL: rpm names the package of another file, whatever its name");
	put_file("/etc/os-release", "ID=ubuntu\nID_LIKE=debian\n");
	put_file("/etc/debuginfod/ubuntu.urls", "https://debuginfod.test\n");
	ok(is_said(POSTGRES, "Function names of postgres are missing. Once apt knows Ubuntu's archive of debug symbols (package ubuntu-dbgsym-keyring), this installs them:"
			   "\nsudo apt-get install postgresql-17-dbgsym"
			   "\nOr a superuser lets the server fetch them over the network:"
			   "\nSET pg_leakhunt.debuginfod_urls = 'system';" NO_RESTART),
	   "Ubuntu: the package, and the servers that the system names");
	put_file("/etc/debuginfod/ubuntu.urls", "");
	ok(is_said("/opt/my/leaker.so", "Function names of leaker.so are missing.\nBuild leaker.so with debug information (gcc -g), and do not strip it." NO_RESTART),
	   "a file of no package is to be built with debug information");
	put_file("/etc/debuginfod/ubuntu.urls", NULL);
	put_file("/etc/os-release", NULL);
	ok(is_said(POSTGRES, "Function names of postgres are missing.\nInstall the debug symbols of postgres." NO_RESTART) &&
	   is_command(POSTGRES, NULL), "an unknown system gets no command");
}

void
test_debug_packages(void)
{
	if (mkdtemp(root) == NULL)
		abort();
	test_debian();
	test_others();
	(void) !system(psprintf("rm -r %s", root));
}

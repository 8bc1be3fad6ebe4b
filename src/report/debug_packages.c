/*
 * debug_packages.c
 *	  How the names of a binary's functions are got on this system: the lines to copy.
 *
 * Debian has packages *-dbgsym, in an archive of their own that apt is not told of.  It
 * lies beside the archive of the packages, so that its address follows from that one's.
 */
#include "postgres.h"

#include <glob.h>
#include <sys/stat.h>

#include "lib/stringinfo.h"
#include "utils/guc.h"

#include "report/apt_archives.h"
#include "report/debug_packages.h"
#include "report/stack_text.h"

/* Where apt is told of the archive of debug symbols. */
#define DEBUG_LIST "/etc/apt/sources.list.d/debian-debug.list"

/* How a system installs packages. */
typedef enum Installer
{
	INSTALLER_UNKNOWN,
	INSTALLER_DEBIAN,
	INSTALLER_UBUNTU,			/* apt, but the archive lies elsewhere */
	INSTALLER_DNF
} Installer;

/*
 * The system that we run on.
 */
PlhSystem
plh_debug_packages_here(void)
{
	return (PlhSystem)
	{
		.root = "",.server_version = GetConfigOption("server_version", false, false)
	};
}

/* The value of a variable in os-release, without quotes; "" if it has none. */
static char *
release_value(const char *release, const char *name)
{
	Size		name_bytes = strlen(name);

	while (release != NULL && *release != '\0')
	{
		Size		bytes = strcspn(release, "\n");

		if (bytes > name_bytes && strncmp(release, name, name_bytes) == 0 &&
			release[name_bytes] == '=')
		{
			const char *value = release + name_bytes + 1;
			Size		value_bytes = bytes - name_bytes - 1;

			if (value_bytes >= 2 && (value[0] == '"' || value[0] == '\''))
			{
				value++;
				value_bytes -= 2;
			}
			return pnstrdup(value, value_bytes);
		}
		release += bytes + (release[bytes] == '\n');
	}
	return pstrdup("");
}

/* How this system installs packages. */
static Installer
installer_of(const PlhSystem *system)
{
	const char *release = plh_apt_archives_file(psprintf("%s/etc/os-release", system->root));
	const char *kinds = psprintf(" %s %s ", release_value(release, "ID"),
								 release_value(release, "ID_LIKE"));

	if (strstr(kinds, " ubuntu ") != NULL)
		return INSTALLER_UBUNTU;
	if (strstr(kinds, " debian ") != NULL)
		return INSTALLER_DEBIAN;
	if (strstr(kinds, " fedora ") != NULL || strstr(kinds, " rhel ") != NULL)
		return INSTALLER_DNF;
	return INSTALLER_UNKNOWN;
}

/* Does a path lie where packages have their files? */
static bool
is_packaged(const char *path)
{
	return strncmp(path, "/lib", 4) == 0 ||
		(strncmp(path, "/usr/", 5) == 0 && strncmp(path, "/usr/local/", 11) != 0);
}

/* A path as a word for a shell. */
static char *
shell_word(const char *path)
{
	StringInfoData word;

	initStringInfo(&word);
	if (strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-") == strlen(path))
		appendStringInfoString(&word, path);
	else
	{
		appendStringInfoChar(&word, '\'');
		for (; *path != '\0'; path++)
		{
			if (*path == '\'')
				appendStringInfoString(&word, "'\\'");
			appendStringInfoChar(&word, *path < ' ' && *path > 0 ? '?' : *path);
		}
		appendStringInfoChar(&word, '\'');
	}
	return word.data;
}

/* The major version in the path of a server's program, which begins so; 0 if none. */
static int
server_in(const char *path, const char *start)
{
	char	   *end;
	long		version;

	if (strncmp(path, start, strlen(start)) != 0)
		return 0;
	version = strtol(path + strlen(start), &end, 10);
	return strncmp(end, "/bin/", 5) == 0 && version > 0 && version < 1000 ? version : 0;
}

/* The line that installs debug symbols where there are packages of Debian's kind. */
static char *
apt_command(const char *path)
{
	int			version = server_in(path, "/usr/lib/postgresql/");

	if (version > 0)
		return psprintf("sudo apt-get install postgresql-%d-dbgsym", version);
	return psprintf("find-dbgsym-packages --install %s", shell_word(path));
}

/* The same of Red Hat's kind. */
static char *
dnf_command(const char *path)
{
	int			version = server_in(path, "/usr/pgsql-");

	if (version > 0)
		return psprintf("sudo dnf debuginfo-install postgresql%d-server", version);
	return psprintf("sudo dnf debuginfo-install \"$(rpm -qf %s)\"", shell_word(path));
}

/*
 * The line that installs the debug symbols of a binary; NULL where no package is known.
 */
char *
plh_debug_packages_command(const PlhSystem *system, const char *path)
{
	Installer	installer = installer_of(system);

	if (!is_packaged(path) || installer == INSTALLER_UNKNOWN)
		return NULL;
	return installer == INSTALLER_DNF ? dnf_command(path) : apt_command(path);
}

static bool
ends_with(const char *text, const char *end)
{
	Size		bytes = strlen(text);
	Size		end_bytes = strlen(end);

	return bytes >= end_bytes && strcmp(text + bytes - end_bytes, end) == 0;
}

/* Add the line that tells apt of the debug symbols of an archive. */
static void
add_archive(StringInfo text, const PlhAptArchive *archive)
{
	const char *suite = strcmp(archive->suite, "sid") == 0 ? "unstable" : archive->suite;

	appendStringInfo(text, "\necho 'deb %s-debug %s-debug main' | sudo tee -a %s",
					 archive->uri, suite, DEBUG_LIST);
}

/* Is it an archive of Debian whose debug symbols lie beside it? */
static bool
has_debug_archive(const PlhAptArchive *archive)
{
	return (ends_with(archive->uri, "/debian") && strchr(archive->suite, '-') == NULL) ||
		(ends_with(archive->uri, "/debian-security") && ends_with(archive->suite, "-security"));
}

/*
 * Add the lines that tell apt of the archives of debug symbols, unless it knows one.
 */
static void
add_archives(StringInfo text, const PlhSystem *system)
{
	const PlhAptArchives *archives = plh_apt_archives_read(system->root);
	int			length = text->len;

	for (int i = 0; i < archives->count; i++)
		if (ends_with(archives->archives[i].uri, "-debug"))
			return;
	for (int i = 0; i < archives->count; i++)
		if (has_debug_archive(&archives->archives[i]))
			add_archive(text, &archives->archives[i]);
	if (text->len > length)
		appendStringInfoString(text, "\nsudo apt-get update");
}

/* Has PGDG's archive made the package of a server?  It has debug symbols, too. */
static bool
is_of_pgdg(const PlhSystem *system, const char *path)
{
	return server_in(path, "/usr/lib/postgresql/") > 0 &&
		strstr(system->server_version, ".pgdg") != NULL;
}

/* Does the system name debuginfod servers that only have to be allowed? */
static bool
has_servers(const PlhSystem *system)
{
	bool		found = false;
	glob_t		files;

	if (glob(psprintf("%s/etc/debuginfod/*.urls", system->root), 0, NULL, &files) != 0)
		return false;
	for (size_t i = 0; i < files.gl_pathc; i++)
	{
		struct stat status;

		found |= stat(files.gl_pathv[i], &status) == 0 && status.st_size > 0;
	}
	globfree(&files);
	return found;
}

/* Add what has to be done once, before the packages of any binary are installed. */
static void
add_preparation(StringInfo text, const PlhSystem *system, const char *const *paths, int count)
{
	Installer	installer = installer_of(system);
	bool		needs_archive = false;
	bool		needs_program = false;

	for (int i = 0; i < count; i++)
	{
		if (plh_debug_packages_command(system, paths[i]) == NULL)
			continue;
		needs_archive |= !is_of_pgdg(system, paths[i]);
		needs_program |= server_in(paths[i], "/usr/lib/postgresql/") == 0;
	}
	if (installer == INSTALLER_DEBIAN && needs_archive)
		add_archives(text, system);
	if (installer != INSTALLER_DNF && needs_program)
		appendStringInfoString(text, "\nsudo apt-get install debian-goodies");
}

/* Add the lines that install packages.  Returns false if none are known. */
static bool
add_packages(StringInfo text, const PlhSystem *system, const char *const *paths, int count)
{
	bool		added = false;

	for (int i = 0; i < count; i++)
	{
		const char *command = plh_debug_packages_command(system, paths[i]);

		if (command == NULL)
			continue;
		if (!added)
		{
			appendStringInfoString(text, installer_of(system) == INSTALLER_UBUNTU ?
								   " Once apt knows Ubuntu's archive of debug symbols (package ubuntu-dbgsym-keyring), this installs them:" :
								   " These lines install them:");
			add_preparation(text, system, paths, count);
		}
		appendStringInfo(text, "\n%s", command);
		added = true;
	}
	return added;
}

/* Add what to do about binaries that no package is known of. */
static void
add_others(StringInfo text, const PlhSystem *system, const char *const *paths, int count)
{
	for (int i = 0; i < count; i++)
		if (plh_debug_packages_command(system, paths[i]) == NULL)
			appendStringInfo(text, is_packaged(paths[i]) ? "\nInstall the debug symbols of %s." :
							 "\nBuild %s with debug information (gcc -g), and do not strip it.",
							 plh_stack_text_base_name(paths[i]));
}

/*
 * What to do where names of these binaries are missing.
 */
char *
plh_debug_packages_text(const PlhSystem *system, const char *const *paths, int count)
{
	StringInfoData text;
	bool		has_packages;

	initStringInfo(&text);
	appendStringInfoString(&text, "Function names of ");
	for (int i = 0; i < count; i++)
		appendStringInfo(&text, "%s%s", i == 0 ? "" : i < count - 1 ? ", " : " and ",
						 plh_stack_text_base_name(paths[i]));
	appendStringInfoString(&text, " are missing.");
	has_packages = add_packages(&text, system, paths, count);
	add_others(&text, system, paths, count);
	if (has_servers(system))
		appendStringInfo(&text, "\nOr%s a superuser lets the server fetch them over the network:\nSET pg_leakhunt.debuginfod_urls = 'system';",
						 has_packages ? "" : " else");
	appendStringInfoString(&text, "\nA new session sees them. No restart is needed.");
	return text.data;
}

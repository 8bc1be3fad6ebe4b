/*
 * debug_packages.h
 *	  How the names of a binary's functions are got on this system: the lines to copy.
 *
 * What is true of a system stands in its files, which are read when it is asked: so no
 * archive is named here, and no package manager is called.  Never called inside palloc.
 */
#ifndef PLH_DEBUG_PACKAGES_H
#define PLH_DEBUG_PACKAGES_H

/*
 * A system whose files lie below "root", which is "" but in tests, with a server of that
 * version, as in server_version.
 */
typedef struct PlhSystem
{
	const char *root;
	const char *server_version;
} PlhSystem;

/*
 * The sentence that names are missing in binaries, and then the lines that install
 * them.  The result belongs to the current memory context.
 */
extern char *plh_debug_packages_text(const PlhSystem *system,
									 const char *const *paths, int count);

/* The one line that installs the debug symbols of a binary, once packages are known. */
extern char *plh_debug_packages_command(const PlhSystem *system, const char *path);

/* The system that we run on. */
extern PlhSystem plh_debug_packages_here(void);

#endif							/* PLH_DEBUG_PACKAGES_H */

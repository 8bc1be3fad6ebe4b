/*
 * apt_archives.h
 *	  The archives of packages that apt is told of, as far as their names lead to those
 *	  of debug symbols.
 *
 * Never called inside palloc.
 */
#ifndef PLH_APT_ARCHIVES_H
#define PLH_APT_ARCHIVES_H

typedef struct PlhAptArchive
{
	const char *uri;			/* without a slash at its end */
	const char *suite;
} PlhAptArchive;

/* Beyond these, archives are left out. */
#define PLH_MOST_ARCHIVES 200

typedef struct PlhAptArchives
{
	int			count;
	PlhAptArchive archives[PLH_MOST_ARCHIVES];
} PlhAptArchives;

/*
 * The archives of a system whose files lie below "root".  Those that a shell would not
 * take as words, or that may have a password, are left out.
 */
extern PlhAptArchives *plh_apt_archives_read(const char *root);

/* The start of a text file, with a NUL; NULL if it can't be read. */
extern char *plh_apt_archives_file(const char *path);

#endif							/* PLH_APT_ARCHIVES_H */

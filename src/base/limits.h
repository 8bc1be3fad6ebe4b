/*
 * limits.h
 *	  The sizes that several parts of pg_leakhunt must agree on.
 *
 * They are the format's as well as the code's: a profile and a dump can't hold
 * a longer stack or build-id than this.  Include after postgres.h.
 */
#ifndef PLH_LIMITS_H
#define PLH_LIMITS_H

/* Frames that a stack can have at the most. */
#define PLH_MAX_FRAMES 256

/* Longest build-id, in bytes, that is kept; linkers make 20 at most. */
#define PLH_BUILD_ID_MAX 20

/* Room for the path of a directory, a slash and any name in it, with its NUL. */
#define PLH_PATH_MAX (MAXPGPATH + 256)

#endif							/* PLH_LIMITS_H */

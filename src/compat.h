/*
 * compat.h
 *	  Every difference in spelling between PostgreSQL versions, and the range
 *	  of versions that pg_leakhunt supports.
 *
 * The rest of the code is written against the newest signatures.  What a
 * version means for the *layout* that we patch is not spelling and lives in
 * method_patch.c.  Include after postgres.h.
 */
#ifndef PLH_COMPAT_H
#define PLH_COMPAT_H

/* First version that is supported, and first that is not any more. */
#define PLH_PG_VERSION_FIRST 150000
#define PLH_PG_VERSION_END	 160000

#if PG_VERSION_NUM < PLH_PG_VERSION_FIRST || PG_VERSION_NUM >= PLH_PG_VERSION_END
#error "this version of pg_leakhunt supports PostgreSQL 15 only"
#endif

#ifndef __linux__
#error "pg_leakhunt runs on Linux only: it needs /proc, tmpfs and RELRO method tables"
#endif

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "pg_leakhunt supports x86-64 and aarch64 only"
#endif

/*
 * We compile with hidden visibility, so that calls between our files need no
 * detour and clash with nothing.  What the server looks up must be visible;
 * before 16, PGDLLEXPORT did not say so.
 */
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#endif
#define PLH_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

#endif							/* PLH_COMPAT_H */

/*
 * limits.h
 *	  The sizes that several parts of pg_leakhunt must agree on.
 *
 * They belong to the format as well as to the code: a profile and a dump can't hold a longer stack
 * or build-id than this.  Include this file after postgres.h.
 */
#pragma once

/* A stack has at most this many frames. */
#define PLH_MAX_FRAMES 256

/* pg_leakhunt.max_statements is at most this. */
#define PLH_MAX_STATEMENTS 100000

/* A longer build-id is not kept; linkers make at most 20 bytes. */
#define PLH_BUILD_ID_MAX 20

/* A path of a directory, a slash, any name in it and the NUL fit into this. */
#define PLH_PATH_MAX (MAXPGPATH + 256)

/*
 * The return address that stands for each in code that was compiled at run time and whose caller
 * was found, as the same code lies elsewhere the next time.
 */
#define PLH_COMPILED_CODE ((uintptr_t) 4)

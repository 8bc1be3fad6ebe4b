/*
 * binary.h
 *	  The binary of a module, whose symbols are asked for, and what comes of opening it.
 */
#pragma once

/*
 * The binary of a module, as a process had loaded it; the texts are the caller's.
 */
typedef struct PlhBinary
{
	const char *path;
	const unsigned char *build_id;
	int			build_id_bytes; /* 0: it has none */
	int64		seen_at;		/* seconds since 1970; used without build-id */
} PlhBinary;

/* In the place of seen_at: whatever version of the file is there now. */
#define PLH_ANY_VERSION PG_INT64_MAX

/* The outcome of opening a module. */
typedef enum PlhModuleStatus
{
	PLH_MODULE_OPEN,			/* the file is that of the loaded binary */
	PLH_MODULE_NAMES_ONLY,		/* the same, read without libdw: no lines */
	PLH_MODULE_NO_MEMORY,		/* memory ran out */
	PLH_MODULE_NO_FILE,			/* the file is gone */
	PLH_MODULE_REPLACED,		/* the file has another build-id */
	PLH_MODULE_UNREADABLE,		/* no permission, or not an ELF file */
	PLH_MODULE_FAILED,			/* the symbolizer ended when it was asked */
	PLH_MODULE_NOT_ASKED		/* no symbolizer could be started */
} PlhModuleStatus;

/*
 * dump_names.h
 *	  The names of dump files, and their directory.
 *
 * A dump is called PID.SEQUENCE.REASON.profile, and its text, for jeprof and pprof, the same with
 * "heap" at its end.
 *
 * These functions may be called inside palloc and at exit; they allocate nothing and report
 * nothing.  Those that can fail return an errno, or 0.
 */
#pragma once

/* Names in the directory are shorter than this. */
#define PLH_DUMP_NAME_MAX 64

#define PLH_DUMP_SUFFIX "profile"
#define PLH_TEXT_SUFFIX "heap"

/* What the name of a dump, or of its text, says. */
typedef struct PlhDumpName
{
	int			pid;
	int			sequence;
	char		reason[16];
	bool		is_text;
} PlhDumpName;

extern bool plh_dump_names_parse(const char *name, PlhDumpName *parsed);
extern bool plh_dump_names_is_dump(const char *name);
extern bool plh_dump_names_is_temporary(const char *name);
extern void plh_dump_names_path(char *path, Size bytes, const PlhDumpName *name);
extern int	plh_dump_names_create(char *path, Size bytes);
extern int	plh_dump_names_make_directory(void);
extern int	plh_dump_names_highest(int pid, int *highest);

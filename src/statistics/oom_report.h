/*
 * oom_report.h
 *	  What the kernel logs when it kills a process for want of memory: whom, at which limit, and a
 *	  table of all processes.
 *
 * Nothing here allocates or throws.
 */
#pragma once

#include "statistics/text_span.h"

#define PLH_OOM_NAME_ROOM 32
#define PLH_OOM_GROUP_ROOM 128
#define PLH_OOM_COLUMNS 16

/* The columns of the table that count, as its head names them. */
typedef struct PlhOomColumns
{
	int			count;			/* 0: no table is being read */
	int			tgid;			/* index of each; -1: the kernel has none */
	int			rss;
	int			rss_anon;
	int			rss_shmem;
	int			swap;
} PlhOomColumns;

/* Processes of the table, added up; in bytes. */
typedef struct PlhOomSum
{
	int64		processes;
	int64		rss_bytes;
	int64		anon_bytes;		/* of rss; if the table tells these apart */
	int64		most_shmem_bytes;	/* of one process; the same */
	int64		swapped_bytes;
	int64		largest_bytes;	/* of one process: private, or rss */
	int64		largest_pid;
	char		largest_name[PLH_OOM_NAME_ROOM];
} PlhOomSum;

typedef struct PlhOomReport
{
	int64		count;			/* of reports in the text; this is the last */
	bool		tells_apart;	/* the table has private and shared memory */
	bool		has_no_head;	/* the table's begin is not there */
	bool		of_machine;		/* it says that the machine was full */
	bool		of_group;		/* a control group's limit was reached */
	char		group[PLH_OOM_GROUP_ROOM];	/* its name; may be empty */
	int64		usage_bytes;	/* of that group; 0: not said */
	int64		limit_bytes;
	PlhOomSum	server;			/* PostgreSQL's, by their names */
	PlhOomSum	others;
	int64		killed_pid;		/* 0: not said */
	char		killed_name[PLH_OOM_NAME_ROOM];
	int64		killed_anon_bytes;	/* -1: not said, as the next two */
	int64		killed_file_bytes;
	int64		killed_shmem_bytes;
	bool		is_killed;		/* the report is complete: what follows is
								 * another */
	PlhOomColumns columns;
} PlhOomReport;

/* Take note of a line, if it belongs to such a report. */
extern void plh_oom_report_take(PlhOomReport *report, PlhTextSpan line);

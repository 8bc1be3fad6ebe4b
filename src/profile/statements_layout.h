/*
 * statements_layout.h
 *	  The layout of the file of statements: what statements took at their peaks, over all
 *	  processes of a server.
 *
 * The file is a PlhStatementsFile, followed by entries.  All processes have it mapped, and change
 * it under its lock; those that read it copy an entry until its sequence is even and the same
 * before and after.  Whoever reads checks each index and length.
 *
 * Numbers of entries are indexes plus one; 0 stands for none.  What is stored is numbers and bytes,
 * no addresses: the file outlives the processes, and the server.  Who changes the layout changes
 * PLH_STATEMENTS_LAYOUT.
 */
#pragma once

#include "port/atomics.h"

#include "profile/peak_histogram.h"
#include "profile/profile_layout.h"

#define PLH_STATEMENTS_MAGIC "PLHSTMT"
#define PLH_STATEMENTS_LAYOUT 2

/* Of a stack, the innermost frames are kept. */
#define PLH_STATEMENT_FRAMES 64

/* Room for the names of their routines; a frame whose name does not fit is left out. */
#define PLH_STATEMENT_ROUTINE_BYTES 640

/* A longer name of a context is cut. */
#define PLH_STATEMENT_CONTEXT_MAX 95

/* Of the frames that most of a peak went through, the innermost ones are kept. */
#define PLH_STATEMENT_SHARED 16

/* Modules that frames may be in; the path of one has to fit into its place. */
#define PLH_STATEMENT_MODULES 64
#define PLH_STATEMENT_MODULE_BYTES 640

/* Places for calls that run: sessions have them by the number of their PGPROC. */
#define PLH_STATEMENT_CALLS 512

#define PLH_STATEMENT_BUCKETS 4096

/* The file grows by that many entries. */
#define PLH_STATEMENT_STEP 16

/* An entry that is used often is passed over so many times before it has to go. */
#define PLH_STATEMENT_MOST_USAGE 5

/*
 * The innermost frames that each have four fifths of a peak in their stacks.  A reader that knows
 * names takes the first that is worth one.
 */
typedef struct PlhSharedChain
{
	uint32		count;			/* 0: one stack has as much, or nothing does */
	uint8		percents[PLH_STATEMENT_SHARED]; /* of what was sampled at the
												 * peak */
	PlhFrame	frames[PLH_STATEMENT_SHARED];
} PlhSharedChain;

typedef struct PlhStatementEntry
{
	uint32		sequence;		/* odd while it changes */
	uint32		next;			/* number of the next one in the bucket */
	uint32		hash;
	uint32		usage;			/* goes down each time it might have to go */
	uint64		born;			/* number since the file was made; 0: free */

	/* the statement */
	uint64		query_id;		/* 0: its shape tells it from others */
	Oid			database_oid;
	Oid			role_oid;
	int32		encoding;		/* of text and context_name */
	uint32		text_bytes;

	/* its calls of at least pg_leakhunt.statement_min_bytes */
	int64		calls;
	int64		calls_beyond;	/* twice what settings allowed */
	int64		peak_sum;		/* bytes, of all peaks */
	PlhPeakHistogram peaks;

	/* the one with the highest peak */
	int64		max_peak_bytes;
	int64		max_private_bytes;	/* of its processes, most that was counted */
	int64		error_bytes;	/* 95% bound of that */
	int64		allowed_bytes;
	TimestampTz max_at;
	TimestampTz max_start;		/* of that call, with its leader's pid */
	int32		max_pid;

	/* what held most then, in one process */
	int64		site_bytes;
	int32		site_pid;		/* of that process */
	uint32		depth;			/* frames; 0: not known */
	uint16		truncated;		/* 1: the stack was deeper */
	uint16		routine_bytes;	/* of what is used of routines */
	char		context_name[PLH_STATEMENT_CONTEXT_MAX + 1];
	PlhFrame	frames[PLH_STATEMENT_FRAMES];	/* in modules of the file;
												 * those of routines have an
												 * index of "routines" for a
												 * string */
	char		routines[PLH_STATEMENT_ROUTINE_BYTES];	/* names, each of which
														 * ends with NUL and
														 * begins at a multiple
														 * of 8 */

	PlhSharedChain shared;		/* frames as above */

	char		text[PLH_STATEMENT_MAX + 1];
} PlhStatementEntry;

/* A call that runs, or ran last: of a session, and of its parallel workers. */
typedef struct PlhStatementCall
{
	TimestampTz start;
	int32		pid;			/* of the session */
	uint32		entry;			/* number */
	uint64		query_id;		/* 0: not known yet */
	uint64		born;			/* of that entry; else it is another's now */
	int64		peak_bytes;		/* of all these processes */
	double		variance;
	int64		samples;
	int64		private_bytes;
	int64		counted_bytes;	/* of these, those in peak_sum */
	uint32		is_counted;		/* it is in calls */
	uint32		is_beyond;		/* it is in calls_beyond */
} PlhStatementCall;

/* A PlhModuleRecord, with its path. */
typedef union PlhStatementModule
{
	PlhModuleRecord record;
	char		bytes[PLH_STATEMENT_MODULE_BYTES];
} PlhStatementModule;

typedef struct PlhStatementsFile
{
	char		magic[8];
	uint32		layout_version;
	uint32		header_bytes;	/* of this struct */
	uint32		entry_bytes;
	uint32		max_entries;
	uint64		system_identifier;
	uint64		seed;			/* of hashes */
	pg_atomic_uint64 lost;		/* calls that could not be counted */

	/* under the lock */
	pg_atomic_uint32 holder;	/* pid of the process that has it; 0: none */
	uint32		used_entries;	/* entries from this index on were never used */
	uint32		reserved_entries;	/* those that the file has room for */
	uint32		hand;			/* index of the entry that may have to go next */
	uint64		born;			/* entries ever made */
	int64		evicted;		/* of these, those that had to go */
	uint32		module_count;
	uint32		unused;
	PlhStatementCall calls[PLH_STATEMENT_CALLS];
	PlhStatementModule modules[PLH_STATEMENT_MODULES];
	uint32		buckets[PLH_STATEMENT_BUCKETS]; /* number of the first entry */
	PlhStatementEntry entries[FLEXIBLE_ARRAY_MEMBER];
} PlhStatementsFile;

#define PLH_STATEMENTS_BYTES(count) \
	(offsetof(PlhStatementsFile, entries) + sizeof(PlhStatementEntry) * (Size) (count))

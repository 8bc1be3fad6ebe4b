/*
 * dump_layout.h
 *	  The layout of a dump file: a profile, followed by what others know of it.
 *
 * A dump is the used bytes of a profile, up to PlhDumpFoot.profile_bytes; then parts, each with a
 * PlhDumpPart before it; and PlhDumpFoot at the end of the file.  The header in a dump has the name
 * of the backend type as its label, as the numbers of types differ between versions, and has
 * published all.
 *
 * A reader passes over parts of kinds that it does not know.
 */
#pragma once

#include "datatype/timestamp.h"

#define PLH_DUMP_MAGIC "PLHDUMP"

/* Stored in dumps: append only. */
typedef enum PlhDumpPartKind
{
	PLH_DUMP_BASELINE = 1,		/* PlhBaseline, with its sites */
	PLH_DUMP_NAMES,				/* one PlhFrameName behind the other */
	PLH_DUMP_PROOF				/* PlhProof, with all of it */
} PlhDumpPartKind;

/* What stands before each part. */
typedef struct PlhDumpPart
{
	uint32		kind;			/* PlhDumpPartKind */
	uint32		padding;		/* bytes behind it, up to a multiple of 8 */
	uint64		bytes;			/* of the part, without these */
} PlhDumpPart;

/*
 * A function that a frame lies in.  Those of one frame follow each other, the innermost first; the
 * others are inlined.
 */
typedef struct PlhFrameName
{
	uint64		frame;			/* PlhFrame */
	uint32		bytes;			/* of all this, a multiple of 8 */
	uint32		line;			/* 0: not known */
	uint32		inlined;		/* 1: into the next one */
	uint32		function_bytes; /* with the NUL; the file's name follows it */
	char		texts[FLEXIBLE_ARRAY_MEMBER];	/* a file not known is empty */
} PlhFrameName;

/* The last bytes of the file. */
typedef struct PlhDumpFoot
{
	uint64		file_bytes;
	uint64		profile_bytes;	/* a multiple of 8 */
	TimestampTz written_at;
	char		reason[16];		/* exit, crash, manual, growth or limit */
	char		magic[8];		/* PLH_DUMP_MAGIC */
	uint32		unused;
	uint32		checksum;		/* CRC-32C of all bytes before it */
} PlhDumpFoot;

/*
 * dump_format.h
 *	  The format of dump files, as far as writer and reader must agree on it.
 *
 * Times in dumps are microseconds since 1970 (PLH_UNIX_EPOCH_US).
 */
#ifndef PLH_DUMP_FORMAT_H
#define PLH_DUMP_FORMAT_H

#include "base/clock.h"

#define PLH_DUMP_VERSION 5

/*
 * Made-up load addresses lie in slots of this size, from this address on:
 * above executables without ASLR, and below everything else.
 */
#define PLH_SLOT_BITS 28
#define PLH_SLOT_COUNT ((uint64) 1 << 18)
#define PLH_SLOT_BASE ((uint64) 1 << 44)

/* The size of the file takes this room, as it is filled in at the end. */
#define PLH_FILE_BYTES_DIGITS 15

/*
 * A site without a stack has only the first address, and one of stacks that
 * were given up only the second.  They are in no module.
 */
#define PLH_NO_STACK_ADDRESS 1
#define PLH_FORMER_STACKS_ADDRESS 2

/* The kind of a field tells where its value is, and how it is written. */
typedef enum PlhDumpFieldKind
{
	/* of the dump */
	PLH_FIELD_VERSION,			/* PLH_DUMP_VERSION */
	PLH_FIELD_FILE_BYTES,		/* size of the file, followed by blanks */
	PLH_FIELD_REASON,			/* a word */
	PLH_FIELD_WRITTEN_AT,		/* a time */

	/* of the process: in PlhProfileHeader, at the field's offset */
	PLH_FIELD_BACKEND_TYPE,		/* text of PLH_LABEL_MAX bytes */
	PLH_FIELD_NAME,				/* text of PLH_NAME_MAX bytes */
	PLH_FIELD_SCOPE,			/* uint32, as a word */
	PLH_FIELD_DEATH,			/* PlhDeathKind, as a word */
	PLH_FIELD_PID,				/* int32, from 1 on */
	PLH_FIELD_INT32,			/* from 0 on */
	PLH_FIELD_UINT32,			/* an Oid, too */
	PLH_FIELD_COUNT,			/* int64, from 0 on */
	PLH_FIELD_COUNT_IF_KNOWN,	/* int64, from -1 on, which is not known */
	PLH_FIELD_TIME				/* TimestampTz */
} PlhDumpFieldKind;

/* A field " name=value" of the lines about the process. */
typedef struct PlhDumpField
{
	const char *line_start;		/* text before the first field of a line; NULL
								 * for the other fields */
	const char *name;
	PlhDumpFieldKind kind;
	Size		offset;			/* in PlhProfileHeader */
} PlhDumpField;

/* The fields are in the order of the file; the last one has no name. */
extern const PlhDumpField plh_dump_format_process[];

/* The words for each PlhDeathKind. */
extern const char *const plh_dump_format_deaths[];

#endif							/* PLH_DUMP_FORMAT_H */

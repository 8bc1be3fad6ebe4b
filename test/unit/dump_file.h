/*
 * dump_file.h
 *	  A dump file in memory, which tests write, change and read.
 */
#ifndef DUMP_FILE_H
#define DUMP_FILE_H

#include "profile/dump_copy.h"
#include "reader/dump_reader.h"

/* The bytes of a file. */
typedef struct Text
{
	char	   *data;
	Size		bytes;
} Text;

/* An attempt to read the file. */
typedef struct Attempt
{
	bool		header_only;
	PlhDump    *dump;			/* NULL after an ERROR */
} Attempt;

extern void open_dump_file(void);
extern void close_dump_file(void);
extern void set_dump_file(const Text *text);
extern Text write_dump(const PlhProfileImage *image,
					   const PlhDumpExtras *extras);
extern void mend_foot(Text *text);
extern int	read_dump(Attempt *attempt);
extern bool is_dump_error(int sqlstate);
extern void use_dump(const PlhDump *dump, bool drawn);

#endif							/* DUMP_FILE_H */

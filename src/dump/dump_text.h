/*
 * dump_text.h
 *	  Writes text into a file, through a buffer, without allocating.
 *
 * A failure is kept until the end, and what is appended behind it is lost.  These
 * functions may be called inside palloc and at exit.
 */
#ifndef PLH_DUMP_TEXT_H
#define PLH_DUMP_TEXT_H

/* The state of writing a file. */
typedef struct PlhDumpText
{
	int			fd;
	int			saved_errno;	/* of the first failure; 0: none */
	int64		flushed;		/* bytes in the file */
	Size		used;			/* bytes in the buffer */
	char		buffer[16 * 1024];
	int64		size_at;		/* where the size of the file is to be */
} PlhDumpText;

extern void plh_dump_text_begin(PlhDumpText *file, int fd);
extern void plh_dump_text_format(PlhDumpText *file, const char *format,...) pg_attribute_printf(2, 3);
extern void plh_dump_text_bytes(PlhDumpText *file, const char *bytes,
								Size count);
extern void plh_dump_text_value(PlhDumpText *file, const char *name,
								const char *value, Size bytes);
extern void plh_dump_text_digits(PlhDumpText *file, uint64 value, int base);
extern void plh_dump_text_number(PlhDumpText *file, const char *name,
								 int64 value);
extern void plh_dump_text_number_unless(PlhDumpText *file, const char *name,
										int64 value, int64 usual);
extern void plh_dump_text_size(PlhDumpText *file, const char *name);
extern int	plh_dump_text_end(PlhDumpText *file);

#endif							/* PLH_DUMP_TEXT_H */

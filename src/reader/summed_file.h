/*
 * summed_file.h
 *	  Files that a server keeps for the next one: some bytes with a checksum behind them.
 *
 * The checksum tells damage by chance.  What is read is trusted in nothing else: whoever reads it
 * checks all of it.  These functions throw nothing.  Never called inside palloc.
 */
#pragma once

/* The name of such a file's kind, within it. */
#define PLH_SUMMED_MAGIC_BYTES 8

typedef struct PlhSummedFile
{
	void	   *contents;		/* palloc'd; NULL: it could not be read */
	Size		bytes;			/* of these, as they are in the file */
	const char *problem;		/* a sentence: why it can't be used; or NULL */
} PlhSummedFile;

/*
 * Read a whole file, which has "least" to "most" bytes before its foot.  Returns false if there is
 * none; else look at "problem".  The first reads one that has no foot.
 */
extern bool plh_summed_file_read_bare(const char *path, Size least, Size most, PlhSummedFile *file);
extern bool plh_summed_file_read(const char *path, const char *magic, Size least, Size most,
								 PlhSummedFile *file);

/*
 * Write a file in place of the one that has that name, if there is one; "temporary" is in the same
 * directory.  "lasts": it survives a crash of the machine.  Returns an errno or 0.
 */
extern int	plh_summed_file_write(const char *path, const char *temporary, const char *magic,
								  const void *contents, Size bytes, bool lasts);

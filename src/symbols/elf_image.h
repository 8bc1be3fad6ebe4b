/*
 * elf_image.h
 *	  An ELF file of 64 bits, in a file or in memory, read within its bounds.
 *
 * Runs in the symbolizer, and in tests.  Allocates by malloc, and uses nothing of
 * PostgreSQL's but types.
 */
#ifndef PLH_ELF_IMAGE_H
#define PLH_ELF_IMAGE_H

#include <elf.h>

#include "base/limits.h"

typedef struct PlhElfImage
{
	int			fd;				/* -1: it is in memory */
	const unsigned char *memory;
	uint64		bytes;			/* size of the file */
	Elf64_Shdr *sections;
	int			section_count;
	bool		out_of_memory;	/* something is missing for lack of it */
} PlhElfImage;

/*
 * The caller sets fd or memory, and bytes, and zeroes the rest.  Returns false if it is
 * no such file, or without a table of sections.  To be ended by plh_elf_image_close,
 * which leaves fd and memory to the caller.
 */
extern bool plh_elf_image_open(PlhElfImage *image);
extern void plh_elf_image_close(PlhElfImage *image);

/* The first section of a type, or of a name; NULL if there is none. */
extern const Elf64_Shdr *plh_elf_image_section(const PlhElfImage *image, uint32 type);
extern const Elf64_Shdr *plh_elf_image_named(PlhElfImage *image, const char *name);

/*
 * A copy of a section, with a NUL behind it, which the caller must free(); NULL if it
 * does not lie in the file, or has more than "most" bytes.
 */
extern char *plh_elf_image_read(PlhElfImage *image, const Elf64_Shdr * section,
								uint64 most);

/* "build_id" must have room for PLH_BUILD_ID_MAX.  Returns its bytes; 0: none. */
extern int	plh_elf_image_build_id(const PlhElfImage *image, unsigned char *build_id);

#endif							/* PLH_ELF_IMAGE_H */

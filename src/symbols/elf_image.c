/*
 * elf_image.c
 *	  An ELF file of 64 bits, in a file or in memory, read within its bounds.
 *
 * Parts of a file are read, not mapped: one that is cut short while it is mapped would
 * end the process.
 */
#include "postgres.h"

#include "base/whole_io.h"
#include "symbols/elf_image.h"

/* The names of a file's own sections take a few hundred bytes. */
#define MAX_SECTION_NAMES (1024 * 1024)

/* The note with the build-id is small; what lies behind that is not read. */
#define MAX_NOTE_BYTES 1024

#ifdef WORDS_BIGENDIAN
#define BYTE_ORDER_HERE ELFDATA2MSB
#else
#define BYTE_ORDER_HERE ELFDATA2LSB
#endif

/* Read a part of the file.  Returns false if it has no such part. */
static bool
read_part(const PlhElfImage *image, uint64 offset, void *to, uint64 bytes)
{
	if (offset > image->bytes || bytes > image->bytes - offset)
		return false;
	if (image->fd >= 0)
		return plh_whole_io_read(image->fd, to, bytes, (off_t) offset) == (ssize_t) bytes;
	memcpy(to, image->memory + offset, bytes);
	return true;
}

/*
 * Read the header and the table of sections.
 */
bool
plh_elf_image_open(PlhElfImage *image)
{
	Elf64_Ehdr	header;
	Size		bytes;

	if (!read_part(image, 0, &header, sizeof(header)) ||
		memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_ident[EI_CLASS] != ELFCLASS64 ||
		header.e_ident[EI_DATA] != BYTE_ORDER_HERE ||
		header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0)
		return false;
	bytes = (Size) header.e_shnum * sizeof(Elf64_Shdr);
	image->sections = malloc(bytes);
	image->out_of_memory = image->sections == NULL;
	if (image->out_of_memory ||
		!read_part(image, header.e_shoff, image->sections, bytes))
	{
		plh_elf_image_close(image);
		return false;
	}
	image->section_count = header.e_shnum;
	return true;
}

/*
 * Free what belongs to an image.
 */
void
plh_elf_image_close(PlhElfImage *image)
{
	free(image->sections);
	image->sections = NULL;
	image->section_count = 0;
}

/*
 * Find the first section of a type.
 */
const		Elf64_Shdr *
plh_elf_image_section(const PlhElfImage *image, uint32 type)
{
	for (int i = 1; i < image->section_count; i++)
		if (image->sections[i].sh_type == type)
			return &image->sections[i];
	return NULL;
}

/* The names of the sections; NULL if there are none. */
static const Elf64_Shdr *
section_names(const PlhElfImage *image)
{
	Elf64_Ehdr	header;

	if (!read_part(image, 0, &header, sizeof(header)) ||
		header.e_shstrndx >= image->section_count)
		return NULL;
	return &image->sections[header.e_shstrndx];
}

/*
 * Find the first section of a name.
 */
const		Elf64_Shdr *
plh_elf_image_named(PlhElfImage *image, const char *name)
{
	const		Elf64_Shdr *names = section_names(image);
	const		Elf64_Shdr *found = NULL;
	char	   *text = names == NULL ? NULL :
		plh_elf_image_read(image, names, MAX_SECTION_NAMES);

	for (int i = 1; text != NULL && found == NULL && i < image->section_count; i++)
		if (image->sections[i].sh_name < names->sh_size &&
			strcmp(text + image->sections[i].sh_name, name) == 0)
			found = &image->sections[i];
	free(text);
	return found;
}

/*
 * Copy a section.
 */
char *
plh_elf_image_read(PlhElfImage *image, const Elf64_Shdr * section, uint64 most)
{
	char	   *copy;

	/* of a debug file, sections that stayed in the binary have no bytes */
	if (section->sh_type == SHT_NOBITS || (section->sh_flags & SHF_COMPRESSED) != 0 ||
		section->sh_size > Min(most, image->bytes))
		return NULL;
	copy = malloc(section->sh_size + 1);
	if (copy == NULL)
	{
		image->out_of_memory = true;
		return NULL;
	}
	copy[section->sh_size] = '\0';
	if (read_part(image, section->sh_offset, copy, section->sh_size))
		return copy;
	free(copy);
	return NULL;
}

/* Find the build-id in the notes of a section.  Returns its bytes; 0: none. */
static int
build_id_in(const unsigned char *notes, Size bytes, unsigned char *build_id)
{
	Elf64_Nhdr	note;

	while (bytes >= sizeof(note))
	{
		uint64		name_bytes;
		uint64		value_bytes;

		memcpy(&note, notes, sizeof(note));
		notes += sizeof(note);
		bytes -= sizeof(note);
		name_bytes = TYPEALIGN64(4, (uint64) note.n_namesz);
		value_bytes = TYPEALIGN64(4, (uint64) note.n_descsz);
		if (name_bytes > bytes || note.n_descsz > bytes - name_bytes)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
			memcmp(notes, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 &&
			note.n_descsz <= PLH_BUILD_ID_MAX)
		{
			memcpy(build_id, notes + name_bytes, note.n_descsz);
			return note.n_descsz;
		}
		if (value_bytes > bytes - name_bytes)
			return 0;
		notes += name_bytes + value_bytes;
		bytes -= name_bytes + value_bytes;
	}
	return 0;
}

/*
 * Find the build-id, by the sections: a debug file has no other valid places.
 */
int
plh_elf_image_build_id(const PlhElfImage *image, unsigned char *build_id)
{
	for (int i = 1; i < image->section_count; i++)
	{
		const		Elf64_Shdr *section = &image->sections[i];
		unsigned char notes[MAX_NOTE_BYTES];
		uint64		bytes = Min(section->sh_size, sizeof(notes));
		int			found;

		if (section->sh_type != SHT_NOTE ||
			!read_part(image, section->sh_offset, notes, bytes))
			continue;
		found = build_id_in(notes, bytes, build_id);
		if (found > 0)
			return found;
	}
	return 0;
}

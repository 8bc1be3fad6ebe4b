/*
 * heap_variables.c
 *	  The variables of a binary that is mapped: where they lie, and what they are called.
 */
#include "postgres.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/whole_io.h"
#include "heap/heap.h"
#include "heap/heap_memory.h"
#include "heap/heap_variables.h"

#define PAGE UINT64CONST(4096)

/* Larger tables are those of no binary, or not worth their time. */
#define MAX_SEGMENTS 64
#define MAX_SECTIONS 1024
#define MAX_TABLE_BYTES ((Size) 64 * 1024 * 1024)
#define MAX_NOTE_BYTES 4096

static bool
read_part(int fd, void *part, Size bytes, uint64 offset)
{
	return offset < PG_INT64_MAX && plh_whole_io_read(fd, part, bytes, offset) == bytes;
}

static int
open_binary(const char *path, Elf64_Ehdr * header)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -1;
	if (read_part(fd, header, sizeof(*header), 0) &&
		memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
		header->e_ident[EI_CLASS] == ELFCLASS64 &&
		header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum <= MAX_SEGMENTS)
		return fd;
	close(fd);
	return -1;
}

bool
plh_heap_variables_place(PlhHeapVariables *variables, const char *path, uintptr_t mapped_at,
						 uint64 file_offset)
{
	Elf64_Ehdr	header;
	Elf64_Phdr	segments[MAX_SEGMENTS];
	int			fd = open_binary(path, &header);
	bool		is_read;

	if (fd < 0)
		return false;
	is_read = read_part(fd, segments, header.e_phnum * sizeof(Elf64_Phdr), header.e_phoff);
	close(fd);
	for (int i = 0; is_read && i < header.e_phnum; i++)
	{
		const Elf64_Phdr *segment = &segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W) ||
			file_offset < TYPEALIGN_DOWN(PAGE, segment->p_offset) ||
			file_offset >= segment->p_offset + segment->p_filesz)
			continue;
		*variables = (PlhHeapVariables)
		{
			.path = path,
				.bias = mapped_at - (file_offset - segment->p_offset + segment->p_vaddr)
		};
		variables->start = TYPEALIGN_DOWN(PAGE, variables->bias + segment->p_vaddr);
		variables->end = TYPEALIGN64(PAGE, variables->bias + segment->p_vaddr + segment->p_memsz);
		return true;
	}
	return false;
}

/* A table of a file, which takes no memory of its own; NULL: it can't be read. */
static const char *
map_table(int fd, const Elf64_Shdr * section)
{
	uint64		before = section->sh_offset % PAGE;
	struct stat status;
	char	   *table;

	if (section->sh_size == 0 || section->sh_size > MAX_TABLE_BYTES || fstat(fd, &status) != 0 ||
		section->sh_offset > status.st_size ||
		section->sh_size > status.st_size - section->sh_offset)
		return NULL;
	table = mmap(NULL, before + section->sh_size, PROT_READ, MAP_PRIVATE, fd,
				 section->sh_offset - before);
	return table == MAP_FAILED ? NULL : table + before;
}

#define ST_SORT sort_variables
#define ST_ELEMENT_TYPE PlhHeapVariable
#define ST_COMPARE(a, b) ((a)->start < (b)->start ? -1 : (a)->start > (b)->start)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Take the variables out of a table of symbols. */
static bool
take_symbols(PlhHeapVariables *variables, int fd, const Elf64_Shdr * table,
			 const Elf64_Shdr * names)
{
	const Elf64_Sym *symbols = (const Elf64_Sym *) map_table(fd, table);
	Size		count = table->sh_size / sizeof(Elf64_Sym);

	variables->names = map_table(fd, names);
	variables->name_bytes = names->sh_size;
	variables->list = plh_heap_reserve((count + 1) * sizeof(PlhHeapVariable));
	if (symbols == NULL || (uintptr_t) symbols % sizeof(uint64) != 0 ||
		variables->names == NULL || variables->names[names->sh_size - 1] != '\0' ||
		variables->list == NULL)
		return false;
	for (Size i = 0; i < count; i++)
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT &&
			symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_size > 0 &&
			symbols[i].st_name < variables->name_bytes)
			variables->list[variables->count++] = (PlhHeapVariable)
		{
			symbols[i].st_value, symbols[i].st_size, symbols[i].st_name
		};
	sort_variables(variables->list, variables->count);
	return variables->count > 0;
}

/* Take them out of the section of that kind.  Returns false if the file has none. */
static bool
read_symbols(PlhHeapVariables *variables, const char *path, uint32 type)
{
	Elf64_Ehdr	header;
	Elf64_Shdr	sections[MAX_SECTIONS];
	int			fd = open_binary(path, &header);
	bool		is_taken = false;

	if (fd < 0)
		return false;
	if (header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shnum <= MAX_SECTIONS &&
		read_part(fd, sections, header.e_shnum * sizeof(Elf64_Shdr), header.e_shoff))
		for (int i = 0; i < header.e_shnum && !is_taken; i++)
			if (sections[i].sh_type == type && sections[i].sh_link < header.e_shnum)
				is_taken = take_symbols(variables, fd, &sections[i],
										&sections[sections[i].sh_link]);
	close(fd);
	return is_taken;
}

/* The name of the debug file of a note that tells a build-id. */
static bool
name_debug_file(const char *note, Size bytes, char *path, Size room)
{
	const Elf64_Nhdr *header = (const Elf64_Nhdr *) note;
	const uint8 *id = (const uint8 *) note + sizeof(*header) + 4;
	int			length;

	if (bytes < sizeof(*header) + 4 || header->n_type != NT_GNU_BUILD_ID ||
		header->n_namesz != 4 || header->n_descsz < 2 || header->n_descsz > 64 ||
		header->n_descsz > bytes - sizeof(*header) - 4)
		return false;
	length = snprintf(path, room, "/usr/lib/debug/.build-id/%02x/", id[0]);
	for (uint32 i = 1; i < header->n_descsz; i++)
		length += snprintf(path + length, room - length, "%02x", id[i]);
	snprintf(path + length, room - length, ".debug");
	return true;
}

static bool
find_debug_file(const char *binary, char *path, Size room)
{
	Elf64_Ehdr	header;
	Elf64_Phdr	segments[MAX_SEGMENTS];
	char		note[MAX_NOTE_BYTES] pg_attribute_aligned(8);
	int			fd = open_binary(binary, &header);
	bool		is_found = false;

	if (fd < 0)
		return false;
	if (read_part(fd, segments, header.e_phnum * sizeof(Elf64_Phdr), header.e_phoff))
		for (int i = 0; i < header.e_phnum && !is_found; i++)
			if (segments[i].p_type == PT_NOTE && segments[i].p_filesz <= sizeof(note) &&
				read_part(fd, note, segments[i].p_filesz, segments[i].p_offset))
				is_found = name_debug_file(note, segments[i].p_filesz, path, room);
	close(fd);
	return is_found;
}

static void
read_names(PlhHeapVariables *variables)
{
	char		debug_file[256];

	variables->was_read = true;
	if (read_symbols(variables, variables->path, SHT_SYMTAB))
		return;
	variables->count = 0;
	if (find_debug_file(variables->path, debug_file, sizeof(debug_file)) &&
		read_symbols(variables, debug_file, SHT_SYMTAB))
		return;
	variables->count = 0;
	if (!read_symbols(variables, variables->path, SHT_DYNSYM))
		variables->count = 0;
}

const char *
plh_heap_variables_find(PlhHeapVariables *variables, uintptr_t address, uintptr_t *start)
{
	uint64		wanted = address - variables->bias;
	uint32		low = 0;
	uint32		high;

	if (!variables->was_read)
		read_names(variables);
	high = variables->count;
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (variables->list[middle].start <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || wanted - variables->list[low - 1].start >= variables->list[low - 1].bytes)
		return NULL;
	*start = variables->bias + variables->list[low - 1].start;
	return variables->names + variables->list[low - 1].name;
}

bool
plh_heap_variables_exported(const char *path, const char *name, uint64 *address)
{
	PlhHeapVariables variables = {.path = path};

	if (!read_symbols(&variables, path, SHT_DYNSYM))
		return false;
	for (uint32 i = 0; i < variables.count; i++)
		if (strcmp(variables.names + variables.list[i].name, name) == 0)
		{
			*address = variables.list[i].start;
			return true;
		}
	return false;
}

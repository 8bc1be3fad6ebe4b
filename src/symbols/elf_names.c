/*
 * elf_names.c
 *	  Names functions where libdw is missing: by the symbol tables of a binary and of its debug
 *	  file, without files, lines and inlined functions.
 *
 * The tables, in the order in which they are read: .dynsym, the exported functions; .symtab, all
 * functions; where that was stripped, the one in .gnu_debugdata, a small ELF file that
 * distributions compress and leave in the binary; and where there is none, that of the debug file.
 *
 * A function is named only if the address lies between its start and its end: a wrong name would be
 * worse than none.
 *
 * Parts of a file are read, not mapped: one that is cut short while it is mapped would end the
 * process.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/whole_io.h"
#include "symbols/elf_names.h"

/* An ELF file of 64 bits, in a file or in memory, read within its bounds. */
typedef struct ElfImage
{
	int			fd;				/* -1: it is in memory */
	const unsigned char *memory;
	uint64		bytes;			/* size of the file */
	Elf64_Shdr *sections;
	int			section_count;
	bool		out_of_memory;	/* something is missing for lack of it */
} ElfImage;

/* The names of a file's own sections take a few hundred bytes. */
#define MAX_SECTION_NAMES (1024 * 1024)

/* The note with the build-id is small; what lies behind that is not read. */
#define MAX_NOTE_BYTES 1024

#ifdef WORDS_BIGENDIAN
#define BYTE_ORDER_HERE ELFDATA2MSB
#else
#define BYTE_ORDER_HERE ELFDATA2LSB
#endif

/* Larger tables are not read; that of LLVM's library has 40 MB. */
#define MAX_TABLE_BYTES (256 * 1024 * 1024)

/* Bounds of a compressed symbol table, and of the memory that it takes to unpack it. */
#define MAX_PACKED_BYTES (16 * 1024 * 1024)
#define MAX_UNPACKED_BYTES (32 * 1024 * 1024)
#define MAX_UNPACKER_BYTES (80 * 1024 * 1024)

/* Functions that begin before an address and may reach to it: so many are looked at. */
#define MAX_NESTED 1000

/* A function of a symbol table. */
typedef struct ElfFunction
{
	uint64		start;
	uint64		end;
	uint64		furthest_end;	/* of it and of all that stand before it */
	const char *name;
	uint32		number;			/* in the order in which they were read */
	uint8		binding;		/* STB_*; global comes before local */
} ElfFunction;

/* Read a part of the file.  Returns false if it has no such part. */
static bool
read_part(const ElfImage *image, uint64 offset, void *to, uint64 bytes)
{
	if (offset > image->bytes || bytes > image->bytes - offset)
		return false;
	if (image->fd >= 0)
		return plh_whole_io_read(image->fd, to, bytes, (off_t) offset) == (ssize_t) bytes;
	memcpy(to, image->memory + offset, bytes);
	return true;
}

static void
close_image(ElfImage *image)
{
	free(image->sections);
	image->sections = NULL;
	image->section_count = 0;
}

/*
 * The caller has set fd or memory, and bytes, and zeroed the rest, and ends it by close_image.
 * Returns false if it is no such file, or has no table of sections.
 */
static bool
read_table(ElfImage *image)
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
	if (image->out_of_memory || !read_part(image, header.e_shoff, image->sections, bytes))
	{
		close_image(image);
		return false;
	}
	image->section_count = header.e_shnum;
	return true;
}

/* The first one; NULL if there is none. */
static const Elf64_Shdr *
section_of_type(const ElfImage *image, uint32 type)
{
	for (int i = 1; i < image->section_count; i++)
		if (image->sections[i].sh_type == type)
			return &image->sections[i];
	return NULL;
}

/* A copy with a NUL behind it, to be freed; NULL if not all is there, or more than "most" bytes. */
static char *
read_section(ElfImage *image, const Elf64_Shdr * section, uint64 most)
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

/* Find the first section of a name; NULL if there is none. */
static const Elf64_Shdr *
section_named(ElfImage *image, const char *name)
{
	const		Elf64_Shdr *names;
	const		Elf64_Shdr *found = NULL;
	Elf64_Ehdr	header;
	char	   *text;

	if (!read_part(image, 0, &header, sizeof(header)) || header.e_shstrndx >= image->section_count)
		return NULL;
	names = &image->sections[header.e_shstrndx];
	text = read_section(image, names, MAX_SECTION_NAMES);
	for (int i = 1; text != NULL && found == NULL && i < image->section_count; i++)
		if (image->sections[i].sh_name < names->sh_size &&
			strcmp(text + image->sections[i].sh_name, name) == 0)
			found = &image->sections[i];
	free(text);
	return found;
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

/* By the sections: a debug file has no other valid places.  Returns its bytes; 0: none. */
static int
build_id_of(const ElfImage *image, unsigned char *build_id)
{
	for (int i = 1; i < image->section_count; i++)
	{
		const		Elf64_Shdr *section = &image->sections[i];
		unsigned char notes[MAX_NOTE_BYTES];
		uint64		bytes = Min(section->sh_size, sizeof(notes));
		int			found;

		if (section->sh_type != SHT_NOTE || !read_part(image, section->sh_offset, notes, bytes))
			continue;
		found = build_id_in(notes, bytes, build_id);
		if (found > 0)
			return found;
	}
	return 0;
}

const char *
plh_elf_names_of_malloc(const char *name)
{
	static const char *const family[] = {
		"malloc", "calloc", "realloc", "reallocarray", "posix_memalign",
		"aligned_alloc", "memalign"
	};

	for (int i = 0; name != NULL && i < lengthof(family); i++)
		if (strcmp(name, family[i]) == 0)
			return family[i];
	return NULL;
}

static bool
reserve(PlhElfNames *names, uint64 count)
{
	uint64		room = names->count + count;
	ElfFunction *larger = room > PG_INT32_MAX ? NULL :
		realloc(names->functions, sizeof(ElfFunction) * room);

	if (larger == NULL)
	{
		names->out_of_memory = true;
		return false;
	}
	names->functions = larger;
	names->room = room;
	return true;
}

/* Add a symbol, for which there is room, if it is a function's. */
static void
add_symbol(PlhElfNames *names, const Elf64_Sym *symbol, const char *name)
{
	ElfFunction *function;

	if (symbol->st_shndx == SHN_UNDEF)
	{
		if (names->called_malloc == NULL)
			names->called_malloc = plh_elf_names_of_malloc(name);
		return;
	}
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || name[0] == '\0' ||
		symbol->st_size == 0 || symbol->st_size > PG_UINT64_MAX - symbol->st_value)
		return;
	function = &names->functions[names->count];
	function->start = symbol->st_value;
	function->end = symbol->st_value + symbol->st_size;

	function->name = name;
	function->number = names->count++;
	function->binding = ELF64_ST_BIND(symbol->st_info);
}

static void
add_symbols(PlhElfNames *names, const char *table, uint64 table_bytes,
			const char *text, uint64 text_bytes)
{
	uint64		count = table_bytes / sizeof(Elf64_Sym);

	if (count == 0 || !reserve(names, count))
		return;
	for (uint64 i = 0; i < count; i++)
	{
		Elf64_Sym symbol;

		memcpy(&symbol, table + i * sizeof(symbol), sizeof(symbol));
		if (symbol.st_name < text_bytes)
			add_symbol(names, &symbol, text + symbol.st_name);
	}
}

/* Add the symbols of a type of table.  Returns false if the file has none. */
static bool
add_table(PlhElfNames *names, ElfImage *image, uint32 type)
{
	const		Elf64_Shdr *section = section_of_type(image, type);
	const		Elf64_Shdr *text_section;
	char	   *table;
	char	   *text = NULL;

	if (section == NULL || section->sh_link >= image->section_count ||
		section->sh_entsize != sizeof(Elf64_Sym) || names->text_count == PLH_NAME_TABLES)
		return false;
	text_section = &image->sections[section->sh_link];
	table = read_section(image, section, MAX_TABLE_BYTES);
	if (table != NULL)
		text = read_section(image, text_section, MAX_TABLE_BYTES);
	if (text != NULL)
	{
		names->texts[names->text_count++] = text;
		add_symbols(names, table, section->sh_size, text, text_section->sh_size);
	}
	free(table);
	names->out_of_memory |= image->out_of_memory;
	return text != NULL;
}

/* Type of lzma_stream_buffer_decode.  Its header need not be installed to build us. */
typedef int (*Unpack) (uint64_t *memory_limit, uint32_t flags, const void *allocator,
					   const uint8_t *in, size_t *in_position, size_t in_size,
					   uint8_t *out, size_t *out_position, size_t out_size);

/* Unpack an XZ file.  Returns NULL if that fails, or if liblzma is not installed. */
static unsigned char *
unpack(const char *packed, Size packed_bytes, size_t *bytes)
{
	void	   *library = dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);
	Unpack		decode = library == NULL ? NULL :
		(Unpack) dlsym(library, "lzma_stream_buffer_decode");
	uint64_t	memory_limit = MAX_UNPACKER_BYTES;
	size_t		position = 0;
	unsigned char *out;

	if (decode == NULL)
		return NULL;

	/* untouched pages of it cost nothing */
	out = malloc(MAX_UNPACKED_BYTES);
	*bytes = 0;
	if (out != NULL &&
		decode(&memory_limit, 0, NULL, (const uint8_t *) packed, &position, packed_bytes,
			   out, bytes, MAX_UNPACKED_BYTES) != 0)
	{
		free(out);
		return NULL;
	}
	return out;
}

/* Add the symbols of the compressed file in a stripped one.  Returns false if none. */
static bool
add_packed_table(PlhElfNames *names, ElfImage *image)
{
	const		Elf64_Shdr *section = section_named(image, ".gnu_debugdata");
	char	   *packed = section == NULL ? NULL : read_section(image, section, MAX_PACKED_BYTES);
	ElfImage	inner = {.fd = -1};
	bool		added = false;

	if (packed == NULL)
		return false;
	inner.memory = unpack(packed, section->sh_size, &inner.bytes);
	if (inner.memory != NULL && read_table(&inner))
	{
		added = add_table(names, &inner, SHT_SYMTAB);
		close_image(&inner);
	}
	free((void *) inner.memory);
	free(packed);
	return added;
}

/* Open a file.  The caller closes "image" and its fd if the result is PLH_MODULE_OPEN. */
static PlhModuleStatus
open_image(const char *path, const PlhBinary *binary, ElfImage *image)
{
	unsigned char build_id[PLH_BUILD_ID_MAX];
	struct stat file_status;

	memset(image, 0, sizeof(*image));
	image->fd = plh_symbol_files_open(path, &file_status);
	if (image->fd < 0)
		return plh_symbol_files_error();
	image->bytes = file_status.st_size;
	if (read_table(image))
	{
		if (plh_symbol_files_is_binary(build_id, build_id_of(image, build_id),
									   &file_status, binary))
			return PLH_MODULE_OPEN;
		close_image(image);
		close(image->fd);
		return PLH_MODULE_REPLACED;
	}
	close(image->fd);
	return image->out_of_memory ? PLH_MODULE_NO_MEMORY : PLH_MODULE_UNREADABLE;
}

/* Those in a table of the dynamic linker, whose texts are in another section. */
static int
linked_to(ElfImage *image, char **texts, const char **names, int room)
{
	const		Elf64_Shdr *section = section_of_type(image, SHT_DYNAMIC);
	const		Elf64_Shdr *text_section;
	char	   *table;
	int			count = 0;

	if (section == NULL || section->sh_link >= image->section_count)
		return 0;
	text_section = &image->sections[section->sh_link];
	table = read_section(image, section, MAX_TABLE_BYTES);
	*texts = read_section(image, text_section, MAX_TABLE_BYTES);
	for (uint64 at = 0; table != NULL && *texts != NULL && count < room &&
		 section->sh_size - at >= sizeof(Elf64_Dyn); at += sizeof(Elf64_Dyn))
	{
		Elf64_Dyn	entry;

		memcpy(&entry, table + at, sizeof(entry));
		if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < text_section->sh_size)
			names[count++] = *texts + entry.d_un.d_val;
	}
	free(table);
	return count;
}

int
plh_elf_names_linked_to(const char *path, char **texts, const char **names, int room)
{
	struct stat file_status;
	ElfImage	image = {.fd = plh_symbol_files_open(path, &file_status)};
	int			count = 0;

	*texts = NULL;
	if (image.fd < 0)
		return 0;
	image.bytes = file_status.st_size;
	if (read_table(&image))
		count = linked_to(&image, texts, names, room);
	close_image(&image);
	close(image.fd);
	return count;
}

/* PlhTryFile: add what a file has, of a binary the exported functions first. */
static PlhModuleStatus
add_file(const char *path, const PlhBinary *binary, void *arg)
{
	PlhElfNames *names = arg;
	ElfImage	image;
	PlhModuleStatus status = open_image(path, binary, &image);
	bool		added;

	if (status != PLH_MODULE_OPEN)
		return status;
	added = add_table(names, &image, SHT_DYNSYM);
	if (add_table(names, &image, SHT_SYMTAB) || add_packed_table(names, &image))
		added = names->has_table = true;
	if (added || names->file[0] == '\0')
		strlcpy(names->file, path, sizeof(names->file));
	close_image(&image);
	close(image.fd);
	return PLH_MODULE_OPEN;
}

static int
compare_functions(const void *left, const void *right)
{
	const ElfFunction *a = left;
	const ElfFunction *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

static void
sort_functions(PlhElfNames *names)
{
	uint64		furthest = 0;

	if (names->count == 0)
		return;
	qsort(names->functions, names->count, sizeof(ElfFunction), compare_functions);
	for (uint32 i = 0; i < names->count; i++)
	{
		furthest = Max(furthest, names->functions[i].end);
		names->functions[i].furthest_end = furthest;
	}
}

PlhModuleStatus
plh_elf_names_open(const PlhBinary *binary, PlhElfNames **opened)
{
	PlhElfNames *names = calloc(1, sizeof(PlhElfNames));
	PlhModuleStatus status;

	if (names == NULL)
		return PLH_MODULE_NO_MEMORY;
	status = plh_symbol_files_try_binary(binary, add_file, names);
	if (!names->has_table && plh_symbol_files_try_debug(binary, add_file, names) == PLH_MODULE_OPEN)
		status = PLH_MODULE_OPEN;
	if (names->out_of_memory)
		status = PLH_MODULE_NO_MEMORY;
	if (status != PLH_MODULE_OPEN)
	{
		plh_elf_names_close(names);
		return status;
	}
	sort_functions(names);
	*opened = names;
	return PLH_MODULE_OPEN;
}

/* How well a name is known to others: libdw's order of preference. */
static int
rank(const ElfFunction *function)
{
	return function->binding == STB_GLOBAL ? 3 : function->binding == STB_WEAK ? 2 :
		function->binding == STB_LOCAL;
}

/* Of two that begin at the same place, is the first, which stands before the other, better? */
static bool
is_better(const ElfFunction *function, const ElfFunction *than)
{
	if (rank(function) != rank(than))
		return rank(function) > rank(than);
	return function->end <= than->end;
}

/* Find the function that has an address; of several the one that begins last, as libdw does. */
const char *
plh_elf_names_find(const PlhElfNames *names, uint64 address)
{
	const ElfFunction *best = NULL;
	uint32		low = 0;
	uint32		high = names->count;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (names->functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (int i = 0; i < MAX_NESTED && low > 0; i++)
	{
		const ElfFunction *function = &names->functions[--low];

		if (function->furthest_end <= address || (best != NULL && function->start < best->start))
			break;
		if (address < function->end && (best == NULL || is_better(function, best)))
			best = function;
	}
	return best == NULL ? NULL : best->name;
}

void
plh_elf_names_close(PlhElfNames *names)
{
	for (int i = 0; i < names->text_count; i++)
		free(names->texts[i]);
	free(names->functions);
	free(names);
}

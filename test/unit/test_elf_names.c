/*
 * test_elf_names.c
 *	  Names of functions by the symbol table of an ELF file, as where libdw is missing.
 */
#include "postgres.h"

#include <elf.h>
#include <unistd.h>

#include "symbols/elf_names.h"
#include "unit_tests.h"

static const char names[] = "\0outer\0inner\0of_file\0known\0weak\0short\0long\0object\0calloc\0free";

#define SYMBOL(name_at, type, binding, section, start, bytes) \
	{.st_name = (name_at), .st_info = ELF64_ST_INFO(binding, type), .st_shndx = (section), \
		.st_value = (start), .st_size = (bytes)}

static const Elf64_Sym symbols[] = {
	{0},
	SYMBOL(1, STT_FUNC, STB_GLOBAL, 1, 0x1000, 0x100),
	SYMBOL(7, STT_FUNC, STB_LOCAL, 1, 0x1040, 0x10),
	SYMBOL(13, STT_FUNC, STB_LOCAL, 1, 0x2000, 0x20),
	SYMBOL(21, STT_FUNC, STB_GLOBAL, 1, 0x2000, 0x20),
	SYMBOL(27, STT_FUNC, STB_WEAK, 1, 0x2000, 0x20),
	SYMBOL(38, STT_FUNC, STB_GLOBAL, 1, 0x3000, 0x40),
	SYMBOL(32, STT_FUNC, STB_GLOBAL, 1, 0x3000, 0x10),
	SYMBOL(43, STT_OBJECT, STB_GLOBAL, 1, 0x4000, 0x40),
	SYMBOL(57, STT_FUNC, STB_GLOBAL, SHN_UNDEF, 0, 0),
	SYMBOL(50, STT_FUNC, STB_GLOBAL, SHN_UNDEF, 0, 0)
};

/* A note whose value is no multiple of 4 bytes, and then the one with the build-id. */
static const struct
{
	Elf64_Nhdr	first;
	char		first_name[4];
	char		first_value[8];
	Elf64_Nhdr	second;
	char		second_name[4];
	unsigned char build_id[4];
}			notes =

{
	{2, 5, 1}, "X", "value", {4, 4, NT_GNU_BUILD_ID}, "GNU", {0xab, 1, 2, 3}
};

/* The whole file, by which the sections are where the table of them says. */
typedef struct File
{
	Elf64_Ehdr	header;
	Elf64_Shdr	sections[4];
	char		notes[sizeof(notes)];
	Elf64_Sym	symbols[lengthof(symbols)];
	char		names[sizeof(names)];
} File;

#define PLACE(part) .sh_offset = offsetof(File, part), .sh_size = sizeof(((File *) NULL)->part)

static const File whole = {
	.header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64,
#ifdef WORDS_BIGENDIAN
			ELFDATA2MSB
#else
			ELFDATA2LSB
#endif
		},
		.e_shoff = offsetof(File, sections),.e_shentsize = sizeof(Elf64_Shdr),.e_shnum = 4
	},
	.sections = {
		{0},
		{.sh_type = SHT_NOTE, PLACE(notes)},
		{.sh_type = SHT_SYMTAB,.sh_link = 3,.sh_entsize = sizeof(Elf64_Sym), PLACE(symbols)},
		{.sh_type = SHT_STRTAB, PLACE(names)}
	}
};

static char path[] = "/tmp/plh_elf.XXXXXX";

/* Write the first bytes of the file. */
static void
write_file(Size bytes)
{
	File		file = whole;
	FILE	   *stream = fopen(path, "w");

	memcpy(file.notes, &notes, sizeof(notes));
	memcpy(file.symbols, symbols, sizeof(symbols));
	memcpy(file.names, names, sizeof(names));
	if (stream == NULL || fwrite(&file, bytes, 1, stream) != 1 || fclose(stream) != 0)
		abort();
}

static bool
is_at(const PlhElfNames *found, uint64 address, const char *name)
{
	const char *there = plh_elf_names_find(found, address);

	return name == NULL ? there == NULL : there != NULL && strcmp(there, name) == 0;
}

static void
test_functions(const PlhElfNames *found)
{
	ok(found->count == 7 && found->has_table &&
	   strcmp(found->file, path) == 0, "the functions of a symbol table are read");
	ok(is_at(found, 0x1000, "outer") && is_at(found, 0x10ff, "outer") &&
	   is_at(found, 0x1100, NULL) && is_at(found, 0xfff, NULL),
	   "a function reaches from its start to its end");
	ok(is_at(found, 0x1040, "inner") && is_at(found, 0x104f, "inner") && is_at(found, 0x1050, "outer"),
	   "one within another one, too");
	ok(is_at(found, 0x1080, "outer"), "behind it, the address is in the other one still");
	ok(is_at(found, 0x2010, "known"), "of several names, that which others know is told");
	ok(is_at(found, 0x3008, "short") && is_at(found, 0x3010, "long"),
	   "of two that begin together, the one that ends first");
	ok(is_at(found, 0x4000, NULL), "an object is no function");
	ok(strcmp(found->called_malloc, "calloc") == 0,
	   "it is known by which function it allocates");
}

void
test_elf_names(void)
{
	PlhBinary	binary = {.path = path,.build_id = notes.build_id,.build_id_bytes = 4};
	const unsigned char other[4] = {0xab, 1, 2, 4};
	PlhElfNames *found = NULL;
	int			fd = mkstemp(path);

	if (fd < 0)
		abort();
	close(fd);
	write_file(sizeof(File));
	ok(plh_elf_names_open(&binary, &found) == PLH_MODULE_OPEN, "a file is known by its build-id");
	if (found != NULL)
	{
		test_functions(found);
		plh_elf_names_close(found);
	}
	binary.build_id = other;
	ok(plh_elf_names_open(&binary, &found) == PLH_MODULE_REPLACED, "that of another build is not");
	write_file(offsetof(File, sections) + sizeof(Elf64_Shdr));
	ok(plh_elf_names_open(&binary, &found) == PLH_MODULE_UNREADABLE, "one that was cut is not read");
	unlink(path);
	ok(plh_elf_names_open(&binary, &found) == PLH_MODULE_NO_FILE, "one that is gone is told");
}

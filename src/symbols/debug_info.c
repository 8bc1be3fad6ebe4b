/*
 * debug_info.c
 *	  Reads debug information and symbol tables: from an address of a module to its functions,
 *	  inlined ones included, files and lines.
 *
 * Only this file calls libdw, which is loaded when it is first needed.  If pg_leakhunt were linked
 * to it, every fork and exit of every server process would be slower.  Where it is not installed,
 * elf_names.c has the answers.
 *
 * A function is named only if the address lies between its start and its end: a wrong name would be
 * worse than none.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/page_layout.h"
#include "symbols/debug_info.h"
#include "symbols/elf_names.h"

/* A contiguous range of a function's code; a function may have several. */
typedef struct FunctionRange
{
	Dwarf_Addr	start;
	Dwarf_Addr	end;
	Dwarf_Die	function;		/* its entry */
} FunctionRange;

/* A compilation unit, and the ranges of its functions. */
typedef struct DwarfUnit
{
	Dwarf_Off	offset;			/* of the entry that the address led to */
	Dwarf_Die	lines;			/* that entry, which has the line table */
	Dwarf_Die	entry;			/* with the functions: may be in a .dwo file */
	FunctionRange *ranges;		/* sorted by start */
	int			range_count;
	int			range_room;
	int			entries_left;	/* to visit, of MAX_UNIT_ENTRIES */
	struct DwarfUnit *next;
} DwarfUnit;

/* Entries of a unit, and depth of namespaces, that are visited: hostile files may have loops. */
#define MAX_UNIT_ENTRIES 4000000
#define MAX_NESTING 64

#define FIRST_RANGE_ROOM 64

/* The names of libdw's functions that we call. */
#define FOR_EACH_FUNCTION(apply) \
	apply(dwarf_attr_integrate) apply(dwarf_child) apply(dwarf_cu_info) apply(dwarf_dieoffset) \
	apply(dwarf_diename) apply(dwarf_filesrc) apply(dwarf_formstring) apply(dwarf_formudata) \
	apply(dwarf_getsrc_die) apply(dwarf_getsrcfiles) apply(dwarf_haspc) apply(dwarf_lineno) \
	apply(dwarf_linesrc) apply(dwarf_ranges) apply(dwarf_siblingof) apply(dwarf_tag) \
	apply(dwfl_begin) apply(dwfl_build_id_find_elf) apply(dwfl_end) apply(dwfl_lineinfo) \
	apply(dwfl_module_addrdie) apply(dwfl_module_addrinfo) apply(dwfl_module_build_id) \
	apply(dwfl_module_getdwarf) apply(dwfl_module_getelf) apply(dwfl_module_getsrc) \
	apply(dwfl_module_getsymtab) apply(dwfl_module_info) apply(dwfl_module_nextcu) \
	apply(dwfl_offline_section_address) apply(dwfl_report_elf) apply(dwfl_report_end) \
	apply(dwfl_standard_find_debuginfo) apply(elf_getdata) apply(elf_nextscn) apply(elf_strptr) \
	apply(gelf_getshdr) apply(gelf_getsym)

#define DECLARE_FUNCTION(name) __typeof__(name) *name;
typedef struct Libdw
{
	FOR_EACH_FUNCTION(DECLARE_FUNCTION)
} Libdw;

/* An open file, which the caller closes by dwfl_end. */
typedef struct DebugFile
{
	Dwfl	   *dwfl;
	Dwfl_Module *module;
	GElf_Addr	bias;			/* libdwfl's address minus the file's */
} DebugFile;

/* The functions; set once load_libdw has returned true. */
static PLH_LARGE Libdw libdw;

static Dwfl_Callbacks callbacks;

#define LOAD_FUNCTION(name) \
	libdw.name = (__typeof__(name) *) dlsym(library, #name); \
	complete &= libdw.name != NULL;

struct PlhDebugModule
{
	PlhElfNames *names;			/* where there is no libdw; else NULL */
	DebugFile	handle;
	Dwarf	   *dwarf;			/* NULL: no debug information */
	Dwarf_Addr	dwarf_bias;		/* libdwfl's address minus dwarf's */
	DwarfUnit  *units;			/* read so far, the latest first */
	const char *file;			/* path of the file that has the symbols */
};

static int
compare_ranges(const void *left, const void *right)
{
	Dwarf_Addr	a = ((const FunctionRange *) left)->start;
	Dwarf_Addr	b = ((const FunctionRange *) right)->start;

	return a < b ? -1 : a > b;
}

/* Add the ranges of a function to its unit; if memory runs out, not all. */
static void
add_function(DwarfUnit *unit, Dwarf_Die *function)
{
	Dwarf_Addr	base;
	Dwarf_Addr	start;
	Dwarf_Addr	end;
	ptrdiff_t	offset = 0;

	while (unit->entries_left-- > 0 &&
		   (offset = libdw.dwarf_ranges(function, offset, &base, &start, &end)) > 0)
	{
		if (unit->range_count == unit->range_room)
		{
			int			room = Max(FIRST_RANGE_ROOM, 2 * unit->range_room);
			FunctionRange *larger = realloc(unit->ranges, sizeof(FunctionRange) * room);

			if (larger == NULL)
				return;
			unit->ranges = larger;
			unit->range_room = room;
		}
		unit->ranges[unit->range_count].start = start;
		unit->ranges[unit->range_count].end = end;
		unit->ranges[unit->range_count].function = *function;
		unit->range_count++;
	}
}

/* Add the functions below an entry, which is a unit or a namespace in it. */
static void
add_functions(DwarfUnit *unit, Dwarf_Die *parent, int nesting)
{
	Dwarf_Die	entry;

	if (nesting > MAX_NESTING || libdw.dwarf_child(parent, &entry) != 0)
		return;
	do
	{
		int			tag = libdw.dwarf_tag(&entry);

		if (tag == DW_TAG_subprogram)
			add_function(unit, &entry);
		else if (tag == DW_TAG_namespace || tag == DW_TAG_module)
			add_functions(unit, &entry, nesting + 1);
	} while (unit->entries_left-- > 0 && libdw.dwarf_siblingof(&entry, &entry) == 0);
}

/*
 * Of a unit whose debug information is split (-gsplit-dwarf) the binary has a skeleton only; libdw
 * finds the rest in the .dwo file that it names.  Where that is gone, there are no functions.
 */
static Dwarf_Die
functions_entry(Dwarf_Die *unit_entry)
{
	uint8_t		type;
	Dwarf_Die	split;

	if (libdw.dwarf_cu_info(unit_entry->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
		type == DW_UT_skeleton && split.addr != NULL)
		return split;
	return *unit_entry;
}

/* Find a unit among those that were read, or read it.  Returns NULL if memory runs out. */
static DwarfUnit *
find_unit(DwarfUnit **units, Dwarf_Die *unit_entry)
{
	Dwarf_Off	offset = libdw.dwarf_dieoffset(unit_entry);
	DwarfUnit  *unit = *units;

	while (unit != NULL && unit->offset != offset)
		unit = unit->next;
	if (unit != NULL)
		return unit;

	unit = calloc(1, sizeof(DwarfUnit));
	if (unit == NULL)
		return NULL;
	unit->offset = offset;
	unit->lines = *unit_entry;
	unit->entry = functions_entry(unit_entry);
	unit->entries_left = MAX_UNIT_ENTRIES;
	add_functions(unit, &unit->entry, 0);
	if (unit->range_count > 0)
		qsort(unit->ranges, unit->range_count, sizeof(FunctionRange), compare_ranges);
	unit->next = *units;
	*units = unit;
	return unit;
}

/* Find the range that has an address, by binary search.  Returns NULL if none. */
static const FunctionRange *
range_of(const DwarfUnit *unit, Dwarf_Addr address)
{
	int			low = 0;
	int			high = unit->range_count;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (unit->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= unit->ranges[low - 1].end)
		return NULL;
	return &unit->ranges[low - 1];
}

/*
 * The unit that has an address of a module, from which *bias is to be taken away; NULL if there is
 * none.  Before, *bias is that of the module.  Compilers that are made of LLVM write no table of
 * the units' addresses: there those that were read before are asked, and then all others.
 */
static DwarfUnit *
unit_of(DwarfUnit **units, Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *bias)
{
	Dwarf_Addr	module_bias = *bias;
	Dwarf_Die  *entry = libdw.dwfl_module_addrdie(module, address, bias);

	if (entry != NULL)
		return find_unit(units, entry);
	*bias = module_bias;
	for (DwarfUnit *unit = *units; unit != NULL; unit = unit->next)
		if (range_of(unit, address - *bias) != NULL)
			return unit;
	while ((entry = libdw.dwfl_module_nextcu(module, entry, bias)) != NULL)
		if (libdw.dwarf_haspc(entry, address - *bias) > 0)
			return find_unit(units, entry);
	return NULL;
}

/* The functions around an address, the outermost first, with those that were inlined there. */
static int
nest_of(const FunctionRange *range, Dwarf_Addr address, Dwarf_Die *nest)
{
	int			count = 0;
	int			entries_left = MAX_UNIT_ENTRIES;
	Dwarf_Die	entry;
	Dwarf_Die	scope = range->function;

	nest[count++] = scope;

	/* go down into each entry that has the address, nameless blocks included */
	while (libdw.dwarf_child(&scope, &entry) == 0)
	{
		bool		found = false;

		do
		{
			int			tag = libdw.dwarf_tag(&entry);

			found = (tag == DW_TAG_inlined_subroutine ||
					 tag == DW_TAG_lexical_block ||
					 tag == DW_TAG_subprogram) &&
				libdw.dwarf_haspc(&entry, address) > 0;
			if (found && tag != DW_TAG_lexical_block)
			{
				if (count == PLH_MAX_INLINED)
					return count;
				nest[count++] = entry;
			}
		} while (!found && entries_left-- > 0 && libdw.dwarf_siblingof(&entry, &entry) == 0);
		if (!found)
			break;
		scope = entry;
	}
	return count;
}

static void
free_units(DwarfUnit **units)
{
	while (*units != NULL)
	{
		DwarfUnit  *next = (*units)->next;

		free((*units)->ranges);
		free(*units);
		*units = next;
	}
}

/* Load libdw, once.  Returns false if it, or one of its functions, is missing. */
static bool
load_libdw(void)
{
	static bool tried = false;
	static bool complete = false;
	void	   *library;

	if (tried)
		return complete;
	tried = true;
	library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return false;

	complete = true;
	FOR_EACH_FUNCTION(LOAD_FUNCTION)
		callbacks.find_elf = libdw.dwfl_build_id_find_elf;
	callbacks.find_debuginfo = libdw.dwfl_standard_find_debuginfo;
	callbacks.section_address = libdw.dwfl_offline_section_address;
	return complete;
}

static bool
is_binary(Dwfl_Module *module, const struct stat *status, const PlhBinary *binary)
{
	const unsigned char *build_id = NULL;
	GElf_Addr	address;
	int			bytes = libdw.dwfl_module_build_id(module, &build_id, &address);

	return plh_symbol_files_is_binary(build_id, bytes, status, binary);
}

/* PlhTryFile: open a file by libdw; keep it open only if it belongs to the binary. */
static PlhModuleStatus
open_path(const char *path, const PlhBinary *binary, void *arg)
{
	DebugFile  *file = arg;
	PlhModuleStatus status = PLH_MODULE_UNREADABLE;
	struct stat file_status;
	int			fd = plh_symbol_files_open(path, &file_status);

	if (fd < 0)
		return plh_symbol_files_error();

	file->dwfl = libdw.dwfl_begin(&callbacks);
	if (file->dwfl != NULL)
		file->module = libdw.dwfl_report_elf(file->dwfl, path, path, fd, 0, false);
	if (file->module == NULL)
		close(fd);
	else if (libdw.dwfl_report_end(file->dwfl, NULL, NULL) == 0 &&
			 libdw.dwfl_module_getelf(file->module, &file->bias) != NULL)
		status = is_binary(file->module, &file_status, binary) ?
			PLH_MODULE_OPEN : PLH_MODULE_REPLACED;

	if (status != PLH_MODULE_OPEN)
	{
		if (file->dwfl != NULL)
			libdw.dwfl_end(file->dwfl);
		memset(file, 0, sizeof(*file));
	}
	return status;
}

/*
 * The binary, or else its debug file.  Returns the status of the binary's path if neither can be
 * opened.  "file" must be zeroed; it is set only if the result is PLH_MODULE_OPEN.
 */
static PlhModuleStatus
open_debug_file(const PlhBinary *binary, DebugFile *file)
{
	PlhModuleStatus status = plh_symbol_files_try_binary(binary, open_path, file);

	if (status != PLH_MODULE_OPEN &&
		plh_symbol_files_try_debug(binary, open_path, file) == PLH_MODULE_OPEN)
		return PLH_MODULE_OPEN;
	return status;
}

static void
find_dwarf(PlhDebugModule *module)
{
	const char *main_file = NULL;
	const char *debug_file = NULL;
	int64		began_us = plh_clock_us(CLOCK_MONOTONIC);

	module->dwarf = libdw.dwfl_module_getdwarf(module->handle.module, &module->dwarf_bias);
	if (module->dwarf == NULL)
		plh_symbol_files_asked_in_vain(began_us);

	/* this finds a debug file that has only the symbol table */
	(void) libdw.dwfl_module_getsymtab(module->handle.module);
	(void) libdw.dwfl_module_info(module->handle.module, NULL, NULL, NULL,
								  NULL, NULL, &main_file, &debug_file);
	module->file = debug_file != NULL ? debug_file : main_file;
}

PlhModuleStatus
plh_debug_info_open(const PlhBinary *binary, PlhDebugModule **opened)
{
	PlhDebugModule *module = calloc(1, sizeof(PlhDebugModule));
	bool		has_library = load_libdw();
	PlhModuleStatus status;

	if (module == NULL)
		return PLH_MODULE_NO_MEMORY;
	status = has_library ? open_debug_file(binary, &module->handle) :
		plh_elf_names_open(binary, &module->names);
	if (status != PLH_MODULE_OPEN)
	{
		free(module);
		return status;
	}
	if (has_library)
		find_dwarf(module);
	*opened = module;
	return has_library ? PLH_MODULE_OPEN : PLH_MODULE_NAMES_ONLY;
}

/* Beside the dynamic ones: in the file, or in .gnu_debugdata, whose symbols libdw adds. */
static bool
has_symbol_table(PlhDebugModule *module, int symbol_count)
{
	GElf_Addr	bias;
	Elf		   *elf = libdw.dwfl_module_getelf(module->handle.module, &bias);
	Elf_Scn    *section = NULL;
	GElf_Shdr	header;
	GElf_Xword	dynamic_count = 0;

	while ((section = libdw.elf_nextscn(elf, section)) != NULL)
	{
		if (libdw.gelf_getshdr(section, &header) == NULL)
			continue;
		if (header.sh_type == SHT_SYMTAB)
			return true;
		if (header.sh_type == SHT_DYNSYM && header.sh_entsize > 0)
			dynamic_count += header.sh_size / header.sh_entsize;
	}
	return dynamic_count > 0 && symbol_count > dynamic_count;
}

static PlhSymbolSource
names_source(const PlhElfNames *names, const char **file)
{
	*file = names->file;
	if (names->count == 0)
		return PLH_SOURCE_NOTHING;
	return names->has_table ? PLH_SOURCE_SYMBOL_TABLE : PLH_SOURCE_DYNAMIC_SYMBOLS;
}

/* Sets "file" to the path of the file that has the best source of symbols. */
PlhSymbolSource
plh_debug_info_source(PlhDebugModule *module, const char **file)
{
	const char *debug_file = NULL;
	int			symbol_count;

	if (module->names != NULL)
		return names_source(module->names, file);
	*file = module->file;
	if (module->dwarf != NULL)
		return PLH_SOURCE_DEBUG_INFORMATION;
	symbol_count = libdw.dwfl_module_getsymtab(module->handle.module);
	if (symbol_count <= 1)
		return PLH_SOURCE_NOTHING;
	(void) libdw.dwfl_module_info(module->handle.module, NULL, NULL, NULL,
								  NULL, NULL, NULL, &debug_file);
	return debug_file != NULL || has_symbol_table(module, symbol_count) ?
		PLH_SOURCE_SYMBOL_TABLE : PLH_SOURCE_DYNAMIC_SYMBOLS;
}

/* The name by which linkers know a function; else the name in the source. */
static const char *
function_name(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (libdw.dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute) != NULL)
		name = libdw.dwarf_formstring(&attribute);
	return name != NULL ? name : libdw.dwarf_diename(function);
}

/* The value of an attribute that is a number; 0 if the entry does not have it. */
static Dwarf_Word
number_of(Dwarf_Die *entry, int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word	value;

	if (libdw.dwarf_attr_integrate(entry, name, &attribute) == NULL ||
		libdw.dwarf_formudata(&attribute, &value) != 0)
		return 0;
	return value;
}

/* File and line are known both, or neither is: a hostile file may have lines without source. */
static void
set_place(PlhSourceFrame *frame, const char *file, Dwarf_Word line)
{
	bool		known = file != NULL && line > 0 && line <= PG_INT32_MAX;

	frame->file = known ? file : NULL;
	frame->line = known ? (int) line : 0;
}

/* "unit" is that of the address, if it is known; there the address is lower by "bias". */
static void
find_line(PlhDebugModule *module, DwarfUnit *unit, Dwarf_Addr address, Dwarf_Addr bias,
		  PlhSourceFrame *frame)
{
	Dwfl_Line  *found = libdw.dwfl_module_getsrc(module->handle.module, address);
	Dwarf_Line *in_unit;
	int			line = 0;
	const char *file = NULL;

	if (found != NULL)
		file = libdw.dwfl_lineinfo(found, NULL, &line, NULL, NULL, NULL);
	else if (unit != NULL &&
			 (in_unit = libdw.dwarf_getsrc_die(&unit->lines, address - bias)) != NULL &&
			 libdw.dwarf_lineno(in_unit, &line) == 0)
		file = libdw.dwarf_linesrc(in_unit, NULL, NULL);
	set_place(frame, file, Max(line, 0));
}

/* Set the frames by debug information; returns 0 if it does not know any. */
static int
frames_from_dwarf(PlhDebugModule *module, Dwarf_Addr address, PlhSourceFrame *frames)
{
	Dwarf_Die	nest[PLH_MAX_INLINED];
	Dwarf_Addr	bias;
	Dwarf_Files *files = NULL;
	size_t		file_count = 0;
	DwarfUnit  *unit;
	const FunctionRange *range;
	int			count;

	if (module->dwarf == NULL)
		return 0;
	bias = module->dwarf_bias;
	unit = unit_of(&module->units, module->handle.module, address, &bias);
	if (unit == NULL || (range = range_of(unit, address - bias)) == NULL)
		return 0;
	count = nest_of(range, address - bias, nest);
	Assert(count <= PLH_MAX_INLINED);
	(void) libdw.dwarf_getsrcfiles(&unit->entry, &files, &file_count);

	/* the line of a function is that at which it calls the one inside it */
	for (int i = 0; i < count; i++)
	{
		PlhSourceFrame *frame = &frames[i];
		Dwarf_Die  *inner = i == 0 ? NULL : &nest[count - i];

		frame->function = function_name(&nest[count - 1 - i]);
		frame->inlined = i < count - 1 &&
			libdw.dwarf_tag(&nest[count - 1 - i]) == DW_TAG_inlined_subroutine;
		if (frame->function == NULL)
			return 0;
		if (inner == NULL)
			find_line(module, unit, address, bias, frame);
		else
		{
			Dwarf_Word	file = number_of(inner, DW_AT_call_file);

			set_place(frame, files != NULL && file < file_count ?
					  libdw.dwarf_filesrc(files, file, NULL, NULL) : NULL,
					  number_of(inner, DW_AT_call_line));
		}
	}
	return count;
}

/* Set the one frame that a symbol table can tell; returns 0 if it knows none. */
static int
frame_from_symbol(PlhDebugModule *module, Dwarf_Addr address, PlhSourceFrame *frame)
{
	GElf_Off	offset;
	GElf_Sym symbol;

	frame->function = libdw.dwfl_module_addrinfo(module->handle.module, address, &offset, &symbol,
												 NULL, NULL, NULL);

	/* the nearest symbol before the address may be another function's */
	if (frame->function == NULL || offset >= symbol.st_size ||
		GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
		return 0;
	frame->inlined = false;
	find_line(module, NULL, address, 0, frame);
	return 1;
}

/* The innermost first; all but the last are inlined.  The address is one of the ELF file. */
int
plh_debug_info_frames(PlhDebugModule *module, uint64 address, PlhSourceFrame *frames)
{
	Dwarf_Addr	there = address + module->handle.bias;
	int			count;

	if (module->names != NULL)
	{
		frames[0].function = plh_elf_names_find(module->names, address);
		frames[0].inlined = false;
		set_place(&frames[0], NULL, 0);
		return frames[0].function != NULL;
	}
	count = frames_from_dwarf(module, there, frames);
	return count > 0 ? count : frame_from_symbol(module, there, frames);
}

/* By what the dynamic linker resolves for the module; NULL if it calls none of another one. */
const char *
plh_debug_info_called_malloc(PlhDebugModule *module)
{
	GElf_Addr	bias;
	Elf		   *elf;
	Elf_Scn    *section = NULL;

	if (module->names != NULL)
		return module->names->called_malloc;
	elf = libdw.dwfl_module_getelf(module->handle.module, &bias);
	while ((section = libdw.elf_nextscn(elf, section)) != NULL)
	{
		GElf_Shdr	header;
		Elf_Data   *data;
		GElf_Sym symbol;

		if (libdw.gelf_getshdr(section, &header) == NULL ||
			header.sh_type != SHT_DYNSYM || (data = libdw.elf_getdata(section, NULL)) == NULL)
			continue;
		for (int i = 1; libdw.gelf_getsym(data, i, &symbol) != NULL; i++)
		{
			const char *name = symbol.st_shndx != SHN_UNDEF ? NULL :
				plh_elf_names_of_malloc(libdw.elf_strptr(elf, header.sh_link, symbol.st_name));

			if (name != NULL)
				return name;
		}
	}
	return NULL;
}

void
plh_debug_info_close(PlhDebugModule *module)
{
	free_units(&module->units);
	if (module->names != NULL)
		plh_elf_names_close(module->names);
	else
		libdw.dwfl_end(module->handle.dwfl);
	free(module);
}

/* NULL if the linker's name is not of C++, or if libstdc++ is not installed. */
char *
plh_debug_info_demangle(const char *name)
{
	static char *(*demangle) (const char *name, char *buffer, size_t *bytes, int *status);
	static bool tried = false;
	int			status;

	if (strncmp(name, "_Z", 2) != 0)
		return NULL;
	if (!tried)
	{
		void	   *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);

		tried = true;
		if (library != NULL)
			demangle = (__typeof__(demangle)) dlsym(library, "__cxa_demangle");
	}
	return demangle == NULL ? NULL : demangle(name, NULL, NULL, &status);
}

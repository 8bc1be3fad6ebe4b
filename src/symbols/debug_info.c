/*
 * debug_info.c
 *	  Reads debug information and symbol tables: from an address of a module to
 *	  its functions, inlined ones included, files and lines.
 *
 * Only this file, dwarf_units.c and debug_file.c call libdw.  Where that is not installed, elf_names.c
 * has the answers.
 *
 * A function is named only if the address lies between its start and its end:
 * a wrong name would be worse than none.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "base/clock.h"
#include "symbols/debug_file.h"
#include "symbols/debug_info.h"
#include "symbols/debuginfod.h"
#include "symbols/dwarf_units.h"
#include "symbols/elf_names.h"

struct PlhDebugModule
{
	PlhElfNames *names;			/* where there is no libdw; else NULL */
	PlhDebugFile handle;
	Dwarf	   *dwarf;			/* NULL: no debug information */
	Dwarf_Addr	dwarf_bias;		/* libdwfl's address minus dwarf's */
	PlhDwarfUnit *units;		/* read so far, the latest first */
	const char *file;			/* path of the file that has the symbols */
};

/* Find the debug information, and note which file has it. */
static void
find_dwarf(PlhDebugModule *module)
{
	const char *main_file = NULL;
	const char *debug_file = NULL;
	int64		began_us = plh_clock_us(CLOCK_MONOTONIC);

	module->dwarf = plh_libdw.dwfl_module_getdwarf(module->handle.module,
												   &module->dwarf_bias);
	if (module->dwarf == NULL)
		plh_debuginfod_asked_in_vain(began_us);

	/* this finds a debug file that has only the symbol table */
	(void) plh_libdw.dwfl_module_getsymtab(module->handle.module);
	(void) plh_libdw.dwfl_module_info(module->handle.module, NULL, NULL, NULL,
									  NULL, NULL, &main_file, &debug_file);
	module->file = debug_file != NULL ? debug_file : main_file;
}

/*
 * Open the module of a binary that a process had loaded.
 */
PlhModuleStatus
plh_debug_info_open(const PlhBinary *binary, PlhDebugModule **opened)
{
	PlhDebugModule *module = calloc(1, sizeof(PlhDebugModule));
	bool		has_library = plh_debug_file_load_library();
	PlhModuleStatus status;

	if (module == NULL)
		return PLH_MODULE_NO_MEMORY;
	status = has_library ? plh_debug_file_open(binary, &module->handle) :
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

/*
 * Are there symbols beside the dynamic ones?  They are in the main file, or in the
 * compressed one inside of it (.gnu_debugdata), whose symbols libdw adds to them.
 */
static bool
has_symbol_table(PlhDebugModule *module, int symbol_count)
{
	GElf_Addr	bias;
	Elf		   *elf = plh_libdw.dwfl_module_getelf(module->handle.module, &bias);
	Elf_Scn    *section = NULL;
	GElf_Shdr	header;
	GElf_Xword	dynamic_count = 0;

	while ((section = plh_libdw.elf_nextscn(elf, section)) != NULL)
	{
		if (plh_libdw.gelf_getshdr(section, &header) == NULL)
			continue;
		if (header.sh_type == SHT_SYMTAB)
			return true;
		if (header.sh_type == SHT_DYNSYM && header.sh_entsize > 0)
			dynamic_count += header.sh_size / header.sh_entsize;
	}
	return dynamic_count > 0 && symbol_count > dynamic_count;
}

/* The source of symbols without libdw. */
static PlhSymbolSource
names_source(const PlhElfNames *names, const char **file)
{
	*file = plh_elf_names_file(names);
	if (plh_elf_names_count(names) == 0)
		return PLH_SOURCE_NOTHING;
	return plh_elf_names_has_table(names) ? PLH_SOURCE_SYMBOL_TABLE :
		PLH_SOURCE_DYNAMIC_SYMBOLS;
}

/*
 * Find the best source of symbols for a module.  Sets "file" to the path of
 * the file that has it.
 */
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
	symbol_count = plh_libdw.dwfl_module_getsymtab(module->handle.module);
	if (symbol_count <= 1)
		return PLH_SOURCE_NOTHING;
	(void) plh_libdw.dwfl_module_info(module->handle.module, NULL, NULL, NULL,
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

	if (plh_libdw.dwarf_attr_integrate(function, DW_AT_linkage_name,
									   &attribute) != NULL)
		name = plh_libdw.dwarf_formstring(&attribute);
	return name != NULL ? name : plh_libdw.dwarf_diename(function);
}

/*
 * The value of an attribute that is a number; 0 if the entry does not have it.
 */
static Dwarf_Word
number_of(Dwarf_Die *entry, int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word	value;

	if (plh_libdw.dwarf_attr_integrate(entry, name, &attribute) == NULL ||
		plh_libdw.dwarf_formudata(&attribute, &value) != 0)
		return 0;
	return value;
}

/*
 * Set the place of a frame.  File and line are known both, or neither is: a
 * hostile file may have lines that no source has.
 */
static void
set_place(PlhSourceFrame *frame, const char *file, Dwarf_Word line)
{
	bool		known = file != NULL && line > 0 && line <= PG_INT32_MAX;

	frame->file = known ? file : NULL;
	frame->line = known ? (int) line : 0;
}

/*
 * Set the file and line that the line table has for an address.  "unit" is its unit, if
 * that is known, in which the address is lower by "bias".
 */
static void
find_line(PlhDebugModule *module, PlhDwarfUnit *unit, Dwarf_Addr address, Dwarf_Addr bias,
		  PlhSourceFrame *frame)
{
	Dwfl_Line  *found = plh_libdw.dwfl_module_getsrc(module->handle.module, address);
	Dwarf_Line *in_unit;
	int			line = 0;
	const char *file = NULL;

	if (found != NULL)
		file = plh_libdw.dwfl_lineinfo(found, NULL, &line, NULL, NULL, NULL);
	else if (unit != NULL &&
			 (in_unit = plh_libdw.dwarf_getsrc_die(&unit->lines, address - bias)) != NULL &&
			 plh_libdw.dwarf_lineno(in_unit, &line) == 0)
		file = plh_libdw.dwarf_linesrc(in_unit, NULL, NULL);
	set_place(frame, file, Max(line, 0));
}

/* Set the frames by debug information; returns 0 if it does not know any. */
static int
frames_from_dwarf(PlhDebugModule *module, Dwarf_Addr address,
				  PlhSourceFrame *frames)
{
	Dwarf_Die	nest[PLH_MAX_INLINED];
	Dwarf_Addr	bias;
	Dwarf_Files *files = NULL;
	size_t		file_count = 0;
	PlhDwarfUnit *unit;
	const PlhFunctionRange *range;
	int			count;

	if (module->dwarf == NULL)
		return 0;
	bias = module->dwarf_bias;
	unit = plh_dwarf_units_find(&module->units, module->handle.module, address, &bias);
	if (unit == NULL ||
		(range = plh_dwarf_units_range(unit, address - bias)) == NULL)
		return 0;
	count = plh_dwarf_units_nest(range, address - bias, nest);
	Assert(count <= PLH_MAX_INLINED);
	(void) plh_libdw.dwarf_getsrcfiles(&unit->entry, &files, &file_count);

	/* the line of a function is that at which it calls the one inside it */
	for (int i = 0; i < count; i++)
	{
		PlhSourceFrame *frame = &frames[i];
		Dwarf_Die  *inner = i == 0 ? NULL : &nest[count - i];

		frame->function = function_name(&nest[count - 1 - i]);
		frame->inlined = i < count - 1 &&
			plh_libdw.dwarf_tag(&nest[count - 1 - i]) == DW_TAG_inlined_subroutine;
		if (frame->function == NULL)
			return 0;
		if (inner == NULL)
			find_line(module, unit, address, bias, frame);
		else
		{
			Dwarf_Word	file = number_of(inner, DW_AT_call_file);

			set_place(frame, files != NULL && file < file_count ?
					  plh_libdw.dwarf_filesrc(files, file, NULL, NULL) : NULL,
					  number_of(inner, DW_AT_call_line));
		}
	}
	return count;
}

/*
 * Set the one frame that a symbol table can tell; returns 0 if it knows none.
 */
static int
frame_from_symbol(PlhDebugModule *module, Dwarf_Addr address,
				  PlhSourceFrame *frame)
{
	GElf_Off	offset;
	GElf_Sym symbol;

	frame->function = plh_libdw.dwfl_module_addrinfo(module->handle.module, address,
													 &offset, &symbol, NULL, NULL,
													 NULL);

	/* the nearest symbol before the address may be another function's */
	if (frame->function == NULL || offset >= symbol.st_size ||
		GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
		return 0;
	frame->inlined = false;
	find_line(module, NULL, address, 0, frame);
	return 1;
}

/* Set the one frame that is known without libdw; returns 0 if there is none. */
static int
frame_from_names(const PlhElfNames *names, uint64 address, PlhSourceFrame *frame)
{
	frame->function = plh_elf_names_find(names, address);
	frame->inlined = false;
	set_place(frame, NULL, 0);
	return frame->function != NULL;
}

/*
 * Find the functions that an address is in, the innermost first; all but the
 * last are inlined.  The address is one of the module's ELF file, as the
 * addresses in frames of a profile are.
 */
int
plh_debug_info_frames(PlhDebugModule *module, uint64 address,
					  PlhSourceFrame *frames)
{
	Dwarf_Addr	there = address + module->handle.bias;
	int			count;

	if (module->names != NULL)
		return frame_from_names(module->names, address, frames);
	count = frames_from_dwarf(module, there, frames);
	return count > 0 ? count : frame_from_symbol(module, there, frames);
}

/*
 * Returns the name of the function of malloc's family that a module calls in
 * another one, by what the dynamic linker resolves for it; NULL if it calls none.
 */
const char *
plh_debug_info_called_malloc(PlhDebugModule *module)
{
	GElf_Addr	bias;
	Elf		   *elf;
	Elf_Scn    *section = NULL;

	if (module->names != NULL)
		return plh_elf_names_called_malloc(module->names);
	elf = plh_libdw.dwfl_module_getelf(module->handle.module, &bias);
	while ((section = plh_libdw.elf_nextscn(elf, section)) != NULL)
	{
		GElf_Shdr	header;
		Elf_Data   *data;
		GElf_Sym symbol;

		if (plh_libdw.gelf_getshdr(section, &header) == NULL ||
			header.sh_type != SHT_DYNSYM ||
			(data = plh_libdw.elf_getdata(section, NULL)) == NULL)
			continue;
		for (int i = 1; plh_libdw.gelf_getsym(data, i, &symbol) != NULL; i++)
		{
			const char *name = symbol.st_shndx != SHN_UNDEF ? NULL :
				plh_elf_names_of_malloc(plh_libdw.elf_strptr(elf, header.sh_link,
															 symbol.st_name));

			if (name != NULL)
				return name;
		}
	}
	return NULL;
}

/*
 * Close a module, and free all that belongs to it.
 */
void
plh_debug_info_close(PlhDebugModule *module)
{
	plh_dwarf_units_free(&module->units);
	if (module->names != NULL)
		plh_elf_names_close(module->names);
	else
		plh_libdw.dwfl_end(module->handle.dwfl);
	free(module);
}

/*
 * Turn the linker's name of a C++ function into the one in its source.
 * Returns NULL if the name is not of C++, or if libstdc++ is not installed.
 */
char *
plh_debug_info_demangle(const char *name)
{
	static char *(*demangle) (const char *name, char *buffer, size_t *bytes,
							  int *status);
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

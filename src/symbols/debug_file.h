/*
 * debug_file.h
 *	  Opens the file that has the symbols of a module, and loads libdw, which
 *	  reads it.
 *
 * Only debug_info.c and dwarf_units.c call this, and the rules of the former hold here, too.
 */
#ifndef PLH_DEBUG_FILE_H
#define PLH_DEBUG_FILE_H

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include "symbols/binary.h"

/* The names of libdw's functions that we call. */
#define PLH_FOR_EACH_FUNCTION(apply) \
	apply(dwarf_attr_integrate) \
	apply(dwarf_child) \
	apply(dwarf_cu_info) \
	apply(dwarf_dieoffset) \
	apply(dwarf_diename) \
	apply(dwarf_filesrc) \
	apply(dwarf_formstring) \
	apply(dwarf_formudata) \
	apply(dwarf_getsrc_die) \
	apply(dwarf_getsrcfiles) \
	apply(dwarf_haspc) \
	apply(dwarf_lineno) \
	apply(dwarf_linesrc) \
	apply(dwarf_ranges) \
	apply(dwarf_siblingof) \
	apply(dwarf_tag) \
	apply(dwfl_begin) \
	apply(dwfl_build_id_find_elf) \
	apply(dwfl_end) \
	apply(dwfl_lineinfo) \
	apply(dwfl_module_addrdie) \
	apply(dwfl_module_addrinfo) \
	apply(dwfl_module_build_id) \
	apply(dwfl_module_getdwarf) \
	apply(dwfl_module_getelf) \
	apply(dwfl_module_getsrc) \
	apply(dwfl_module_getsymtab) \
	apply(dwfl_module_info) \
	apply(dwfl_module_nextcu) \
	apply(dwfl_offline_section_address) \
	apply(dwfl_report_elf) \
	apply(dwfl_report_end) \
	apply(dwfl_standard_find_debuginfo) \
	apply(elf_getdata) \
	apply(elf_nextscn) \
	apply(elf_strptr) \
	apply(gelf_getshdr) \
	apply(gelf_getsym)

#define PLH_DECLARE_FUNCTION(name) __typeof__(name) *name;
typedef struct PlhLibdw
{
	PLH_FOR_EACH_FUNCTION(PLH_DECLARE_FUNCTION)
} PlhLibdw;

/* The functions; set once plh_debug_file_load_library has returned true. */
extern PlhLibdw plh_libdw;

/* An open file, which the caller closes by dwfl_end. */
typedef struct PlhDebugFile
{
	Dwfl	   *dwfl;
	Dwfl_Module *module;
	GElf_Addr	bias;			/* libdwfl's address minus the file's */
} PlhDebugFile;

extern bool plh_debug_file_load_library(void);

/* "file" must be zeroed; it is set only if the result is PLH_MODULE_OPEN. */
extern PlhModuleStatus plh_debug_file_open(const PlhBinary *binary,
										   PlhDebugFile *file);

#endif							/* PLH_DEBUG_FILE_H */

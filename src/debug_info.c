/*
 * debug_info.c
 *	  What a binary's debug information and symbol tables say about an
 *	  address: functions, inlined ones included, files and lines.
 *
 * The only file that calls libdw.  libdw finds separate debug files by their
 * build-id, and asks debuginfod for them if the environment names a server.
 * It is loaded when needed: linked to, it would make every fork and exit of
 * every server process dearer.
 *
 * A name is only ever that of a function which has the address between its
 * start and its end.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug_info.h"

/* Where distributions put debug files, under their build-ids. */
#define DEBUG_DIRECTORY "/usr/lib/debug/.build-id"

/* Entries of one unit that are looked at: hostile files may have loops. */
#define MAX_UNIT_ENTRIES 4000000
#define MAX_NESTING 64

/* A stretch of a function's code. */
typedef struct FunctionRange
{
	Dwarf_Addr	start;
	Dwarf_Addr	end;
	Dwarf_Off	function;		/* offset of its entry */
} FunctionRange;

/* The functions of a compilation unit, by address. */
typedef struct Unit
{
	Dwarf_Off	offset;
	FunctionRange *ranges;		/* sorted by start */
	int			range_count;
	int			range_room;
	int			entries_left;
	struct Unit *next;
} Unit;

struct PlhDebugModule
{
	Dwfl	   *dwfl;
	Dwfl_Module *module;
	GElf_Addr	bias;			/* libdwfl's address minus the file's */
	Dwarf	   *dwarf;			/* NULL: no debug information */
	Dwarf_Addr	dwarf_bias;		/* libdwfl's address minus dwarf's */
	Unit	   *units;			/* last used first */
	const char *file;			/* opened, or that has the debug information */
};

/* The library's functions that we use, by their names. */
#define FOR_EACH_FUNCTION(apply) \
	apply(dwarf_attr_integrate) \
	apply(dwarf_child) \
	apply(dwarf_dieoffset) \
	apply(dwarf_diename) \
	apply(dwarf_filesrc) \
	apply(dwarf_formstring) \
	apply(dwarf_formudata) \
	apply(dwarf_getsrcfiles) \
	apply(dwarf_haspc) \
	apply(dwarf_offdie) \
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
	apply(dwfl_offline_section_address) \
	apply(dwfl_report_elf) \
	apply(dwfl_report_end) \
	apply(dwfl_standard_find_debuginfo) \
	apply(elf_nextscn) \
	apply(gelf_getshdr)

#define DECLARE_FUNCTION(name) __typeof__(name) *name;
static struct
{
	FOR_EACH_FUNCTION(DECLARE_FUNCTION)
}			libdw;

static Dwfl_Callbacks callbacks;

#define LOAD_FUNCTION(name) \
	libdw.name = (__typeof__(name) *) dlsym(library, #name); \
	complete &= libdw.name != NULL;

/* Load the library, once; false if it is not there. */
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

/*
 * Is that the binary which the profile's process had loaded?  Without a
 * build-id it is if the file has not been touched since, by the time that
 * nobody can set.
 */
static bool
is_binary(Dwfl_Module *module, const struct stat *status,
		  const PlhBinary *binary)
{
	const unsigned char *found;
	GElf_Addr	address;
	int			found_bytes = libdw.dwfl_module_build_id(module, &found,
														 &address);

	if (binary->build_id_bytes == 0)
		return found_bytes <= 0 && status->st_ctime < binary->seen_at;
	return found_bytes == binary->build_id_bytes &&
		memcmp(found, binary->build_id, found_bytes) == 0;
}

/* Open a regular file; others may block for ever. */
static int
open_file(const char *path, struct stat *status)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && (fstat(fd, status) != 0 || !S_ISREG(status->st_mode)))
	{
		close(fd);
		errno = EINVAL;
		return -1;
	}
	return fd;
}

/* Open a file as a module, if it is of that binary. */
static PlhModuleStatus
open_path(const char *path, const PlhBinary *binary, PlhDebugModule *module)
{
	PlhModuleStatus status = PLH_MODULE_UNREADABLE;
	struct stat file_status;
	int			fd = open_file(path, &file_status);

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? PLH_MODULE_NO_FILE :
			PLH_MODULE_UNREADABLE;

	module->dwfl = libdw.dwfl_begin(&callbacks);
	if (module->dwfl != NULL)
		module->module = libdw.dwfl_report_elf(module->dwfl, path, path, fd, 0,
											   false);
	if (module->module == NULL)
		close(fd);
	else if (libdw.dwfl_report_end(module->dwfl, NULL, NULL) == 0 &&
			 libdw.dwfl_module_getelf(module->module, &module->bias) != NULL)
		status = is_binary(module->module, &file_status, binary) ?
			PLH_MODULE_OPEN : PLH_MODULE_REPLACED;

	if (status != PLH_MODULE_OPEN)
	{
		if (module->dwfl != NULL)
			libdw.dwfl_end(module->dwfl);
		memset(module, 0, sizeof(*module));
	}
	return status;
}

/* Open the debug file of a binary that is not to be had itself. */
static PlhModuleStatus
open_debug_file(const PlhBinary *binary, PlhDebugModule *module)
{
	char		path[MAXPGPATH];
	int			length;

	if (binary->build_id_bytes < 2)
		return PLH_MODULE_NO_FILE;
	length = snprintf(path, sizeof(path), "%s/%02x/", DEBUG_DIRECTORY,
					  binary->build_id[0]);
	for (int i = 1; i < binary->build_id_bytes; i++)
		length += snprintf(path + length, sizeof(path) - length, "%02x",
						   binary->build_id[i]);
	snprintf(path + length, sizeof(path) - length, ".debug");
	return open_path(path, binary, module);
}

/* debuginfod_begin and debuginfod_find_debuginfo; we need no header for them */
typedef void *(*BeginClient) (void);
typedef int (*FindDebugFile) (void *client, const unsigned char *build_id,
							  int build_id_bytes, char **path);

/* The same from a server of debug files, if the environment names one. */
static PlhModuleStatus
open_served_file(const PlhBinary *binary, PlhDebugModule *module)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	PlhModuleStatus status = PLH_MODULE_NO_FILE;
	void	   *library;
	BeginClient begin;
	FindDebugFile find;
	void	   *client;
	char	   *path;
	int			fd;

	if (urls == NULL || urls[0] == '\0' || binary->build_id_bytes == 0)
		return status;
	library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return status;
	begin = (BeginClient) dlsym(library, "debuginfod_begin");
	find = (FindDebugFile) dlsym(library, "debuginfod_find_debuginfo");
	if (begin == NULL || find == NULL || (client = begin()) == NULL)
		return status;

	/* the client lives as long as the symbolizer */
	fd = find(client, binary->build_id, binary->build_id_bytes, &path);
	if (fd >= 0)
	{
		close(fd);
		status = open_path(path, binary, module);
		free(path);
	}
	return status;
}

/* Look for debug information, and note where it is. */
static void
find_dwarf(PlhDebugModule *module)
{
	const char *main_file = NULL;
	const char *debug_file = NULL;

	module->dwarf = libdw.dwfl_module_getdwarf(module->module,
											   &module->dwarf_bias);
	/* the symbol table may be in a debug file, too, which this finds */
	(void) libdw.dwfl_module_getsymtab(module->module);
	(void) libdw.dwfl_module_info(module->module, NULL, NULL, NULL, NULL, NULL,
								  &main_file, &debug_file);
	module->file = debug_file != NULL ? debug_file : main_file;
}

/*
 * Open the module of a binary that was loaded.  Where its file is not that
 * binary any more, its debug file will do; as will the program that runs here,
 * if it is the one.  On success "opened" gets what plh_debug_info_close must be
 * called with.
 */
PlhModuleStatus
plh_debug_info_open(const PlhBinary *binary, PlhDebugModule **opened)
{
	PlhDebugModule *module = calloc(1, sizeof(PlhDebugModule));
	PlhModuleStatus status;

	if (module == NULL || !load_libdw())
	{
		free(module);
		return PLH_MODULE_NO_LIBRARY;
	}

	status = open_path(binary->path, binary, module);
	if (status == PLH_MODULE_OPEN ||
		(binary->build_id_bytes > 0 &&
		 (open_path("/proc/self/exe", binary, module) == PLH_MODULE_OPEN ||
		  open_debug_file(binary, module) == PLH_MODULE_OPEN ||
		  open_served_file(binary, module) == PLH_MODULE_OPEN)))
	{
		find_dwarf(module);
		*opened = module;
		return PLH_MODULE_OPEN;
	}
	free(module);
	return status;
}

/* Has the module's main file a full symbol table? */
static bool
has_symbol_table(PlhDebugModule *module)
{
	GElf_Addr	bias;
	Elf		   *elf = libdw.dwfl_module_getelf(module->module, &bias);
	Elf_Scn    *section = NULL;
	GElf_Shdr	header;

	while ((section = libdw.elf_nextscn(elf, section)) != NULL)
	{
		if (libdw.gelf_getshdr(section, &header) != NULL &&
			header.sh_type == SHT_SYMTAB)
			return true;
	}
	return false;
}

/*
 * The best that there is for a module, and the file that has it, which is valid
 * until the module is closed.
 */
PlhSymbolSource
plh_debug_info_source(PlhDebugModule *module, const char **file)
{
	const char *debug_file = NULL;

	*file = module->file;
	if (module->dwarf != NULL)
		return PLH_SOURCE_DEBUG_INFORMATION;
	if (libdw.dwfl_module_getsymtab(module->module) <= 1)
		return PLH_SOURCE_NOTHING;
	(void) libdw.dwfl_module_info(module->module, NULL, NULL, NULL, NULL, NULL,
								  NULL, &debug_file);
	return debug_file != NULL || has_symbol_table(module) ?
		PLH_SOURCE_SYMBOL_TABLE : PLH_SOURCE_DYNAMIC_SYMBOLS;
}

static int
compare_ranges(const void *left, const void *right)
{
	Dwarf_Addr	a = ((const FunctionRange *) left)->start;
	Dwarf_Addr	b = ((const FunctionRange *) right)->start;

	return a < b ? -1 : a > b;
}

/* Add the stretches of a function's code to its unit. */
static void
add_function(Unit *unit, Dwarf_Die *function)
{
	Dwarf_Addr	base;
	Dwarf_Addr	start;
	Dwarf_Addr	end;
	ptrdiff_t	offset = 0;

	while (unit->entries_left-- > 0 &&
		   (offset = libdw.dwarf_ranges(function, offset, &base, &start,
										&end)) > 0)
	{
		if (unit->range_count == unit->range_room)
		{
			int			room = Max(64, 2 * unit->range_room);
			FunctionRange *larger = realloc(unit->ranges,
											sizeof(FunctionRange) * room);

			if (larger == NULL)
				return;
			unit->ranges = larger;
			unit->range_room = room;
		}
		unit->ranges[unit->range_count].start = start;
		unit->ranges[unit->range_count].end = end;
		unit->ranges[unit->range_count].function =
			libdw.dwarf_dieoffset(function);
		unit->range_count++;
	}
}

/* Add the functions below an entry: a unit, or a namespace in it. */
static void
add_functions(Unit *unit, Dwarf_Die *parent, int nesting)
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
	} while (unit->entries_left-- > 0 &&
			 libdw.dwarf_siblingof(&entry, &entry) == 0);
}

/* The unit with its functions, read when it is first asked for. */
static Unit *
find_unit(PlhDebugModule *module, Dwarf_Die *unit_entry)
{
	Dwarf_Off	offset = libdw.dwarf_dieoffset(unit_entry);
	Unit	   *unit = module->units;

	while (unit != NULL && unit->offset != offset)
		unit = unit->next;
	if (unit != NULL)
		return unit;

	unit = calloc(1, sizeof(Unit));
	if (unit == NULL)
		return NULL;
	unit->offset = offset;
	unit->entries_left = MAX_UNIT_ENTRIES;
	add_functions(unit, unit_entry, 0);
	if (unit->range_count > 0)
		qsort(unit->ranges, unit->range_count, sizeof(FunctionRange),
			  compare_ranges);
	unit->next = module->units;
	module->units = unit;
	return unit;
}

/* The stretch that has an address, or NULL. */
static const FunctionRange *
find_range(const Unit *unit, Dwarf_Addr address)
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
 * The functions around an address, the outermost first: the one whose code it
 * is, and those that the compiler inlined there.  Returns how many.
 */
static int
nest_functions(PlhDebugModule *module, const FunctionRange *range,
			   Dwarf_Addr address, Dwarf_Die *nest)
{
	int			count = 0;
	int			entries_left = MAX_UNIT_ENTRIES;
	Dwarf_Die	entry;
	Dwarf_Die	scope;

	if (libdw.dwarf_offdie(module->dwarf, range->function, &scope) == NULL)
		return 0;
	nest[count++] = scope;

	/* go down into whatever has the address, blocks without a name included */
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
		} while (!found && entries_left-- > 0 &&
				 libdw.dwarf_siblingof(&entry, &entry) == 0);
		if (!found)
			break;
		scope = entry;
	}
	return count;
}

/* The name of a function, as linkers know it where that is another one. */
static const char *
function_name(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (libdw.dwarf_attr_integrate(function, DW_AT_linkage_name,
								   &attribute) != NULL)
		name = libdw.dwarf_formstring(&attribute);
	return name != NULL ? name : libdw.dwarf_diename(function);
}

/* An attribute of an entry itself that is a number; 0 without it. */
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

/* Where the line table has an address. */
static void
find_line(PlhDebugModule *module, Dwarf_Addr address, PlhSourceFrame *frame)
{
	Dwfl_Line  *line = libdw.dwfl_module_getsrc(module->module, address);

	frame->line = 0;
	frame->file = line == NULL ? NULL :
		libdw.dwfl_lineinfo(line, NULL, &frame->line, NULL, NULL, NULL);
	if (frame->line <= 0)
		frame->file = NULL;
}

/* plh_debug_info_frames from debug information; 0 if there is none. */
static int
frames_from_dwarf(PlhDebugModule *module, Dwarf_Addr address,
				  PlhSourceFrame *frames)
{
	Dwarf_Die	nest[PLH_MAX_INLINED];
	Dwarf_Addr	bias;
	Dwarf_Die  *unit_entry;
	Dwarf_Files *files = NULL;
	size_t		file_count = 0;
	const Unit *unit;
	const FunctionRange *range;
	int			count;

	if (module->dwarf == NULL)
		return 0;
	unit_entry = libdw.dwfl_module_addrdie(module->module, address, &bias);
	if (unit_entry == NULL ||
		(unit = find_unit(module, unit_entry)) == NULL ||
		(range = find_range(unit, address - bias)) == NULL)
		return 0;
	count = nest_functions(module, range, address - bias, nest);
	(void) libdw.dwarf_getsrcfiles(unit_entry, &files, &file_count);

	/* each is at the line where the one inside of it was called */
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
			find_line(module, address, frame);
		else
		{
			Dwarf_Word	file = number_of(inner, DW_AT_call_file);

			frame->line = number_of(inner, DW_AT_call_line);
			frame->file = files != NULL && file < file_count &&
				frame->line > 0 ?
				libdw.dwarf_filesrc(files, file, NULL, NULL) : NULL;
		}
	}
	return count;
}

/* The same from a symbol table. */
static int
frame_from_symbol(PlhDebugModule *module, Dwarf_Addr address,
				  PlhSourceFrame *frame)
{
	GElf_Off	offset;
	GElf_Sym	symbol;

	frame->function = libdw.dwfl_module_addrinfo(module->module, address,
												 &offset, &symbol, NULL, NULL,
												 NULL);

	/* the nearest symbol before the address may be a neighbour's */
	if (frame->function == NULL || offset >= symbol.st_size ||
		GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
		return 0;
	frame->inlined = false;
	find_line(module, address, frame);
	return 1;
}

/*
 * The functions that an address is in, the innermost first, which all but the
 * last are inlined.  The address is one of the module's file.  "frames" has
 * room for PLH_MAX_INLINED; what they point to is valid until the module is
 * closed.  Returns how many there are, 0 where none is known for sure.
 */
int
plh_debug_info_frames(PlhDebugModule *module, uint64 address,
					  PlhSourceFrame *frames)
{
	Dwarf_Addr	there = address + module->bias;
	int			count = frames_from_dwarf(module, there, frames);

	return count > 0 ? count : frame_from_symbol(module, there, frames);
}

/*
 * Close a module.
 */
void
plh_debug_info_close(PlhDebugModule *module)
{
	while (module->units != NULL)
	{
		Unit	   *next = module->units->next;

		free(module->units->ranges);
		free(module->units);
		module->units = next;
	}
	libdw.dwfl_end(module->dwfl);
	free(module);
}

/*
 * The name of a C++ function as its author knows it, to be freed by the caller;
 * NULL where the name is no such name, or the library is not there that knows.
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

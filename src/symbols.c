/*
 * symbols.c
 *	  From an address in a module to the name of the function there.
 *
 * Uses libdwfl, which reads the symbol table, that of a separate debug file
 * if there is one, or the dynamic symbols.  A binary that was replaced since
 * the server loaded it has another build-id, and yields no names.
 *
 * The library is loaded when the first symbol is wanted: linked to, it and what
 * it needs would make every fork and exit of every process dearer.  Without it
 * there are no names.
 *
 * libdwfl's memory is malloc'd: a callback of the memory context that the
 * PlhSymbols lives in gives it back.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "symbols.h"

/* One module, opened by libdwfl. */
typedef struct OpenModule
{
	char		key[MAXPGPATH + 2 * PLH_BUILD_ID_MAX + 2];	/* build-id, path */
	Dwfl	   *dwfl;			/* NULL: can't be read, or is another one */
	Dwfl_Module *module;
	GElf_Addr	bias;			/* libdwfl's address minus the file's */
} OpenModule;

typedef struct KnownAddressKey
{
	const OpenModule *module;
	uint64		address;
} KnownAddressKey;

/* libdwfl searches symbol tables from end to end: keep what it found. */
typedef struct KnownAddress
{
	KnownAddressKey key;
	const char *function;		/* NULL: no symbol; owned by libdwfl */
} KnownAddress;

struct PlhSymbols
{
	MemoryContext context;
	HTAB	   *modules;		/* OpenModule by build-id and path */
	HTAB	   *addresses;		/* KnownAddress by module and address */
};

/* The library's functions that we use, by their names. */
#define FOR_EACH_FUNCTION(apply) \
	apply(dwfl_begin) \
	apply(dwfl_build_id_find_elf) \
	apply(dwfl_end) \
	apply(dwfl_module_addrinfo) \
	apply(dwfl_module_build_id) \
	apply(dwfl_module_getelf) \
	apply(dwfl_offline_section_address) \
	apply(dwfl_report_elf) \
	apply(dwfl_report_end) \
	apply(dwfl_standard_find_debuginfo)

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
	{
		ereport(WARNING,
				(errmsg("could not load library \"libdw.so.1\": %s", dlerror()),
				 errhint("Functions are shown as module and offset.  Install elfutils' libdw to see their names.")));
		return false;
	}

	complete = true;
	FOR_EACH_FUNCTION(LOAD_FUNCTION)
	callbacks.find_elf = libdw.dwfl_build_id_find_elf;
	callbacks.find_debuginfo = libdw.dwfl_standard_find_debuginfo;
	callbacks.section_address = libdw.dwfl_offline_section_address;
	return complete;
}

/*
 * Start to look up symbols.  The result belongs to the current memory context
 * and goes with it.
 */
PlhSymbols *
plh_symbols_open(void)
{
	PlhSymbols *symbols = palloc(sizeof(PlhSymbols));
	HASHCTL		control = {0};

	symbols->context = CurrentMemoryContext;
	control.hcxt = CurrentMemoryContext;
	control.keysize = sizeof(((OpenModule *) NULL)->key);
	control.entrysize = sizeof(OpenModule);
	symbols->modules = hash_create("pg_leakhunt open modules", 32, &control,
								   HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	control.keysize = sizeof(KnownAddressKey);
	control.entrysize = sizeof(KnownAddress);
	symbols->addresses = hash_create("pg_leakhunt known addresses", 1024,
									 &control,
									 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return symbols;
}

/* Memory context callback. */
static void
close_dwfl(void *arg)
{
	libdw.dwfl_end((Dwfl *) arg);
}

/* Is that the binary which the profile's process had loaded? */
static bool
is_same_binary(Dwfl_Module *opened, const PlhModuleRecord *module)
{
	const unsigned char *build_id;
	GElf_Addr	address;
	int			bytes = libdw.dwfl_module_build_id(opened, &build_id, &address);

	/* without a build-id there is nothing that could tell */
	if (module->build_id_bytes == 0)
		return bytes <= 0;
	return bytes == (int) module->build_id_bytes &&
		memcmp(build_id, module->build_id, bytes) == 0;
}

/* Open a module's file; leaves entry->dwfl NULL where it is of no use. */
static void
open_module(PlhSymbols *symbols, OpenModule *entry,
			const PlhModuleRecord *module)
{
	MemoryContextCallback *callback;
	Dwfl	   *dwfl;

	entry->dwfl = NULL;
	if (!load_libdw())
		return;
	callback = MemoryContextAlloc(symbols->context, sizeof(*callback));
	dwfl = libdw.dwfl_begin(&callbacks);
	if (dwfl == NULL)
		return;

	entry->module = libdw.dwfl_report_elf(dwfl, module->path, module->path, -1, 0,
									false);
	if (entry->module == NULL ||
		libdw.dwfl_report_end(dwfl, NULL, NULL) != 0 ||
		libdw.dwfl_module_getelf(entry->module, &entry->bias) == NULL ||
		!is_same_binary(entry->module, module))
	{
		libdw.dwfl_end(dwfl);
		return;
	}

	entry->dwfl = dwfl;
	callback->func = close_dwfl;
	callback->arg = dwfl;
	MemoryContextRegisterResetCallback(symbols->context, callback);
}

/*
 * The opened module.  Processes that run side by side may have loaded two
 * versions of a file from the same path.
 */
static OpenModule *
find_module(PlhSymbols *symbols, const PlhModuleRecord *module)
{
	char		key[sizeof(((OpenModule *) NULL)->key)];
	OpenModule *opened;
	bool		found;

	for (uint32 i = 0; i < module->build_id_bytes; i++)
		snprintf(key + 2 * i, 3, "%02x", module->build_id[i]);
	snprintf(key + 2 * module->build_id_bytes, MAXPGPATH, "%s", module->path);

	opened = hash_search(symbols->modules, key, HASH_ENTER, &found);
	if (!found)
		open_module(symbols, opened, module);
	return opened;
}

/* The function that has "address" between its start and its end, or NULL. */
static const char *
search_symbol(const OpenModule *module, uint64 address)
{
	GElf_Off	offset;
	GElf_Sym	symbol;
	const char *name;

	name = libdw.dwfl_module_addrinfo(module->module, address + module->bias,
								&offset, &symbol, NULL, NULL, NULL);

	/* the nearest symbol before the address may be a neighbour's */
	if (name == NULL || offset >= symbol.st_size ||
		GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
		return NULL;
	return name;
}

/*
 * The name of the function at an address of a module, the address being one
 * of the module's file; NULL where none is known for sure.  The name is valid
 * as long as "symbols".
 */
const char *
plh_symbols_function(PlhSymbols *symbols, const PlhModuleRecord *module,
					 uint64 address)
{
	OpenModule *opened;
	KnownAddressKey key = {0};
	KnownAddress *known;
	bool		found;

	opened = find_module(symbols, module);
	if (opened->dwfl == NULL)
		return NULL;

	key.module = opened;
	key.address = address;
	known = hash_search(symbols->addresses, &key, HASH_ENTER, &found);
	if (!found)
		known->function = search_symbol(opened, address);
	return known->function;
}

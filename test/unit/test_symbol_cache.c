/*
 * test_symbol_cache.c
 *	  Which answers about addresses a session keeps, and when it has to ask anew.
 */
#include "postgres.h"

#include "symbols/symbol_cache.c"

#include "unit_tests.h"

/* A module with a path, and room for it. */
typedef union Module
{
	PlhModuleRecord record;
	char		bytes[sizeof(PlhModuleRecord) + 64];
} Module;

static Module
module_of(const char *path, uint8 build_id, TimestampTz seen_at)
{
	Module		module = {.bytes = {0}};

	module.record.build_id_bytes = build_id != 0;
	module.record.build_id[0] = build_id;
	module.record.seen_at = seen_at;
	module.record.path_bytes = strlen(path);
	strcpy(module.bytes + offsetof(PlhModuleRecord, path), path);
	return module;
}

/* Keep an answer that names one function. */
static void
keep(const Module *module, uint64 address, PlhModuleStatus status, const char *function)
{
	static PlhSymbolAnswer answer;
	PlhSourceFrame frame = {.function = function};

	answer.status = status;
	answer.source = PLH_SOURCE_SYMBOL_TABLE;
	answer.frames_bytes = 0;
	if (!plh_symbol_protocol_add_frame(&answer, &frame))
		abort();
	plh_symbol_cache_add(&module->record, address, &answer);
}

/* Is that function kept? */
static bool
has(const Module *module, uint64 address, const char *function)
{
	const PlhSymbolAnswer *answer = plh_symbol_cache_find(&module->record, address);
	PlhSourceFrame frame;
	uint32		position = 0;

	return answer != NULL &&
		plh_symbol_protocol_next_frame(answer, &position, &frame) &&
		strcmp(frame.function, function) == 0;
}

static bool
has_none(const Module *module, uint64 address)
{
	return plh_symbol_cache_find(&module->record, address) == NULL;
}

static void
test_keys(void)
{
	Module		module = module_of("/lib/a.so", 1, 100);
	Module		rebuilt = module_of("/lib/a.so", 2, 100);
	Module		elsewhere = module_of("/lib/b.so", 1, 100);
	Module		later = module_of("/lib/a.so", 1, 200);
	Module		plain = module_of("/lib/plain.so", 0, 100);
	Module		replaced = module_of("/lib/plain.so", 0, 200);

	ok(has_none(&module, 0x10), "an empty cache knows nothing");
	keep(&module, 0x10, PLH_MODULE_OPEN, "one");
	keep(&module, 0x20, PLH_MODULE_NAMES_ONLY, "two");
	ok(has(&module, 0x10, "one") && has(&module, 0x20, "two") && has_none(&module, 0x30),
	   "each address has its answer");
	ok(has_none(&rebuilt, 0x10) && has_none(&elsewhere, 0x10),
	   "a module of another build-id or path has answers of its own");
	ok(has(&later, 0x10, "one"), "with a build-id it does not matter when the module was seen");
	keep(&plain, 0x10, PLH_MODULE_OPEN, "plain");
	ok(has(&plain, 0x10, "plain") && has_none(&replaced, 0x10),
	   "without one, the file may have been replaced in between");
	keep(&module, 0x40, PLH_MODULE_NO_FILE, "gone");
	ok(has_none(&module, 0x40), "what could not be read may be there later");
}

static void
test_servers(void)
{
	char	   *before = plh_debuginfod_urls;
	Module		module = module_of("/lib/a.so", 1, 100);

	plh_debuginfod_urls = "http://another";
	ok(has_none(&module, 0x10), "another debuginfod server may know more");
	keep(&module, 0x10, PLH_MODULE_OPEN, "by another");
	ok(has(&module, 0x10, "by another"), "its answer is kept, too");
	plh_debuginfod_urls = before;
	ok(has(&module, 0x10, "one"), "those of the servers before are still there");
}

/* Keep as many answers as there may be, by addresses from 1 on. */
static void
fill(const Module *module)
{
	for (uint64 address = 1; address <= MAX_ENTRIES; address++)
		keep(module, address, PLH_MODULE_OPEN, "f");
}

static void
test_full_cache(void)
{
	Module		module = module_of("/lib/large.so", 1, 100);

	clear_cache();
	fill(&module);
	ok(has(&module, 1, "f") && has(&module, MAX_ENTRIES, "f"), "many answers are kept");
	keep(&module, MAX_ENTRIES + 1, PLH_MODULE_OPEN, "g");
	ok(has_none(&module, 1) && has_none(&module, MAX_ENTRIES) && has(&module, MAX_ENTRIES + 1, "g"),
	   "a full cache is emptied");
	clear_cache();
	fill(&module);
	keep(&module, MAX_ENTRIES + 1, PLH_MODULE_OPEN, "g");
	ok(has_none(&module, 1), "one that was emptied is full as soon as before");
	clear_cache();
}

void
test_symbol_cache(void)
{
	test_keys();
	test_servers();
	test_full_cache();
}

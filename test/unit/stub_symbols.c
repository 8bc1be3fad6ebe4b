/*
 * stub_symbols.c
 *	  Symbols without a symbolizer: the address says which function is there.
 */
#include "postgres.h"

#include "symbols/symbols.h"

static const char *const functions[] = {
	"palloc", "hash_search", "foo(int, char)", "a;b", "\xff", "%", "c"
};

PlhSymbols *
plh_symbols_open(void)
{
	return NULL;
}

/* None, one, or one inlined into another. */
void
plh_symbols_lookup(PlhSymbols *symbols, const PlhModuleRecord *module,
				   uint64 address, PlhSymbolFrames *found)
{
	found->status = PLH_MODULE_OPEN;
	found->count = address % 3;
	for (int i = 0; i < found->count; i++)
	{
		PlhSourceFrame *frame = &found->frames[i];

		frame->function = functions[(address + i) % lengthof(functions)];
		frame->file = address % 2 == 0 ? "/src/a file.c" : NULL;
		frame->line = address % 1000;
		frame->inlined = i + 1 < found->count;
	}
}

const char *
plh_symbols_status_word(PlhModuleStatus status)
{
	return "stripped";
}

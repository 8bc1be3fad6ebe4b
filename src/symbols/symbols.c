/*
 * symbols.c
 *	  From an address in a module to the functions, files and lines there.
 *
 * Asks the session's cache first and the symbolizer then.
 */
#include "postgres.h"

#include "symbols/symbol_cache.h"
#include "symbols/symbolizer.h"
#include "symbols/symbols.h"

struct PlhSymbols
{
	PlhSymbolizer *symbolizer;
	bool		warned;			/* that there is no library */
	PlhSymbolAnswer answer;		/* the symbolizer's last */
};

/*
 * Start to look up symbols.  The result belongs to the current memory context
 * and goes with it.
 */
PlhSymbols *
plh_symbols_open(void)
{
	PlhSymbols *symbols = palloc(sizeof(PlhSymbols));

	symbols->symbolizer = plh_symbolizer_open();
	symbols->warned = false;
	return symbols;
}

/* The answer about an address. */
static const PlhSymbolAnswer *
ask(PlhSymbols *symbols, const PlhModuleRecord *module, uint64 address)
{
	const PlhSymbolAnswer *known = plh_symbol_cache_find(module, address);

	if (known != NULL)
		return known;

	plh_symbolizer_ask(symbols->symbolizer, module, address,
					   &symbols->answer);
	plh_symbol_cache_add(module, address, &symbols->answer);
	if (symbols->answer.status == PLH_MODULE_NO_LIBRARY && !symbols->warned)
	{
		symbols->warned = true;
		ereport(WARNING,
				(errmsg("could not load library \"libdw.so.1\""),
				 errhint("Functions are shown as module and offset.  Install elfutils' libdw to see their names.")));
	}
	return &symbols->answer;
}

/*
 * What is at an address of a module, the address being one of the module's
 * file.  The texts are valid until the next call.
 */
void
plh_symbols_lookup(PlhSymbols *symbols, const PlhModuleRecord *module,
				   uint64 address, PlhSymbolFrames *found)
{
	const PlhSymbolAnswer *answer = ask(symbols, module, address);
	uint32		position = 0;

	found->status = answer->status;
	found->count = 0;
	while (found->count < PLH_MAX_INLINED &&
		   plh_symbol_protocol_next_frame(answer, &position,
										  &found->frames[found->count]))
		found->count++;
}

/*
 * What there is for a module.  The text is valid until the next call.
 */
void
plh_symbols_module(PlhSymbols *symbols, const PlhModuleRecord *module,
				   PlhSymbolModule *found)
{
	PlhSourceFrame frame;
	uint32		position = 0;

	/* not from the cache: what was installed since should show */
	plh_symbolizer_ask(symbols->symbolizer, module, PLH_WHOLE_MODULE,
					   &symbols->answer);
	found->status = symbols->answer.status;
	found->source = symbols->answer.source;
	found->file = NULL;
	if (plh_symbol_protocol_next_frame(&symbols->answer, &position, &frame))
		found->file = frame.file;
}

/*
 * What a module has, as users see it.
 */
const char *
plh_symbols_source_name(PlhSymbolSource source)
{
	switch (source)
	{
		case PLH_SOURCE_NOTHING:
			return "nothing";
		case PLH_SOURCE_DYNAMIC_SYMBOLS:
			return "dynamic symbols";
		case PLH_SOURCE_SYMBOL_TABLE:
			return "symbol table";
		case PLH_SOURCE_DEBUG_INFORMATION:
			return "debug information";
	}
	return "nothing";
}

/*
 * Why nothing is known about a module, in a word or two; NULL where that is not
 * for want of its file.
 */
const char *
plh_symbols_status_word(PlhModuleStatus status)
{
	switch (status)
	{
		case PLH_MODULE_OPEN:
			return NULL;
		case PLH_MODULE_NO_LIBRARY:
			return "no libdw";
		case PLH_MODULE_NOT_ASKED:
			return "not looked up";
		case PLH_MODULE_NO_FILE:
			return "file removed";
		case PLH_MODULE_REPLACED:
			return "file replaced";
		case PLH_MODULE_UNREADABLE:
		case PLH_MODULE_FAILED:
			return "file unreadable";
	}
	return NULL;
}

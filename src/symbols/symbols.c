/*
 * symbols.c
 *	  Looks up the functions, files and lines at an address of a module.
 *
 * The session's cache is asked first, the symbolizer second.
 */
#include "postgres.h"

#include "nodes/value.h"

#include "symbols/passing_questions.h"
#include "symbols/symbol_cache.h"
#include "symbols/symbolizer.h"
#include "symbols/symbols.h"

struct PlhSymbols
{
	PlhSymbolizer *symbolizer;
	int64		until_us;		/* answers are waited for until then, of
								 * CLOCK_MONOTONIC; 0: for as long as it takes */
	int			left_out;		/* number of answers that came too late */
	PlhSymbolAnswer answer;		/* last one of the symbolizer */
};

PlhSymbols *
plh_symbols_open(void)
{
	PlhSymbols *symbols = palloc0(sizeof(PlhSymbols));

	symbols->symbolizer = plh_symbolizer_open();
	return symbols;
}

/* What is not known by then is left out, and in the cache when the session asks later. */
PlhSymbols *
plh_symbols_open_in_passing(int64 until_us)
{
	PlhSymbols *symbols = plh_symbols_open();

	symbols->until_us = until_us;
	return symbols;
}

/* How many look-ups were left out so far, as they would have taken too long? */
int
plh_symbols_left_out(const PlhSymbols *symbols)
{
	return symbols->left_out;
}

void
plh_symbols_close(PlhSymbols *symbols)
{
	plh_passing_questions_end();
	pfree(symbols);
}

PlhSymbols *
plh_symbols_open_until(bool (*must_stop) (void))
{
	PlhSymbols *symbols = plh_symbols_open();

	plh_symbolizer_limit(symbols->symbolizer, must_stop);
	return symbols;
}

static const PlhSymbolAnswer *
ask(PlhSymbols *symbols, const PlhModuleRecord *module, uint64 address)
{
	const PlhSymbolAnswer *known = plh_symbol_cache_find(module, address);

	if (known != NULL)
		return known;
	if (symbols->until_us == 0)
	{
		plh_symbolizer_ask(symbols->symbolizer, module, address, &symbols->answer);
		plh_symbol_cache_add(module, address, &symbols->answer);
	}
	else if (!plh_passing_questions_ask(module, address, symbols->until_us, &symbols->answer))
	{
		symbols->left_out++;
		plh_symbol_protocol_set_status(&symbols->answer, PLH_MODULE_NOT_ASKED);
	}
	return &symbols->answer;
}

/* The address is one of the module's ELF file, as the addresses in frames of a profile are. */
void
plh_symbols_lookup(PlhSymbols *symbols, const PlhModuleRecord *module,
				   uint64 address, PlhSymbolFrames *found)
{
	const PlhSymbolAnswer *answer = ask(symbols, module, address);
	uint32		position = 0;

	found->status = answer->status;
	found->count = 0;
	while (found->count < PLH_MAX_INLINED &&
		   plh_symbol_protocol_next_frame(answer, &position, &found->frames[found->count]))
		found->count++;
}

void
plh_symbols_module(PlhSymbols *symbols, const PlhModuleRecord *module, PlhSymbolModule *found)
{
	PlhSourceFrame frame;
	uint32		position = 0;

	/* not from the cache: a debug file may have been installed since */
	plh_symbolizer_ask(symbols->symbolizer, module, PLH_WHOLE_MODULE, &symbols->answer);
	found->status = symbols->answer.status;
	found->source = symbols->answer.source;
	found->file = NULL;
	if (plh_symbol_protocol_next_frame(&symbols->answer, &position, &frame))
		found->file = frame.file;
}

/* Ask about a file, whatever version of it. */
static const PlhSymbolAnswer *
ask_of_file(PlhSymbols *symbols, const char *path, uint64 question)
{
	Size		path_bytes = strlen(path);
	PlhModuleRecord *module = palloc0(offsetof(PlhModuleRecord, path) + path_bytes + 1);
	const PlhSymbolAnswer *answer;

	module->seen_at = PLH_ANY_VERSION;
	module->path_bytes = path_bytes;
	strcpy(module->path, path);
	answer = ask(symbols, module, question);
	pfree(module);
	return answer;
}

bool
plh_symbols_calls_malloc(PlhSymbols *symbols, const char *path)
{
	return ask_of_file(symbols, path, PLH_CALLED_MALLOC)->frames_bytes > 0;
}

List *
plh_symbols_linked_to(PlhSymbols *symbols, const char *path)
{
	const PlhSymbolAnswer *answer = ask_of_file(symbols, path, PLH_LINKED_TO);
	List	   *names = NIL;
	PlhSourceFrame frame;
	uint32		position = 0;

	while (plh_symbol_protocol_next_frame(answer, &position, &frame))
		names = lappend(names, pstrdup(frame.function));
	return names;
}

const char *
plh_symbols_source_name(PlhSymbolSource source)
{
	static const char *const names[] = {
		[PLH_SOURCE_NOTHING] = "nothing",
		[PLH_SOURCE_DYNAMIC_SYMBOLS] = "dynamic symbols",
		[PLH_SOURCE_SYMBOL_TABLE] = "symbol table",
		[PLH_SOURCE_DEBUG_INFORMATION] = "debug information"
	};

	return names[source];
}

/* Why no function of a module is known, in a word or two; NULL if its file could be read. */
const char *
plh_symbols_status_word(PlhModuleStatus status)
{
	static const char *const words[] = {
		[PLH_MODULE_OPEN] = NULL,
		[PLH_MODULE_NAMES_ONLY] = NULL,
		[PLH_MODULE_NO_MEMORY] = "no memory",
		[PLH_MODULE_NO_FILE] = "file removed",
		[PLH_MODULE_REPLACED] = "file replaced",
		[PLH_MODULE_UNREADABLE] = "file unreadable",
		[PLH_MODULE_FAILED] = "no answer",
		[PLH_MODULE_NOT_ASKED] = "not looked up"
	};

	return words[status];
}

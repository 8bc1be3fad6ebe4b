/*
 * named_code.c
 *	  The functions of a scenario: where they are, and the stacks that they form.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>

#include "named_code.h"
#include "profile/profile.h"
#include "stack/modules.h"
#include "symbols/symbols.h"

#define MODULES 16
#define FUNCTIONS 1024
#define STACKS 4096

/* Each module has so many addresses, and each function. */
#define MODULE_BYTES 0x10000000
#define FUNCTION_BYTES 0x100

#define SERVER "/usr/lib/postgresql/bin/postgres"

typedef struct Function
{
	char	   *name;
	char	   *file;			/* NULL: not known */
	int			line;
	int			module;
	bool		is_nameless;
} Function;

typedef struct Frame
{
	int			function;		/* -1: of a routine */
	char	   *routine;
	PlhRoutineLanguage language;
	int			line;
} Frame;

typedef struct Stack
{
	char	   *text;
	int			depth;
	Frame		frames[PLH_MAX_FRAMES];
} Stack;

static PlhModule modules[MODULES];
static int	module_count;
static Function functions[FUNCTIONS];
static int	function_count;
static Stack stacks[STACKS];
static int	stack_count;

unsigned long long plh_modules_unloaded;

/* The module with that path, which is new if there was none. */
static int
module_of(const Words *words, const char *path)
{
	PlhModule  *module;
	int			number = 0;

	while (number < module_count && strcmp(modules[number].path, path) != 0)
		number++;
	if (number < module_count)
		return number;
	if (module_count == MODULES)
		words_fail(words, "there are too many libraries");
	module = &modules[module_count++];
	module->path = strdup(path);
	module->text_start = (uintptr_t) MODULE_BYTES * module_count;
	module->text_end = module->text_start + MODULE_BYTES;
	module->load_bias = module->text_start;
	return number;
}

/* The function of that name, which is one of the server's if it is new. */
static int
function_of(const Words *words, const char *name)
{
	int			number = 0;

	while (number < function_count && strcmp(functions[number].name, name) != 0)
		number++;
	if (number < function_count)
		return number;
	if (function_count == FUNCTIONS)
		words_fail(words, "there are too many functions");
	functions[function_count++] = (Function)
	{
		.name = strdup(name),.module = module_of(words, SERVER)
	};
	return number;
}

/* FILE:LINE */
static void
place_in_source(Function *function, const char *place)
{
	function->file = strdup(place);
	*strchr(function->file, ':') = '\0';
	function->line = atoi(strchr(place, ':') + 1);
}

void
named_code_place(Words *words)
{
	Function   *function = &functions[function_of(words, words_next(words))];

	while (words_are_left(words))
	{
		const char *word = words_next(words);

		if (strcmp(word, "nameless") == 0)
			function->is_nameless = true;
		else if (strchr(word, ':') != NULL)
			place_in_source(function, word);
		else if (strstr(word, ".so") != NULL)
			function->module = module_of(words, psprintf("/usr/lib/postgresql/lib/%s", word));
		else
			words_fail(words, "\"%s\" is neither FILE:LINE nor a library nor \"nameless\"", word);
	}
}

/* "shop.add(integer)" [in plperl] [line 12] */
static Frame
routine_frame(Words *words)
{
	static const char *const languages[PLH_LANGUAGES] = {
		"", "plpgsql", "sql", "plperl", "plpython"
	};
	Frame		frame = {-1, strdup(words_next(words)), PLH_LANGUAGE_PLPGSQL, 0};

	if (words_take(words, "in"))
	{
		const char *name = words_next(words);

		frame.language = PLH_LANGUAGE_NONE;
		for (int i = 1; i < PLH_LANGUAGES; i++)
			if (strcmp(name, languages[i]) == 0)
				frame.language = i;
		if (frame.language == PLH_LANGUAGE_NONE)
			words_fail(words, "\"%s\" is no language", name);
	}
	if (words_take(words, "line"))
		frame.line = (int) words_number(words);
	return frame;
}

/* Read the frames of a stack. */
static void
read_frames(Stack *stack, Words *words)
{
	do
	{
		if (stack->depth == PLH_MAX_FRAMES)
			words_fail(words, "the stack is too deep");
		if (words_take(words, "routine"))
			stack->frames[stack->depth++] = routine_frame(words);
		else
			stack->frames[stack->depth++] = (Frame)
		{
			.function = function_of(words, words_next(words))
		};
	} while (words_take(words, "<"));
}

int
named_code_stack(Words *words)
{
	Words		again = *words;
	const char *text = words_rest(&again);
	Stack	   *stack;

	for (int i = 0; i < stack_count; i++)
	{
		if (strcmp(stacks[i].text, text) != 0)
			continue;
		words->at = words->count;
		return i + 1;
	}
	if (stack_count == STACKS)
		words_fail(words, "there are too many stacks");
	stack = &stacks[stack_count++];
	stack->text = strdup(text);
	read_frames(stack, words);
	return stack_count;
}

/* A return address, within the function. */
static uintptr_t
address_of(const Frame *frame)
{
	const Function *function = &functions[frame->function];

	return modules[function->module].text_start +
		FUNCTION_BYTES * (uintptr_t) (frame->function + 1) + 16;
}

void
named_code_fill(int number, PlhStack *stack)
{
	const Stack *from = &stacks[number - 1];

	stack->depth = from->depth;
	for (int i = 0; i < from->depth; i++)
	{
		const Frame *frame = &from->frames[i];

		if (frame->function >= 0)
		{
			stack->buffer[i] = address_of(frame);
			continue;
		}
		stack->buffer[i] = 1 +
			PLH_ROUTINE_FRAME(frame->language, frame->line,
							  plh_profile_string(frame->routine, PLH_CONTEXT_NAME_MAX));
		stack->routines++;
	}
}

/* The function at an address of a module; NULL where its name is not known. */
static const Function *
function_at(uint64 address)
{
	uint64		number = address / FUNCTION_BYTES - 1;

	return number < function_count && !functions[number].is_nameless ?
		&functions[number] : NULL;
}

/* The modules of the process. */
void
plh_modules_refresh(void)
{
}

PlhModule *
plh_modules_find(uintptr_t address)
{
	uintptr_t	number = address / MODULE_BYTES - 1;

	return number < module_count ? &modules[number] : NULL;
}

const PlhModule *
plh_modules_executable(void)
{
	return &modules[0];
}

PlhModule *
plh_modules_of_profile(uint32 index)
{
	for (int i = 0; i < module_count; i++)
		if (index != 0 && modules[i].profile_index == index)
			return &modules[i];
	return NULL;
}

void
plh_modules_forget_profile(void)
{
	for (int i = 0; i < module_count; i++)
		modules[i].profile_index = 0;
}

/* Each function that has a name is exported, too. */
int
dladdr1(const void *address, Dl_info * info, void **extra, int flags)
{
	static Elf64_Sym symbol = {.st_size = FUNCTION_BYTES};
	uintptr_t	start = (uintptr_t) address % MODULE_BYTES;
	const Function *function = function_at(start);

	if (function == NULL)
		return 0;
	info->dli_sname = function->name;
	info->dli_saddr = (void *) ((uintptr_t) address - start % FUNCTION_BYTES);
	*extra = &symbol;
	return 1;
}

/* The symbolizer. */
PlhSymbols *
plh_symbols_open(void)
{
	static char opened;

	return (PlhSymbols *) &opened;
}

PlhSymbols *
plh_symbols_open_until(bool (*must_stop) (void))
{
	return plh_symbols_open();
}

void
plh_symbols_lookup(PlhSymbols *symbols, const PlhModuleRecord *module,
				   uint64 address, PlhSymbolFrames *found)
{
	const Function *function = function_at(address);

	found->status = PLH_MODULE_OPEN;
	found->count = function != NULL;
	if (function != NULL)
		found->frames[0] = (PlhSourceFrame)
	{
		.function = function->name,.file = function->file,.line = function->line
	};
}

void
plh_symbols_module(PlhSymbols *symbols, const PlhModuleRecord *module,
				   PlhSymbolModule *found)
{
	memset(found, 0, sizeof(*found));
}

const char *
plh_symbols_source_name(PlhSymbolSource source)
{
	return "DWARF";
}

bool
plh_symbols_calls_malloc(PlhSymbols *symbols, const char *path)
{
	return true;
}

/* No library of a scenario is linked to another one. */
List *
plh_symbols_linked_to(PlhSymbols *symbols, const char *path)
{
	return NIL;
}

const char *
plh_symbols_status_word(PlhModuleStatus status)
{
	return NULL;
}

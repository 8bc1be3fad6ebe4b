/*
 * stack_text.c
 *	  Stacks as people read them: names of functions, and the call site.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "base/limits.h"
#include "base/server_functions.h"
#include "profile/profile_image.h"
#include "reader/database_text.h"
#include "reader/symbol_table.h"
#include "report/stack_text.h"

/* The last frame of a stack that had more frames than we keep. */
#define TRUNCATED_FRAME "[more frames]"

/*
 * A stack has at most so many functions, which is several inlined ones for each
 * frame: a dump could name that many for each of its frames that a stack of a line
 * would take a megabyte.
 */
#define MAX_FUNCTIONS (4 * PLH_MAX_FRAMES)

/* Is that a function which allocates on behalf of its caller? */
static bool
is_helper(const char *function)
{
	return plh_server_functions_has(function, PLH_SERVER_HELPER);
}

/*
 * Append a name to a regular expression, without the arguments that those of C++ end
 * with: pprof leaves them out before it looks for a match.
 */
static void
append_name(StringInfo pattern, const char *name)
{
	for (; *name != '\0' && *name != '('; name++)
	{
		if (*name == '[' || *name == ']')
			appendStringInfoChar(pattern, '\\');
		appendStringInfoChar(pattern, *name);
	}
}

/*
 * A regular expression that matches all of these functions.
 */
char *
plh_stack_text_helpers_pattern(void)
{
	const PlhServerFunction *function = NULL;
	StringInfoData pattern;

	initStringInfo(&pattern);
	while ((function = plh_server_functions_next(function,
												 PLH_SERVER_HELPER)) != NULL)
	{
		if (pattern.len > 0)
			appendStringInfoChar(&pattern, '|');
		append_name(&pattern, function->name);
	}
	return pattern.data;
}

/* The functions of a stack, inlined ones included, while they are collected. */
typedef struct FrameList
{
	int			count;
	int			room;
	PlhFrameText *frames;
} FrameList;

/* A frame that was described, and the functions there. */
typedef struct MemoEntry
{
	PlhFrame	frame;			/* key */
	int			count;
	PlhFrameText *texts;
} MemoEntry;

struct PlhStackTexts
{
	PlhSymbols *symbols;		/* NULL: nothing is looked up */
	const PlhProfileImage *image;
	MemoryContext memory;		/* of the entries and their texts */
	HTAB	   *entries;		/* frames that were described, by PlhFrame */
};

/* Add a frame. */
static PlhFrameText *
add_empty(FrameList *list)
{
	PlhFrameText *frame;

	if (list->count == list->room)
	{
		list->room *= 2;
		list->frames = repalloc_huge(list->frames,
									 sizeof(PlhFrameText) * list->room);
	}
	frame = &list->frames[list->count++];
	memset(frame, 0, sizeof(*frame));
	return frame;
}

/*
 * Add a frame whose palloc'd text is given, and becomes ours; the caller may
 * fill in the rest.
 */
static PlhFrameText *
add_frame(FrameList *list, char *text)
{
	PlhFrameText *frame = add_empty(list);

	/* the copy is as long as the text; what psprintf makes is longer */
	frame->text = plh_database_text_fit(text);
	pfree(text);
	return frame;
}

/*
 * The index of the call site.  A frame without a name just inside a helper is
 * a static function of the helper's own.
 */
static int
find_site(const FrameList *list)
{
	const PlhFrameText *frames = list->frames;
	int			site = 0;

	while (site < list->count)
	{
		if (is_helper(frames[site].function))
			site++;
		else if (frames[site].function == NULL && site + 1 < list->count &&
				 is_helper(frames[site + 1].function))
			site += 2;
		else
			break;
	}
	return site < list->count ? site : 0;
}

/*
 * The last part of a path.
 */
const char *
plh_stack_text_base_name(const char *path)
{
	const char *separator = last_dir_separator(path);

	return separator != NULL ? separator + 1 : path;
}

/*
 * The function of a frame, or its text where the function has no known name.
 */
const char *
plh_stack_text_function_name(const PlhFrameText *frame)
{
	return frame->function != NULL ? frame->function : frame->text;
}

/*
 * The binary of a frame, without its directory.
 */
const char *
plh_stack_text_module_name(const PlhFrameText *frame)
{
	if (frame->module == NULL)
		return frame->text[0] == '[' ? frame->text : "[JIT code]";
	return plh_stack_text_base_name(frame->module);
}

/* A function as text, with its place if that is known. */
static char *
function_text(const PlhSourceFrame *frame)
{
	const char *inlined = frame->inlined ? " [inlined]" : "";

	if (frame->file == NULL)
		return psprintf("%s%s", frame->function, inlined);
	return psprintf("%s (%s:%d)%s", frame->function,
					plh_stack_text_base_name(frame->file), frame->line,
					inlined);
}

/* Where a frame is that has no function, and why, if that is its file's fault. */
static char *
place_text(const PlhModuleRecord *module, uint64 address,
		   PlhModuleStatus status)
{
	const char *word = plh_symbols_status_word(status);

	/* the vDSO is a module without a file */
	if (word == NULL || strchr(module->path, '/') == NULL)
		return psprintf("%s+0x%llx", plh_stack_text_base_name(module->path),
						(unsigned long long) address);
	return psprintf("%s+0x%llx [%s]", plh_stack_text_base_name(module->path),
					(unsigned long long) address, word);
}

/* Add a function that an address is in. */
static void
add_function(FrameList *list, const PlhModuleRecord *module,
			 const PlhSourceFrame *source)
{
	PlhFrameText *frame = add_frame(list, function_text(source));

	frame->function = plh_database_text_fit(source->function);
	frame->file = source->file != NULL ?
		plh_database_text_fit(source->file) : NULL;
	frame->line = source->line;
	frame->inlined = source->inlined;
	frame->module = module->path;
}

/* Add what an image says itself about a frame; false if it says nothing. */
static bool
add_known_frames(FrameList *list, const PlhProfileImage *image,
				 const PlhModuleRecord *module, PlhFrame frame)
{
	const PlhSourceFrame *sources;
	int			count;

	if (image->symbols == NULL || module == NULL)
		return false;
	sources = plh_symbol_table_find(image->symbols, frame, &count);
	for (int i = 0; i < count; i++)
		add_function(list, module, &sources[i]);
	return count > 0;
}

/* Add what is looked up at the address of a frame. */
static void
add_found_frames(FrameList *list, PlhSymbols *symbols,
				 const PlhModuleRecord *module, uint64 address)
{
	PlhSymbolFrames found;

	if (module == NULL)
	{
		(void) add_frame(list, address == PLH_COMPILED_CODE - 1 ?
						 pstrdup("[JIT code]") :
						 psprintf("0x%llx [JIT code]",
								  (unsigned long long) address));
		return;
	}
	found.count = 0;
	found.status = PLH_MODULE_OPEN;
	if (symbols != NULL)
		plh_symbols_lookup(symbols, module, address, &found);
	for (int i = 0; i < found.count; i++)
		add_function(list, module, &found.frames[i]);
	if (found.count == 0)
		add_frame(list, place_text(module, address,
								   found.status))->module = module->path;
}

/* Describe a frame, and keep what was found. */
static void
describe_frame(PlhStackTexts *texts, MemoEntry *entry)
{
	PlhFrame	frame = entry->frame;
	const PlhModuleRecord *module =
		plh_profile_image_module(texts->image, PLH_FRAME_MODULE(frame));
	FrameList	list = {.room = 2};

	list.frames = palloc(sizeof(PlhFrameText) * list.room);
	if (!add_known_frames(&list, texts->image, module, frame))
		add_found_frames(&list, texts->symbols, module,
						 PLH_FRAME_ADDRESS(frame));
	entry->texts = list.frames;
	entry->count = list.count;
}

/*
 * Add the functions at a frame, which is described when it is first met, as far as
 * there may be more.
 */
static void
add_frames(FrameList *list, PlhStackTexts *texts, PlhFrame frame,
		   uint32 address_index)
{
	bool		found;
	MemoEntry  *entry = hash_search(texts->entries, &frame, HASH_ENTER, &found);

	if (!found)
	{
		MemoryContext caller_context = MemoryContextSwitchTo(texts->memory);

		describe_frame(texts, entry);
		MemoryContextSwitchTo(caller_context);
	}
	for (int i = 0; i < entry->count && list->count < MAX_FUNCTIONS; i++)
	{
		PlhFrameText *text = add_empty(list);

		*text = entry->texts[i];
		text->address_index = address_index;
	}
}

/* Mix a frame into the hash of a stack: by build-id, not by address. */
static uint64
hash_frame(uint64 hash, const PlhModuleRecord *module, uint64 address)
{
	if (module != NULL && module->build_id_bytes > 0)
		hash = hash_bytes_extended(module->build_id, module->build_id_bytes,
								   hash);
	else if (module != NULL)
		hash = hash_bytes_extended((const unsigned char *) module->path,
								   module->path_bytes, hash);
	return hash_bytes_extended((const unsigned char *) &address,
							   sizeof(address), hash);
}

/*
 * Begin to describe stacks of an image.  The result, and all texts, belong to the
 * current memory context.
 */
PlhStackTexts *
plh_stack_text_open(PlhSymbols *symbols, const PlhProfileImage *image)
{
	PlhStackTexts *texts = palloc(sizeof(PlhStackTexts));
	HASHCTL		control = {
		.keysize = sizeof(PlhFrame),
		.entrysize = sizeof(MemoEntry),
		.hcxt = CurrentMemoryContext
	};

	texts->symbols = symbols;
	texts->image = image;
	texts->memory = CurrentMemoryContext;
	texts->entries = hash_create("pg_leakhunt frames", 1024, &control,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return texts;
}

/*
 * Describe a stack.  The array of its frames belongs to the current memory
 * context; each frame is looked up once, however many stacks it is in.
 */
void
plh_stack_text_describe(PlhStackTexts *texts, const PlhStackRecord *stack,
						PlhStackText *text)
{
	FrameList	list = {0};
	uint64		hash = 0;

	list.room = 2 * stack->depth + 2;
	list.frames = palloc_extended(sizeof(PlhFrameText) * list.room,
								  MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < stack->depth; i++)
	{
		PlhFrame	frame = stack->frames[i];

		add_frames(&list, texts, frame, i);
		hash = hash_frame(hash,
						  plh_profile_image_module(texts->image,
												   PLH_FRAME_MODULE(frame)),
						  PLH_FRAME_ADDRESS(frame));
	}
	text->site_frame = find_site(&list);
	text->site = list.count == 0 ? "" : list.frames[text->site_frame].text;
	if (stack->truncated || list.count == MAX_FUNCTIONS)
		add_frame(&list, pstrdup(TRUNCATED_FRAME))->address_index = stack->depth;
	text->frame_count = list.count;
	text->stack_id = (int64) hash;
	text->frames = list.frames;
}

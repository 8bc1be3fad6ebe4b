/*
 * stack_text.c
 *	  Stacks as people read them: names of functions, and the call site.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"

#include "base/limits.h"
#include "reader/collections.h"
#include "reader/database_text.h"
#include "reader/frame_names.h"
#include "report/stack_text.h"
#include "stack/allocation_wrappers.h"

/* The last frame of a stack that had more frames than we keep. */
#define TRUNCATED_FRAME "[more frames]"

/*
 * The most functions of a stack, which allows for several inlined ones in each frame.  Without a
 * limit, a dump could name so many for each of its frames that a stack of one line would take a
 * megabyte.
 */
#define MOST_ROUTINES 4			/* that a sentence names */
#define MAX_FUNCTIONS (4 * PLH_MAX_FRAMES)

/*
 * Append a name to a regular expression, without the arguments that those of C++ end with: pprof
 * leaves them out before it looks for a match.
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

char *
plh_stack_text_wrappers_pattern(void)
{
	const char *function;
	int			place = 0;
	StringInfoData pattern;

	initStringInfo(&pattern);
	while ((function = plh_allocation_wrappers_next(&place, PLH_FUNCTION_PRUNED)) != NULL)
	{
		if (pattern.len > 0)
			appendStringInfoChar(&pattern, '|');
		append_name(&pattern, function);
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

static PlhFrameText *
add_empty(FrameList *list)
{
	PlhFrameText *frame;

	list->frames = plh_array_grow(list->frames, list->count, &list->room, sizeof(PlhFrameText));
	frame = &list->frames[list->count++];
	memset(frame, 0, sizeof(*frame));
	return frame;
}

/* Add a frame whose palloc'd text is given, and becomes ours; the caller may fill in the rest. */
static PlhFrameText *
add_frame(FrameList *list, char *text)
{
	PlhFrameText *frame = add_empty(list);

	/* the copy is as long as the text; what psprintf makes is longer */
	frame->text = plh_database_text_fit(text);
	pfree(text);
	return frame;
}

/* PlhFrameKindOf: of a frame in an array of PlhFrameText. */
static PlhFrameKind
kind_of_text(const void *frames, uint32 index)
{
	return plh_allocation_wrappers_kind(((const PlhFrameText *) frames)[index].function);
}

const char *
plh_stack_text_base_name(const char *path)
{
	const char *separator = last_dir_separator(path);

	return separator != NULL ? separator + 1 : path;
}

const char *
plh_stack_text_function_name(const PlhFrameText *frame)
{
	return frame->function != NULL ? frame->function : frame->text;
}

const char *
plh_stack_text_module_name(const PlhFrameText *frame)
{
	if (frame->language != PLH_LANGUAGE_NONE)
		return frame->file;
	if (frame->module == NULL)
		return frame->text[0] == '[' ? frame->text : "[JIT code]";
	return plh_stack_text_base_name(frame->module);
}

/* The frame of the innermost routine; NULL: there is none. */
static const PlhFrameText *
innermost_routine(const PlhStackText *stack)
{
	for (int i = 0; i < stack->frame_count; i++)
		if (stack->frames[i].language != PLH_LANGUAGE_NONE)
			return &stack->frames[i];
	return NULL;
}

const char *
plh_stack_text_routine(const PlhStackText *stack)
{
	const PlhFrameText *frame = innermost_routine(stack);

	return frame == NULL ? NULL : frame->text;
}

const char *
plh_stack_text_routine_name(const PlhStackText *stack)
{
	const PlhFrameText *frame = innermost_routine(stack);

	return frame == NULL ? NULL : plh_stack_text_function_name(frame);
}

const char *
plh_stack_text_routines(const PlhStackText *stack)
{
	const char *last = "";
	bool		is_again = false;	/* the last one has called itself */
	StringInfoData text;
	int			count = 0;

	initStringInfo(&text);
	for (int i = 0; i < stack->frame_count && count < MOST_ROUTINES; i++)
	{
		const PlhFrameText *frame = &stack->frames[i];
		bool		is_same = strcmp(frame->text, last) == 0;

		if (frame->language == PLH_LANGUAGE_NONE || (is_same && is_again))
			continue;
		appendStringInfo(&text, "%s%s", count == 0 ? "" : ", called by ",
						 is_same ? "itself" : frame->text);
		count += !is_same;
		is_again = is_same;
		last = frame->text;
	}
	return count > 0 ? text.data : NULL;
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
place_text(const PlhModuleRecord *module, uint64 address, PlhModuleStatus status)
{
	const char *word = plh_symbols_status_word(status);
	char	   *place = psprintf("%s+0x%llx", plh_stack_text_base_name(module->path),
								 (unsigned long long) address);

	/* the vDSO is a module without a file */
	return word == NULL || strchr(module->path, '/') == NULL ? place : psprintf("%s [%s]", place, word);
}

static void
add_function(FrameList *list, const PlhModuleRecord *module, const PlhSourceFrame *source)
{
	PlhFrameText *frame = add_frame(list, function_text(source));

	frame->function = plh_database_text_fit(source->function);
	frame->file = source->file != NULL ? plh_database_text_fit(source->file) : NULL;
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

	if (image->names == NULL)
		return false;
	sources = plh_frame_names_find(image->names, frame, &count);
	for (int i = 0; i < count; i++)
		add_function(list, module, &sources[i]);
	return count > 0;
}

/* Add a frame that is in no binary. */
static void
add_outside_frame(FrameList *list, PlhFrame frame)
{
	uint64		address = PLH_FRAME_ADDRESS(frame);

	if (PLH_FRAME_IS_PROBED(frame))
		add_frame(list, pstrdup(PLH_PROBED_FUNCTION))->function = PLH_PROBED_FUNCTION;
	else if (address == PLH_COMPILED_CODE - 1)
		(void) add_frame(list, pstrdup("[JIT code]"));
	else
		(void) add_frame(list, psprintf("0x%llx [JIT code]", (unsigned long long) address));
}

static void
add_routine_frame(FrameList *list, const PlhProfileImage *image, PlhFrame frame)
{
	const PlhStringRecord *name = plh_profile_image_string(image, PLH_ROUTINE_STRING(frame));
	const char *language = plh_routine_language_name(PLH_ROUTINE_LANGUAGE(frame));
	int			line = PLH_ROUTINE_LINE(frame);
	const char *function;
	PlhFrameText *text;

	if (name == NULL || language == NULL)
	{
		(void) add_frame(list, pstrdup("[unknown routine]"));
		return;
	}
	function = plh_database_text_fit_foreign(name->text, name->text_bytes, image->header->encoding);
	text = add_frame(list, line > 0 ? psprintf("%s line %d", function, line) : pstrdup(function));
	text->function = function;
	text->file = language;
	text->line = line;
	text->language = PLH_ROUTINE_LANGUAGE(frame);
}

/* Add what is looked up at an address of a binary. */
static void
add_found_frames(FrameList *list, PlhSymbols *symbols,
				 const PlhModuleRecord *module, uint64 address)
{
	PlhSymbolFrames found;

	found.count = 0;
	found.status = PLH_MODULE_OPEN;
	if (symbols != NULL)
		plh_symbols_lookup(symbols, module, address, &found);
	for (int i = 0; i < found.count; i++)
		add_function(list, module, &found.frames[i]);
	if (found.count == 0)
		add_frame(list, place_text(module, address, found.status))->module = module->path;
}

static void
describe_frame(PlhStackTexts *texts, MemoEntry *entry)
{
	PlhFrame	frame = entry->frame;
	const PlhModuleRecord *module = plh_profile_image_module(texts->image, PLH_FRAME_MODULE(frame));
	FrameList	list = {.room = 2};

	list.frames = palloc(sizeof(PlhFrameText) * list.room);
	if (PLH_FRAME_IS_ROUTINE(frame))
		add_routine_frame(&list, texts->image, frame);
	else if (module == NULL)
		add_outside_frame(&list, frame);
	else if (!add_known_frames(&list, texts->image, module, frame))
		add_found_frames(&list, texts->symbols, module, PLH_FRAME_ADDRESS(frame));
	entry->texts = list.frames;
	entry->count = list.count;
}

/*
 * Add the functions at a frame, which is described when it is first met, as far as there may be
 * more.
 */
static void
add_frames(FrameList *list, PlhStackTexts *texts, PlhFrame frame, uint32 address_index)
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

/* Mix the frame of a routine into the hash of a stack: by its text. */
static uint64
hash_routine(uint64 hash, const PlhProfileImage *image, PlhFrame frame)
{
	const PlhStringRecord *name = plh_profile_image_string(image, PLH_ROUTINE_STRING(frame));
	uint32		place[] = {PLH_ROUTINE_LANGUAGE(frame), PLH_ROUTINE_LINE(frame)};

	if (name != NULL)
	{
		char	   *text = plh_database_text_fit_foreign(name->text, name->text_bytes,
														 image->header->encoding);

		hash = hash_bytes_extended((const unsigned char *) text, strlen(text), hash);
		pfree(text);
	}
	return hash_bytes_extended((const unsigned char *) place, sizeof(place), hash);
}

/* Mix a frame into the hash of a stack: by build-id, not by address. */
static uint64
hash_frame(uint64 hash, const PlhProfileImage *image, PlhFrame frame)
{
	const PlhModuleRecord *module = plh_profile_image_module(image, PLH_FRAME_MODULE(frame));
	uint64		address = PLH_FRAME_ADDRESS(frame);

	if (PLH_FRAME_IS_ROUTINE(frame))
		return hash_routine(hash, image, frame);
	if (module != NULL && module->build_id_bytes > 0)
		hash = hash_bytes_extended(module->build_id, module->build_id_bytes, hash);
	else if (module != NULL)
		hash = hash_bytes_extended((const unsigned char *) module->path, module->path_bytes, hash);
	return hash_bytes_extended((const unsigned char *) &address, sizeof(address), hash);
}

PlhStackTexts *
plh_stack_text_open(PlhSymbols *symbols, const PlhProfileImage *image)
{
	PlhStackTexts *texts = palloc(sizeof(PlhStackTexts));

	texts->symbols = symbols;
	texts->image = image;
	texts->memory = CurrentMemoryContext;
	texts->entries = plh_hash_table("pg_leakhunt frames", sizeof(PlhFrame), sizeof(MemoEntry));
	return texts;
}

void
plh_stack_text_describe(PlhStackTexts *texts, const PlhStackRecord *stack, PlhStackText *text)
{
	FrameList	list = {0};
	uint64		hash = 0;

	list.room = 2 * stack->depth + 2;
	list.frames = palloc_extended(sizeof(PlhFrameText) * list.room, MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < stack->depth; i++)
	{
		PlhFrame	frame = stack->frames[i];

		add_frames(&list, texts, frame, i);
		hash = hash_frame(hash, texts->image, frame);
	}
	text->site_frame = plh_allocation_wrappers_call_site(list.frames, list.count, kind_of_text);
	text->site = list.count == 0 ? "" : list.frames[text->site_frame].text;
	if (stack->truncated || list.count == MAX_FUNCTIONS)
		add_frame(&list, pstrdup(TRUNCATED_FRAME))->address_index = stack->depth;
	text->frame_count = list.count;
	text->stack_id = (int64) hash;
	text->frames = list.frames;
}

/*
 * frame_names.c
 *	  The names of functions that a dump brings along, so that its stacks can be read where its
 *	  modules are not installed.
 */
#include "postgres.h"

#include "profile/dump_layout.h"
#include "reader/collections.h"
#include "reader/frame_names.h"

/* A frame, and where its functions begin. */
typedef struct Entry
{
	PlhFrame	frame;			/* key */
	int			first;
	int			count;
} Entry;

struct PlhFrameNames
{
	HTAB	   *entries;
	int			count;			/* of the functions */
	PlhFrame   *frames;			/* that they are in */
	PlhSourceFrame *sources;
};

void
plh_frame_names_add(StringInfo part, PlhFrame frame, const PlhSourceFrame *source)
{
	static const char zeros[8];
	const char *file = source->file != NULL ? source->file : "";
	Size		texts = strlen(source->function) + 1 + strlen(file) + 1;
	PlhFrameName name = {
		.frame = frame,
		.bytes = TYPEALIGN(8, offsetof(PlhFrameName, texts) + texts),
		.line = source->line,
		.inlined = source->inlined,
		.function_bytes = strlen(source->function) + 1
	};

	appendBinaryStringInfo(part, (char *) &name, offsetof(PlhFrameName, texts));
	appendBinaryStringInfo(part, source->function, name.function_bytes);
	appendBinaryStringInfo(part, file, strlen(file) + 1);
	appendBinaryStringInfo(part, zeros, name.bytes - offsetof(PlhFrameName, texts) - texts);
}

static bool
is_whole(const PlhFrameName *name, Size room)
{
	Size		texts;

	if (room < sizeof(PlhFrameName) || name->bytes > room ||
		name->bytes % 8 != 0 || name->bytes < sizeof(PlhFrameName))
		return false;
	texts = name->bytes - offsetof(PlhFrameName, texts);
	return name->function_bytes > 1 && name->function_bytes < texts &&
		memchr(name->texts, '\0', name->function_bytes) ==
		&name->texts[name->function_bytes - 1] &&
		memchr(&name->texts[name->function_bytes], '\0', texts - name->function_bytes) != NULL;
}

static void
enter(PlhFrameNames *names, const PlhFrameName *name)
{
	int			number = names->count++;
	PlhSourceFrame *source = &names->sources[number];
	const char *file = &name->texts[name->function_bytes];
	bool		found;
	Entry	   *entry = hash_search(names->entries, &name->frame, HASH_ENTER, &found);

	if (!found)
	{
		entry->first = number;
		entry->count = 0;
	}

	/* the functions of a frame follow each other */
	if (entry->first + entry->count == number && entry->count < PLH_MAX_INLINED)
		entry->count++;
	names->frames[number] = name->frame;
	source->function = name->texts;
	source->file = file[0] != '\0' ? file : NULL;
	source->line = Max((int) name->line, 0);
	source->inlined = name->inlined != 0;
}

/* Read names, up to the first that is none. */
PlhFrameNames *
plh_frame_names_read(const char *part, Size bytes)
{
	PlhFrameNames *names = palloc(sizeof(PlhFrameNames));
	Size		most = bytes / sizeof(PlhFrameName) + 1;

	names->count = 0;
	names->entries = plh_hash_table("pg_leakhunt names", sizeof(PlhFrame), sizeof(Entry));
	names->frames = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(PlhFrame) * most);
	names->sources = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(PlhSourceFrame) * most);
	for (Size offset = 0; offset < bytes;)
	{
		const PlhFrameName *name = (const PlhFrameName *) (part + offset);

		if (!is_whole(name, bytes - offset))
			break;
		enter(names, name);
		offset += name->bytes;
	}
	return names;
}

const PlhSourceFrame *
plh_frame_names_find(const PlhFrameNames *names, PlhFrame frame, int *count)
{
	const Entry *entry = hash_search(names->entries, &frame, HASH_FIND, NULL);

	*count = entry != NULL ? entry->count : 0;
	return entry != NULL ? &names->sources[entry->first] : NULL;
}

const PlhSourceFrame *
plh_frame_names_next(const PlhFrameNames *names, int *position, PlhFrame *frame, int *count)
{
	int			first = *position;

	if (first == names->count)
		return NULL;
	*frame = names->frames[first];
	while (*position < names->count && names->frames[*position] == *frame)
		(*position)++;
	*count = *position - first;
	return &names->sources[first];
}

/*
 * statement_stack.c
 *	  The stacks of statements in their file: with modules and routines of their own.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "profile/statement_stack.h"
#include "profile/statements_file.h"

/* The number of a module in the file, which gets it if it has room; else 0. */
static uint32
module_number(const PlhModuleRecord *module)
{
	PlhStatementsFile *file = plh_statements_file;
	Size		bytes = offsetof(PlhModuleRecord, path) + module->path_bytes + 1;
	uint32		count = Min(file->module_count, PLH_STATEMENT_MODULES);
	PlhStatementModule *place;

	for (uint32 i = 0; i < count; i++)
		if (plh_profile_image_is_same_module(&file->modules[i].record, module))
			return i + 1;
	if (count == PLH_STATEMENT_MODULES || bytes > PLH_STATEMENT_MODULE_BYTES)
		return 0;
	place = &file->modules[count];
	memset(place, 0, sizeof(*place));
	memcpy(place, module, bytes);
	place->record.index = count + 1;
	pg_write_barrier();
	file->module_count = count + 1;
	return count + 1;
}

/* Is that the record of a module, which lies in its place as a whole? */
static bool
is_module(const PlhModuleRecord *module)
{
	Size		room = PLH_STATEMENT_MODULE_BYTES - offsetof(PlhModuleRecord, path);

	return module->build_id_bytes <= PLH_BUILD_ID_MAX && module->path_bytes < room &&
		module->path[module->path_bytes] == '\0';
}

static const PlhModuleRecord *
source_module(const PlhStackSource *source, uint32 index)
{
	const PlhModuleRecord *module;

	if (source->image != NULL)
		return plh_profile_image_module(source->image, index);
	if (index == 0 || index > Min(source->module_count, PLH_STATEMENT_MODULES))
		return NULL;
	module = &source->modules[index - 1].record;
	return is_module(module) ? module : NULL;
}

/* The name of a frame's routine, as long as it is; NULL if there is none. */
static const char *
source_routine(const PlhStackSource *source, PlhFrame frame, Size *bytes)
{
	uint32		place = PLH_ROUTINE_STRING(frame);

	if (source->image != NULL)
	{
		const PlhStringRecord *name = plh_profile_image_string(source->image, place);

		*bytes = name == NULL ? 0 : name->text_bytes;
		return name == NULL ? NULL : name->text;
	}
	return plh_statement_stack_routine(source->former, frame, bytes);
}

const char *
plh_statement_stack_routine(const PlhStatementEntry *entry, PlhFrame frame, Size *bytes)
{
	uint32		place = PLH_ROUTINE_STRING(frame);
	Size		room;

	if (place >= PLH_STATEMENT_ROUTINE_BYTES)
		return NULL;
	room = PLH_STATEMENT_ROUTINE_BYTES - place;
	*bytes = strnlen(entry->routines + place, room);
	return *bytes > 0 && *bytes < room ? entry->routines + place : NULL;
}

/*
 * The place that an entry has for the name of a routine, which it may have already;
 * PLH_STATEMENT_ROUTINE_BYTES if it has no room.
 */
static uint32
routine_place(PlhStatementEntry *entry, const char *name, Size bytes)
{
	uint32		place = 0;

	while (place < entry->routine_bytes)
	{
		Size		length = strlen(entry->routines + place);

		if (length == bytes && memcmp(entry->routines + place, name, bytes) == 0)
			return place;
		place += MAXALIGN(length + 1);
	}
	if (bytes >= PLH_STATEMENT_ROUTINE_BYTES - place)
		return PLH_STATEMENT_ROUTINE_BYTES;
	memcpy(entry->routines + place, name, bytes);
	entry->routines[place + bytes] = '\0';
	entry->routine_bytes = place + MAXALIGN(bytes + 1);
	return place;
}

/* Add the frame of a routine to the stack of an entry. */
static void
note_routine(PlhStatementEntry *entry, const PlhStackSource *source, PlhFrame frame)
{
	Size		bytes;
	const char *name = source_routine(source, frame, &bytes);
	uint32		place;

	if (name == NULL)
		return;
	place = routine_place(entry, name, bytes);
	if (place < PLH_STATEMENT_ROUTINE_BYTES)
		entry->frames[entry->depth++] =
			PLH_ROUTINE_FRAME(PLH_ROUTINE_LANGUAGE(frame),
							  PLH_ROUTINE_LINE(frame), place);
}

void
plh_statement_stack_note(PlhStatementEntry *entry, const PlhStackSource *source,
						 const PlhFrame *frames, uint32 depth, bool truncated)
{
	uint32		from = 0;		/* the module of the frame before */
	uint32		to = 0;

	entry->depth = 0;
	entry->routine_bytes = 0;
	entry->truncated = truncated || depth > PLH_STATEMENT_FRAMES;
	for (uint32 i = 0; i < Min(depth, PLH_STATEMENT_FRAMES); i++)
	{
		uint32		index = PLH_FRAME_MODULE(frames[i]);

		if (PLH_FRAME_IS_ROUTINE(frames[i]))
		{
			note_routine(entry, source, frames[i]);
			continue;
		}
		if (index != from)
		{
			const PlhModuleRecord *module = source_module(source, index);

			from = index;
			to = module == NULL ? 0 : module_number(module);
			if (to == 0 && index != 0)
			{
				entry->depth = 0;
				return;
			}
		}
		entry->frames[entry->depth++] = PLH_FRAME(to, PLH_FRAME_ADDRESS(frames[i]));
	}
}

/*
 * dump_symbols.c
 *	  Makes the symbols that a dump brings along, so that it can be read where
 *	  its modules are not installed.
 *
 * A dump has them twice: for jeprof in a section before everything else, and
 * for us, with files and lines, as lines that begin with "# symbol".
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "dump/dump_addresses.h"
#include "profile/profile_image.h"
#include "report/dump_symbols.h"

/* Append a field encoded as dump_writer.c does it: without white space. */
static void
append_value(StringInfo output, const char *name, const char *value)
{
	appendStringInfo(output, " %s=", name);
	for (; *value != '\0'; value++)
	{
		unsigned char c = *value;

		if (c <= ' ' || c == '%' || c == 0x7F)
			appendStringInfo(output, "%%%02X", c);
		else
			appendStringInfoChar(output, c);
	}
}

/*
 * Append a line for jeprof: all functions, the innermost first, joined by
 * "--".
 */
static void
append_for_jeprof(StringInfo output, uint64 address,
				  const PlhSymbolFrames *found)
{
	appendStringInfo(output, "0x%llx ", (unsigned long long) address);
	for (int i = 0; i < found->count; i++)
		appendStringInfo(output, "%s%s", i > 0 ? "--" : "",
						 found->frames[i].function);
	appendStringInfoChar(output, '\n');
}

/*
 * Append a line for dump_reader.c: one of the functions that an address is in.
 */
static void
append_for_us(StringInfo output, uint64 address, const PlhSourceFrame *frame)
{
	appendStringInfo(output, "# symbol address=0x%llx",
					 (unsigned long long) address);
	append_value(output, "function", frame->function);
	appendStringInfo(output, " line=%d inlined=%d", frame->line,
					 frame->inlined ? 1 : 0);
	if (frame->file != NULL)
		append_value(output, "file", frame->file);
	appendStringInfoChar(output, '\n');
}

/*
 * Look up all frames of an image, each of them once, and make the texts for
 * its dump.
 */
void
plh_dump_symbols_make(PlhSymbols *symbols, const PlhProfileImage *image,
					  PlhDumpExtras *extras)
{
	HASHCTL		control = {
		.keysize = sizeof(PlhFrame),
		.entrysize = sizeof(PlhFrame),
		.hcxt = CurrentMemoryContext
	};
	HTAB	   *known = hash_create("pg_leakhunt frames", 1024, &control,
									HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	PlhSymbolFrames *found = palloc(sizeof(PlhSymbolFrames));
	PlhPlacement *placement = palloc(sizeof(PlhPlacement));
	const PlhSiteRecord *site;
	uint32		position = 0;
	StringInfoData jeprof;
	StringInfoData ours;

	initStringInfo(&jeprof);
	initStringInfo(&ours);
	appendStringInfo(&jeprof, "--- symbol\nbinary=%s\n", my_exec_path);
	plh_dump_addresses_place(placement, image);
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		const PlhStackRecord *stack = plh_profile_image_stack(image,
															  site->key.stack);

		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; stack != NULL && i < stack->depth; i++)
		{
			PlhFrame	frame = stack->frames[i];
			const PlhModuleRecord *module =
				plh_profile_image_module(image, PLH_FRAME_MODULE(frame));
			uint64		address = plh_dump_addresses_of(placement, frame);
			bool		is_known;

			hash_search(known, &frame, HASH_ENTER, &is_known);
			if (is_known || module == NULL)
				continue;
			plh_symbols_lookup(symbols, module, PLH_FRAME_ADDRESS(frame),
							   found);
			if (found->count > 0)
				append_for_jeprof(&jeprof, address, found);
			for (int j = 0; j < found->count; j++)
				append_for_us(&ours, address, &found->frames[j]);
		}
	}
	appendStringInfoString(&jeprof, "---\n--- heap\n");
	extras->symbols_for_jeprof = jeprof.data;
	extras->symbols = ours.data;
}

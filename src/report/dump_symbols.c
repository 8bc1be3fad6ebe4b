/*
 * dump_symbols.c
 *	  The symbols of a dump, so that it can be read where its binaries are not:
 *	  for jeprof as a section before all else, and for us as "#" lines.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "dump/dump_addresses.h"
#include "profile/profile_image.h"
#include "report/dump_symbols.h"

/* Append a value as dump_writer.c does: without white space. */
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

/* What jeprof is told: all functions, the innermost first, with -- between. */
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
 * Look up all frames of the image, and make the texts for its dump, in the
 * current memory context.
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

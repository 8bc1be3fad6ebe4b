/*
 * dump_symbols.c
 *	  Makes the names that a dump brings along, to be read where its modules are not installed.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "profile/profile_image.h"
#include "reader/collections.h"
#include "reader/frame_names.h"
#include "report/dump_symbols.h"

static void
add_frame(StringInfo part, PlhSymbols *symbols, const PlhProfileImage *image, PlhFrame frame)
{
	const PlhModuleRecord *module = plh_profile_image_module(image, PLH_FRAME_MODULE(frame));
	PlhSymbolFrames found = {0};

	if (module != NULL)
		plh_symbols_lookup(symbols, module, PLH_FRAME_ADDRESS(frame), &found);
	for (int i = 0; i < found.count; i++)
		plh_frame_names_add(part, frame, &found.frames[i]);
}

void
plh_dump_symbols_make(PlhSymbols *symbols, const PlhProfileImage *image, PlhDumpExtras *extras)
{
	HTAB	   *known = plh_hash_table("pg_leakhunt frames", sizeof(PlhFrame), sizeof(PlhFrame));
	const PlhSiteRecord *site;
	uint32		position = 0;
	StringInfoData part;

	initStringInfo(&part);
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		const PlhStackRecord *stack = plh_profile_image_stack(image, site->key.stack);

		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; stack != NULL && i < stack->depth; i++)
		{
			bool		is_known;

			hash_search(known, &stack->frames[i], HASH_ENTER, &is_known);
			if (!is_known)
				add_frame(&part, symbols, image, stack->frames[i]);
		}
	}
	extras->names = part.data;
	extras->names_bytes = part.len;
}

/*
 * peak_report.c
 *	  Says in the server's log what a process held when it held most.
 *
 * The process does so when it exits, where it must not take the time to read
 * debug information: functions are those that its binaries export.  The dump has
 * the rest.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>

#include "mb/pg_wchar.h"
#include "utils/timestamp.h"

#include "base/modules.h"
#include "base/server_functions.h"
#include "process/peak_report.h"
#include "profile/site_facts.h"

/* Room for the name of a site. */
#define SITE_BYTES 256

/* A statement is shown up to these bytes. */
#define SHOWN_STATEMENT_BYTES 200

/* The site that held most at the peak.  Returns false if none held anything. */
static bool
find_largest(const PlhProfileImage *image, PlhSiteFacts *largest)
{
	PlhSiteFacts facts;
	uint32		position = 0;
	bool		found = false;

	while (plh_site_facts_next(&facts, image, NULL, &position))
	{
		if (facts.peak_bytes <= 0 ||
			(found && facts.peak_bytes <= largest->peak_bytes))
			continue;
		*largest = facts;
		found = true;
	}
	return found;
}

/*
 * Name a frame: by the exported function that it is in, or else by its module and
 * its address there.  Returns whether it is a function that allocates for others.
 */
static bool
name_frame(char *name, Size room, const PlhProfileImage *image, PlhFrame frame)
{
	const PlhModuleRecord *record =
		plh_profile_image_module(image, PLH_FRAME_MODULE(frame));
	uint64		address = PLH_FRAME_ADDRESS(frame);
	const char *file;
	Dl_info		found;
	Elf64_Sym  *symbol = NULL;
	PlhModule  *module;

	if (record == NULL)
	{
		snprintf(name, room, "0x%llx", (unsigned long long) address);
		return false;
	}
	file = strrchr(record->path, '/') != NULL ?
		strrchr(record->path, '/') + 1 : record->path;
	snprintf(name, room, "%s+0x%llx", file, (unsigned long long) address);
	module = plh_modules_of_profile(PLH_FRAME_MODULE(frame));
	if (module == NULL)
		return false;
	address += module->load_bias;
	if (dladdr1((void *) (uintptr_t) address, &found, (void **) &symbol,
				RTLD_DL_SYMENT) == 0 ||
		found.dli_sname == NULL || symbol == NULL ||
		address >= (uintptr_t) found.dli_saddr + symbol->st_size)
		return false;
	snprintf(name, room, "%s", found.dli_sname);
	return plh_server_functions_has(found.dli_sname, PLH_SERVER_HELPER);
}

/* Name the first frame of a stack that allocates for itself. */
static const char *
site_name(char *name, Size room, const PlhProfileImage *image,
		  const PlhStackRecord *stack)
{
	strlcpy(name, "[no stack]", room);
	for (uint32 i = 0; stack != NULL && i < stack->depth; i++)
		if (!name_frame(name, room, image, stack->frames[i]))
			break;
	return name;
}

/*
 * Report the peak of this process, which must have had one.
 */
void
plh_peak_report(const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	bool		by_samples = header->peak_bytes >= header->own_peak_bytes / 2;
	TimestampTz at = by_samples ? header->peak_at : header->own_peak_at;
	PlhSiteFacts largest = {0};
	char		site[SITE_BYTES];

	if (!find_largest(image, &largest))
	{
		ereport(LOG,
				(errmsg("memory peak: %lld bytes of private memory at %s, none of them sampled",
						(long long) header->own_peak_bytes, timestamptz_to_str(at))));
		return;
	}
	ereport(LOG,
			(errmsg("memory peak: ~%lld bytes in memory contexts, %lld bytes of private memory, at %s; ~%lld bytes by %s in %s",
					(long long) header->peak_bytes,
					(long long) header->own_peak_bytes, timestamptz_to_str(at),
					(long long) largest.peak_bytes,
					site_name(site, sizeof(site), image, largest.stack),
					largest.context != NULL ? largest.context->text : "[no context]"),
			 largest.statement == NULL || largest.statement->text_bytes == 0 ? 0 :
			 errdetail("Statement: %.*s",
					   pg_mbcliplen(largest.statement->text,
									largest.statement->text_bytes,
									SHOWN_STATEMENT_BYTES),
					   largest.statement->text)));
}

/*
 * top_site.c
 *	  Finds the call site by which a process holds most, and names it.
 *
 * A process asks for that when it exits, where it must not take the time to
 * read debug information: functions are those that its binaries export.  The
 * dump has the rest.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>

#include "base/modules.h"
#include "base/page_layout.h"
#include "base/sampling.h"
#include "base/server_functions.h"
#include "dump/dump_sites.h"
#include "process/top_site.h"
#include "profile/site_facts.h"

/* The sites of one stack and context, while they are added up. */
typedef struct SiteSum
{
	PlhTopSite	site;
	PlhSiteKey	key;			/* of its first site */
	PlhCounters counters;
	int64		most_bytes;		/* of one statement */
} SiteSum;

/* What a site has at the moment. */
static int64
bytes_at(const PlhSiteFacts *facts, PlhTopMoment moment)
{
	return moment == PLH_TOP_NOW ? facts->counters->live_bytes :
		facts->peak_bytes;
}

/* Begin a sum with no site in it yet. */
static void
begin(SiteSum *sum, const PlhSiteFacts *facts)
{
	memset(sum, 0, sizeof(*sum));
	sum->site.stack = facts->stack;
	sum->site.context = facts->context;
	sum->key = facts->site->key;
}

/* Is a site one of those that are being added up? */
static bool
belongs(const SiteSum *sum, const PlhSiteFacts *facts)
{
	return sum->key.stack == facts->site->key.stack &&
		sum->key.context_name == facts->site->key.context_name;
}

/* Add a site that has something. */
static void
add(SiteSum *sum, const PlhSiteFacts *facts, int64 bytes)
{
	sum->site.bytes += bytes;
	sum->site.statements += facts->statement != NULL;
	sum->counters.live_samples += facts->counters->live_samples;
	sum->counters.live_variance += facts->counters->live_variance;
	if (bytes > sum->most_bytes)
	{
		sum->most_bytes = bytes;
		sum->site.statement = facts->statement;
	}
}

/* Keep a complete sum if it is the largest so far. */
static void
keep_larger(PlhTopSite *top, SiteSum *sum, PlhTopMoment moment)
{
	const PlhCounters *counters = &sum->counters;

	if (sum->site.bytes <= top->bytes)
		return;
	*top = sum->site;
	if (moment == PLH_TOP_NOW)
		top->surely_bytes =
			Max(top->bytes - plh_sampling_error_bytes(counters->live_variance,
													  top->bytes,
													  counters->live_samples),
				0.0);
}

/*
 * Find the site that has most.  Sites of one stack and context follow each
 * other; where there is no memory to sort them, more of them count as several.
 */
bool
plh_top_site_find(PlhTopSite *top, const PlhProfileImage *image,
				  PlhTopMoment moment)
{
	/* an exiting process may be out of memory */
	static PLH_LARGE PlhDumpSites sites;
	PlhSiteFacts facts;
	SiteSum		sum = {0};

	memset(top, 0, sizeof(*top));
	plh_dump_sites_open(&sites, image, NULL);
	while (plh_dump_sites_next(&sites, &facts))
	{
		int64		bytes = bytes_at(&facts, moment);

		if (bytes <= 0)
			continue;
		if (!belongs(&sum, &facts))
		{
			keep_larger(top, &sum, moment);
			begin(&sum, &facts);
		}
		add(&sum, &facts, bytes);
	}
	keep_larger(top, &sum, moment);
	plh_dump_sites_close(&sites);
	return top->bytes > 0;
}

/*
 * Are these the same stack, in contexts of the same name?
 */
bool
plh_top_site_is_same(const PlhTopSite *a, const PlhTopSite *b)
{
	return a->stack == b->stack && a->context == b->context;
}

/* What is known of a frame. */
typedef enum FrameKind
{
	FRAME_ADDRESS,				/* no more than where it is */
	FRAME_FUNCTION,
	FRAME_HELPER				/* a function that allocates for others */
} FrameKind;

/* Write a frame as its module and its address there. */
static void
write_address(char *name, Size room, const PlhModuleRecord *record,
			  uint64 address)
{
	const char *separator = record != NULL ? strrchr(record->path, '/') : NULL;
	const char *file = record == NULL ? "" :
		separator != NULL ? separator + 1 : record->path;

	snprintf(name, room, "%s%s0x%llx", file, record != NULL ? "+" : "",
			 (unsigned long long) address);
}

/* Returns the exported function of this process that an address is in, or NULL. */
static const char *
exported_function(uintptr_t address)
{
	Dl_info		found;
	Elf64_Sym  *symbol = NULL;

	if (dladdr1((void *) address, &found, (void **) &symbol,
				RTLD_DL_SYMENT) == 0 ||
		found.dli_sname == NULL || symbol == NULL ||
		address >= (uintptr_t) found.dli_saddr + symbol->st_size)
		return NULL;
	return found.dli_sname;
}

/*
 * Name a frame: by the exported function that it is in, or else by its module and
 * its address there.
 */
static FrameKind
name_frame(char *name, Size room, const PlhProfileImage *image, PlhFrame frame)
{
	uint32		index = PLH_FRAME_MODULE(frame);
	uint64		address = PLH_FRAME_ADDRESS(frame);
	PlhModule  *module = plh_modules_of_profile(index);
	const char *function = module == NULL ? NULL :
		exported_function(module->load_bias + address);

	if (function == NULL)
	{
		write_address(name, room, plh_profile_image_module(image, index), address);
		return FRAME_ADDRESS;
	}
	strlcpy(name, function, room);
	return plh_server_functions_has(function, PLH_SERVER_HELPER) ?
		FRAME_HELPER : FRAME_FUNCTION;
}

/*
 * Name the first frame of a stack that allocates for itself, and return its index.
 * A frame without a name just inside a helper is a static function of the helper's
 * own, as in reports.
 */
static uint32
name_site(char *name, Size room, const PlhProfileImage *image,
		  const PlhStackRecord *stack, FrameKind *kind)
{
	uint32		site = 0;

	while (site < stack->depth)
	{
		*kind = name_frame(name, room, image, stack->frames[site]);
		if (*kind == FRAME_HELPER)
			site++;
		else if (*kind == FRAME_ADDRESS && site + 1 < stack->depth &&
				 name_frame(name, room, image,
							stack->frames[site + 1]) == FRAME_HELPER)
			site += 2;
		else
			break;
	}
	if (site >= stack->depth)
		site = 0;
	*kind = name_frame(name, room, image, stack->frames[site]);
	return site;
}

/* Add the first function outwards that has a name. */
static void
add_caller(char *name, Size room, const PlhProfileImage *image,
		   const PlhStackRecord *stack, uint32 site)
{
	char		caller[PLH_SITE_NAME_BYTES];
	Size		used = strlen(name);

	for (uint32 i = site + 1; i < stack->depth; i++)
	{
		if (name_frame(caller, sizeof(caller), image,
					   stack->frames[i]) == FRAME_ADDRESS)
			continue;
		snprintf(name + used, room - used, " (called in %s)", caller);
		break;
	}
}

/*
 * Name a site; where its function has no name, by a caller that has one, too.
 */
const char *
plh_top_site_name(const PlhTopSite *top, const PlhProfileImage *image,
				  char *name, Size room)
{
	const PlhStackRecord *stack = top->stack;
	FrameKind	kind;
	uint32		site;

	if (stack == NULL)
	{
		strlcpy(name, "[no stack]", room);
		return name;
	}
	site = name_site(name, room, image, stack, &kind);
	if (kind == FRAME_ADDRESS)
		add_caller(name, room, image, stack, site);
	return name;
}

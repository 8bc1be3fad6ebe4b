/*
 * top_site.c
 *	  Finds the call site by which a process holds most, and names it.
 *
 * A process asks for that when it exits, where it must not take the time to read debug information:
 * functions are those that its binaries export.  The dump has the rest.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>

#include "base/private_memory.h"
#include "base/sampling.h"
#include "process/top_site.h"
#include "profile/shared_addresses.h"
#include "profile/site_facts.h"
#include "stack/allocation_wrappers.h"
#include "stack/modules.h"

/* A site that has something at the moment. */
typedef struct HeldSite
{
	PlhSiteFacts facts;
	int64		bytes;
} HeldSite;

/* The sites of one stack and context, added up. */
typedef struct SiteSum
{
	uint32		statements;		/* number of those that hold something */
	const PlhSiteFacts *first;
	const PlhStatementRecord *statement;	/* of the largest site */
	int64		largest_bytes;
	int64		bytes;			/* of all */
	int64		live_samples;
	double		live_variance;
} SiteSum;

static int
compare_numbers(uint32 a, uint32 b)
{
	return a < b ? -1 : a > b;
}

/* qsort comparator: by stack and context, then as in the image. */
static int
compare_sites(const void *a, const void *b)
{
	const PlhSiteRecord *left = ((const HeldSite *) a)->facts.site;
	const PlhSiteRecord *right = ((const HeldSite *) b)->facts.site;
	int			order = compare_numbers(left->key.stack, right->key.stack);

	if (order == 0)
		order = compare_numbers(left->key.context_name, right->key.context_name);
	return order != 0 ? order : left < right ? -1 : left > right;
}

static bool
belong_together(const PlhSiteFacts *a, const PlhSiteFacts *b)
{
	return a->site->key.stack == b->site->key.stack &&
		a->site->key.context_name == b->site->key.context_name;
}

static int64
bytes_at(const PlhSiteFacts *facts, PlhTopMoment moment)
{
	return moment == PLH_TOP_NOW ? facts->counters->live_bytes : facts->peak_bytes;
}

/* Add a site to a sum, which may be empty. */
static void
add(SiteSum *sum, const HeldSite *held)
{
	const PlhSiteFacts *facts = &held->facts;

	if (sum->first == NULL)
		sum->first = facts;
	sum->bytes += held->bytes;
	sum->statements += facts->statement != NULL;
	sum->live_samples += facts->counters->live_samples;
	sum->live_variance += facts->counters->live_variance;
	if (held->bytes > sum->largest_bytes)
	{
		sum->largest_bytes = held->bytes;
		sum->statement = facts->statement;
	}
}

/* Keep a complete sum if it is the largest so far. */
static void
keep_larger(PlhTopSite *top, const SiteSum *sum, PlhTopMoment moment)
{
	if (sum->bytes <= top->bytes)
		return;
	memset(top, 0, sizeof(*top));
	top->stack = sum->first->stack;
	top->context = sum->first->context;
	top->statement = sum->statement;
	top->bytes = sum->bytes;
	top->statements = sum->statements;
	if (moment == PLH_TOP_NOW)
		top->surely_bytes =
			Max(top->bytes - plh_sampling_error_bytes(sum->live_variance, top->bytes,
													  sum->live_samples),
				0.0);
}

/* Keep the largest of the sums of sites, which are sorted for that. */
static void
add_up(PlhTopSite *top, HeldSite *sites, uint32 count, PlhTopMoment moment)
{
	SiteSum		sum = {0};

	qsort(sites, count, sizeof(HeldSite), compare_sites);
	for (uint32 i = 0; i < count; i++)
	{
		if (i > 0 && !belong_together(sum.first, &sites[i].facts))
		{
			keep_larger(top, &sum, moment);
			memset(&sum, 0, sizeof(sum));
		}
		add(&sum, &sites[i]);
	}
	keep_larger(top, &sum, moment);
}

/*
 * Find the site that has most.  Where there is no memory for the list of them, a site counts by
 * itself.
 */
bool
plh_top_site_find(PlhTopSite *top, const PlhProfileImage *image, PlhTopMoment moment)
{
	/* the count of a damaged image may be any */
	Size		room = Min((Size) image->header->site_count + 1,
						   image->bytes / sizeof(PlhSiteRecord));
	PlhRegion	region = {0};
	uint32		count = 0;
	uint32		position = 0;
	HeldSite	held;

	memset(top, 0, sizeof(*top));
	if (room == 0 || !plh_private_memory_reserve(&region, room * sizeof(HeldSite)))
		room = 0;
	while (plh_site_facts_next(&held.facts, image, NULL, &position))
	{
		held.bytes = bytes_at(&held.facts, moment);
		if (held.bytes <= 0)
			continue;
		if (count < room && plh_private_memory_commit(&region, (count + 1) * sizeof(HeldSite)))
			((HeldSite *) region.base)[count++] = held;
		else
			add_up(top, &held, 1, moment);
	}
	if (count > 0)
		add_up(top, (HeldSite *) region.base, count, moment);
	plh_private_memory_discard(&region);
	return top->bytes > 0;
}

bool
plh_top_site_is_same(const PlhTopSite *a, const PlhTopSite *b)
{
	return a->stack == b->stack && a->context == b->context;
}

/*
 * The routine that a site allocates in, the innermost of its stack, with its line, which is 0 where
 * none is known; NULL if there is no routine.
 */
const char *
plh_top_site_routine(const PlhTopSite *top, const PlhProfileImage *image, int *line)
{
	for (uint32 i = 0; top->stack != NULL && i < top->stack->depth; i++)
	{
		const PlhStringRecord *name;
		PlhFrame	frame = top->stack->frames[i];

		if (!PLH_FRAME_IS_ROUTINE(frame))
			continue;
		name = plh_profile_image_string(image, PLH_ROUTINE_STRING(frame));
		*line = PLH_ROUTINE_LINE(frame);
		return name != NULL ? name->text : NULL;
	}
	return NULL;
}

/* A stack whose frames are named. */
typedef struct NamedStack
{
	const PlhProfileImage *image;
	const PlhStackRecord *record;
} NamedStack;

/* Write a frame as its module and its address there. */
static void
write_address(char *name, Size room, const PlhModuleRecord *record, uint64 address)
{
	const char *separator = record != NULL ? strrchr(record->path, '/') : NULL;
	const char *file = record == NULL ? "" : separator != NULL ? separator + 1 : record->path;

	snprintf(name, room, "%s%s0x%llx", file, record != NULL ? "+" : "",
			 (unsigned long long) address);
}

/* Returns the exported function of this process that an address is in, or NULL. */
static const char *
exported_function(uintptr_t address)
{
	Dl_info		found;
	Elf64_Sym  *symbol = NULL;

	if (dladdr1((void *) address, &found, (void **) &symbol, RTLD_DL_SYMENT) == 0 ||
		found.dli_sname == NULL || symbol == NULL ||
		address >= (uintptr_t) found.dli_saddr + symbol->st_size)
		return NULL;
	return found.dli_sname;
}

/* Returns the name of the exported function that a frame is in, or NULL. */
static const char *
function_of(PlhFrame frame)
{
	PlhModule  *module;

	if (PLH_FRAME_IS_ROUTINE(frame))
		return NULL;
	module = plh_modules_of_profile(PLH_FRAME_MODULE(frame));
	if (PLH_FRAME_IS_PROBED(frame))
		return PLH_PROBED_FUNCTION;
	return module == NULL ? NULL : exported_function(module->load_bias + PLH_FRAME_ADDRESS(frame));
}

/* Add the frames of all sites that held something then. */
static void
add_frames(PlhSharedAddresses *shared, const PlhProfileImage *image, PlhTopMoment moment)
{
	PlhSiteFacts facts;
	uint32		position = 0;

	while (plh_site_facts_next(&facts, image, NULL, &position))
	{
		int64		bytes = bytes_at(&facts, moment);

		if (bytes > 0)
			plh_shared_addresses_add(shared, (double) bytes, facts.stack);
	}
}

/* The innermost of these functions that has a name, and says something. */
static const char *
name_shared(const PlhSharedFrames *frames, const PlhSharedFrame **found)
{
	const PlhSharedFrame *frame = NULL;

	while ((frame = plh_shared_frames_next(frames, frame)) != NULL)
	{
		const char *name = function_of(*(const PlhFrame *) frame->what);

		*found = frame;
		if (name != NULL &&
			!plh_allocation_wrappers_has(name, PLH_FUNCTION_WRAPPER | PLH_FUNCTION_ENTRY))
			return name;
	}
	return NULL;
}

/*
 * The function that most was allocated in or below: where recursion, or the planner, allocates in
 * hundreds of stacks, the largest of them says little.
 */
bool
plh_top_site_find_function(PlhTopFunction *function, const PlhTopSite *top,
						   const PlhProfileImage *image, PlhTopMoment moment)
{
	PlhSharedAddresses shared;
	const PlhSharedFrame *found = NULL;

	memset(function, 0, sizeof(*function));
	if (!plh_shared_addresses_begin(&shared))
		return false;
	add_frames(&shared, image, moment);
	if (top->bytes < PLH_SHARED_PART * shared.frames.bytes &&
		(function->name = name_shared(&shared.frames, &found)) != NULL)
	{
		function->bytes = (int64) found->bytes;
		function->part = found->bytes / shared.frames.bytes;
	}
	plh_shared_addresses_end(&shared);
	return function->name != NULL;
}

/* PlhFrameKindOf: of a frame of a NamedStack. */
static PlhFrameKind
kind_of_frame(const void *frames, uint32 index)
{
	const NamedStack *stack = frames;

	return plh_allocation_wrappers_kind(function_of(stack->record->frames[index]));
}

/* Add the first function outwards that has a name. */
static void
add_caller(char *name, Size room, const PlhStackRecord *stack, uint32 site)
{
	Size		used = strlen(name);

	for (uint32 i = site + 1; i < stack->depth; i++)
	{
		const char *caller = function_of(stack->frames[i]);

		if (caller == NULL)
			continue;
		snprintf(name + used, room - used, " (called in %s)", caller);
		break;
	}
}

/*
 * Name a site: by the exported function that it is in; or else by its module and its address there,
 * and by a caller that has a name.
 */
const char *
plh_top_site_name(const PlhTopSite *top, const PlhProfileImage *image, char *name, Size room)
{
	const NamedStack stack = {image, top->stack};
	const char *function;
	PlhFrame	frame;
	uint32		site;

	if (stack.record == NULL)
	{
		strlcpy(name, PLH_NO_STACK_NAME, room);
		return name;
	}
	site = plh_allocation_wrappers_call_site(&stack, stack.record->depth, kind_of_frame);
	frame = stack.record->frames[site];
	function = function_of(frame);
	if (function != NULL)
	{
		strlcpy(name, function, room);
		return name;
	}
	write_address(name, room, plh_profile_image_module(image, PLH_FRAME_MODULE(frame)),
				  PLH_FRAME_ADDRESS(frame));
	add_caller(name, room, stack.record, site);
	return name;
}

/*
 * shared_function.c
 *	  The function that most of several stacks was allocated in, or in functions that it calls; and
 *	  which sites have one in common that is to blame.
 *
 * Functions are known by their names here.  One without a name is known by who calls it, as a call
 * leads to one function nearly always: what SQL can call has a name in any binary.
 */
#include "postgres.h"

#include "profile/shared_frames.h"
#include "profile/site_facts.h"
#include "reader/collections.h"
#include "reader/database_text.h"
#include "report/blamed_code.h"
#include "report/listed_site.h"
#include "report/node_memory.h"
#include "report/shared_function.h"
#include "stack/allocation_wrappers.h"

/* The most stacks that are looked at, the largest; and room for their functions. */
#define MOST_STACKS 1000
#define FUNCTIONS 8192

/* A stack, and what its frames are known by. */
typedef struct NamedStack
{
	PlhStackText text;
	int64		bytes;
	uint64	   *ids;			/* of each frame; 0: it says nothing */
} NamedStack;

/* Does a frame say nothing, as all stacks of its kind have it, or nobody knows what it is? */
static bool
says_nothing(const PlhFrameText *frame)
{
	if (frame->language != PLH_LANGUAGE_NONE)
		return false;
	return frame->text[0] == '[' || frame->module == NULL ||
		plh_allocation_wrappers_has(frame->function, PLH_FUNCTION_WRAPPER | PLH_FUNCTION_ENTRY) ||
		plh_blamed_code_language(plh_stack_text_base_name(frame->module)) != NULL;
}

/* What the function of a frame is known by; never 0. */
static uint64
id_of(const PlhStackText *stack, int index)
{
	const PlhFrameText *frame = &stack->frames[index];
	uint64		id = plh_text_hash(frame->module, 1);

	if (frame->function != NULL)
		id = plh_text_hash(frame->function, id);
	else
		id = plh_text_hash(index + 1 < stack->frame_count ? stack->frames[index + 1].text : NULL,
						   id + 1);
	return Max(id, 1);
}

static void
describe(NamedStack *stack, const PlhShare *share, const PlhProfileImage *image,
		 PlhStackTexts *texts)
{
	PlhSiteFacts facts;
	PlhListedSite listed;

	plh_site_facts_resolve(&facts, image, share->site, NULL);
	plh_listed_site_start(&listed, image, &facts);
	plh_listed_site_describe_stack(&listed, texts);
	stack->text = listed.stack;
	stack->bytes = share->bytes;
	stack->ids = palloc0(sizeof(uint64) * listed.stack.frame_count);
	for (int i = listed.stack.site_frame; i < listed.stack.frame_count; i++)
		if (!says_nothing(&listed.stack.frames[i]))
			stack->ids[i] = id_of(&listed.stack, i);
}

static NamedStack *
describe_all(const PlhShare *shares, int count, const PlhProfileImage *image,
			 PlhStackTexts *texts)
{
	NamedStack *stacks = palloc_extended(sizeof(NamedStack) * Max(count, 1), MCXT_ALLOC_HUGE);

	for (int i = 0; i < count; i++)
		describe(&stacks[i], &shares[i], image, texts);
	return stacks;
}

static bool
has_function(const NamedStack *stack, uint64 id)
{
	for (int i = 0; i < stack->text.frame_count; i++)
		if (stack->ids[i] == id)
			return true;
	return false;
}

static void
add_stack(PlhSharedFrames *frames, const NamedStack *stack)
{
	plh_shared_frames_begin_stack(frames, (double) stack->bytes);
	for (int i = stack->text.site_frame; i < stack->text.frame_count; i++)
		if (stack->ids[i] != 0)
			plh_shared_frames_add(frames, stack->ids[i], &stack->text.frames[i]);
		else
			plh_shared_frames_skip(frames);
}

/* Count the call sites that lead through a function, and see whether its line is one. */
static void
count_places(PlhSharedFunction *shared, const NamedStack *stacks, int count, uint64 id)
{
	HTAB	   *places = plh_hash_table("pg_leakhunt places", sizeof(uint64), sizeof(uint64));

	for (int i = 0; i < count; i++)
	{
		const PlhFrameText *site = &stacks[i].text.frames[stacks[i].text.site_frame];
		uint64		place = plh_text_hash(site->text, 1);
		bool		found;

		if (!has_function(&stacks[i], id))
			continue;
		hash_search(places, &place, HASH_ENTER, &found);
		shared->places += !found;
	}
	hash_destroy(places);
}

/*
 * The innermost function with a name that is shared.  A call site without one is all that there is
 * to say, if most have it.
 */
static const PlhSharedFrame *
find_named(const PlhSharedFrames *frames)
{
	const PlhSharedFrame *frame = NULL;

	while ((frame = plh_shared_frames_next(frames, frame)) != NULL)
		if (((const PlhFrameText *) frame->what)->function != NULL ||
			plh_shared_frames_is_site(frames, frame))
			return frame;
	return NULL;
}

/* Find the function of stacks, which are the largest, and hold a part of "all". */
static bool
find_in(PlhSharedFunction *shared, const NamedStack *stacks, int count, double all)
{
	PlhSharedFrames frames;
	const PlhSharedFrame *frame;
	const PlhFrameText *text;

	plh_shared_frames_begin(&frames, palloc0(sizeof(PlhSharedFrame) * FUNCTIONS), FUNCTIONS);
	for (int i = 0; i < count; i++)
		add_stack(&frames, &stacks[i]);
	frames.bytes = Max(frames.bytes, all);
	frame = find_named(&frames);
	if (frame == NULL)
	{
		pfree(frames.places);
		return false;
	}
	text = frame->what;
	memset(shared, 0, sizeof(*shared));
	shared->is_site = plh_shared_frames_is_site(&frames, frame);
	shared->bytes = (int64) frame->bytes;
	shared->all = (int64) Max(1.0, frames.bytes);
	shared->ways = frame->stacks;
	count_places(shared, stacks, count, frame->id);
	shared->function = plh_stack_text_function_name(text);
	shared->site = shared->is_site && shared->places == 1 ? text->text : shared->function;
	pfree(frames.places);
	return true;
}

/* Sites, with what each has. */
typedef struct SiteList
{
	PlhShare   *shares;
	int			count;
	int			room;
	double		bytes;			/* of all */
} SiteList;

static void
add_site(SiteList *list, const PlhSiteRecord *site, int64 bytes)
{
	if (bytes <= 0)
		return;
	list->shares = plh_array_grow(list->shares, list->count, &list->room, sizeof(PlhShare));
	list->shares[list->count++] = (PlhShare)
	{
		site, bytes
	};
	list->bytes += (double) bytes;
}

static SiteList
start_list(void)
{
	SiteList	list = {.room = 64};

	list.shares = palloc(sizeof(PlhShare) * list.room);
	return list;
}

/* qsort comparator: by stack. */
static int
compare_stacks(const void *a, const void *b)
{
	uint32		left = ((const PlhShare *) a)->site->key.stack;
	uint32		right = ((const PlhShare *) b)->site->key.stack;

	return left < right ? -1 : left > right;
}

/* Add up sites that differ in their statement or context only: they are one way to a function. */
static void
join_stacks(SiteList *list)
{
	int			count = 0;

	qsort(list->shares, list->count, sizeof(PlhShare), compare_stacks);
	for (int i = 0; i < list->count; i++)
		if (count > 0 && compare_stacks(&list->shares[count - 1], &list->shares[i]) == 0)
			list->shares[count - 1].bytes += list->shares[i].bytes;
		else
			list->shares[count++] = list->shares[i];
	list->count = count;
}

/* Find the function of at least two stacks. */
static bool
find_in_list(PlhSharedFunction *shared, SiteList *list, const PlhProfileImage *image,
			 PlhStackTexts *texts)
{
	int			count;

	join_stacks(list);
	count = Min(list->count, MOST_STACKS);
	qsort(list->shares, list->count, sizeof(PlhShare), plh_site_facts_compare_shares);
	if (list->count < 2 ||
		!find_in(shared, describe_all(list->shares, count, image, texts), count, list->bytes))
		return false;
	shared->has_more = list->count > count;
	return true;
}

bool
plh_shared_function_find(PlhSharedFunction *shared, const PlhShare *shares, int count,
						 const PlhProfileImage *image, PlhStackTexts *texts)
{
	SiteList	list = start_list();

	for (int i = 0; i < count; i++)
		add_site(&list, shares[i].site, shares[i].bytes);
	return find_in_list(shared, &list, image, texts);
}

bool
plh_shared_function_of_peak(PlhSharedFunction *shared, const PlhProfileImage *image,
							PlhStackTexts *texts)
{
	SiteList	list = start_list();
	uint32		position = 0;
	PlhSiteFacts facts;

	while (plh_site_facts_next(&facts, image, NULL, &position))
		add_site(&list, facts.site, facts.peak_bytes);
	return find_in_list(shared, &list, image, texts);
}

const char *
plh_shared_function_of_statement(const PlhListedStatement *listed, const PlhProfileImage *image,
								 PlhStackTexts *texts, int *percent)
{
	const PlhStackRecord *chain = plh_profile_image_stack(image, listed->shared);
	PlhStackText text;

	if (chain == NULL)
		return NULL;
	plh_stack_text_describe(texts, chain, &text);
	for (int i = text.site_frame; i < text.frame_count; i++)
	{
		const PlhFrameText *frame = &text.frames[i];

		if (frame->function == NULL || says_nothing(frame))
			continue;
		*percent = listed->entry.shared.percents[frame->address_index];
		return plh_stack_text_function_name(frame);
	}
	return NULL;
}

/* Leave in a stack the functions of an extension that may be to blame; else its call site only. */
static const char *
keep_blamed(NamedStack *stack)
{
	const char *library = plh_blamed_code_find(&stack->text).library;

	for (int i = 0; i < stack->text.frame_count; i++)
	{
		const char *frame_library = plh_blamed_code_extension(&stack->text, i);

		if (library == NULL ? i > stack->text.site_frame :
			frame_library == NULL || strcmp(frame_library, library) != 0)
			stack->ids[i] = 0;
	}
	return library;
}

/* Sites that become causes, the stacks of these, and the libraries to blame. */
typedef struct Grouping
{
	const PlhShare *sites;
	NamedStack *stacks;
	const char **libraries;
	bool	   *asked;			/* its library was looked at */
	uint32	   *causes;			/* of each; 0: none so far */
	int			count;
	uint32		numbers;		/* of causes so far */
} Grouping;

/* Is a site still without a cause, of the library of another one, and as long-lived? */
static bool
is_left(const Grouping *grouping, int first, int index)
{
	return grouping->causes[index] == 0 &&
		grouping->sites[index].site->key.lifetime == grouping->sites[first].site->key.lifetime &&
		plh_texts_are_same(grouping->libraries[index], grouping->libraries[first]);
}

/*
 * Make one cause of those of a library that have its innermost shared function.  Returns false
 * where there is none.
 */
static bool
find_shared(Grouping *grouping, PlhSharedFrame *places, int first)
{
	PlhSharedFrames frames;
	const PlhSharedFrame *frame;

	memset(places, 0, sizeof(PlhSharedFrame) * FUNCTIONS);
	plh_shared_frames_begin(&frames, places, FUNCTIONS);
	for (int i = first; i < grouping->count; i++)
		if (is_left(grouping, first, i))
			add_stack(&frames, &grouping->stacks[i]);
	frame = plh_shared_frames_next(&frames, NULL);
	if (frame == NULL || frame->stacks < 2)
		return false;
	grouping->numbers++;
	for (int i = first; i < grouping->count; i++)
		if (is_left(grouping, first, i) && has_function(&grouping->stacks[i], frame->id))
			grouping->causes[i] = grouping->numbers;
	return true;
}

/* Find the causes of each library.  Each has four fifths of what is left, so these are few. */
static void
find_by_library(Grouping *grouping)
{
	PlhSharedFrame *places = palloc(sizeof(PlhSharedFrame) * FUNCTIONS);

	for (int first = 0; first < grouping->count; first++)
	{
		if (grouping->libraries[first] == NULL || grouping->asked[first])
			continue;
		for (int i = first; i < grouping->count; i++)
			grouping->asked[i] = grouping->asked[i] || is_left(grouping, first, i);
		while (find_shared(grouping, places, first))
			;
	}
	pfree(places);
}

/* Is it to be told which function a call site lies in? */
static bool
has_named_site(const NamedStack *stack)
{
	return stack->text.frame_count > 0 && stack->ids[stack->text.site_frame] != 0 &&
		stack->text.frames[stack->text.site_frame].function != NULL;
}

/* Make one cause of those that have their call site in one function. */
static void
find_by_call_site(Grouping *grouping, int first)
{
	const NamedStack *lead = &grouping->stacks[first];

	if (!has_named_site(lead))
		return;
	grouping->numbers++;
	for (int i = first; i < grouping->count; i++)
	{
		const NamedStack *stack = &grouping->stacks[i];

		if (grouping->causes[i] == 0 && has_named_site(stack) &&
			stack->ids[stack->text.site_frame] == lead->ids[lead->text.site_frame])
			grouping->causes[i] = grouping->numbers;
	}
}

/* Give those of one cause the same number. */
static void
find_causes(NamedStack *stacks, const PlhShare *sites, int count, uint32 *causes)
{
	Grouping	grouping = {
		.sites = sites,.stacks = stacks,.causes = causes,.count = count,
		.libraries = palloc(sizeof(char *) * count),.asked = palloc0(sizeof(bool) * count)
	};

	memset(causes, 0, sizeof(uint32) * count);
	for (int i = 0; i < count; i++)
		grouping.libraries[i] = keep_blamed(&stacks[i]);
	find_by_library(&grouping);
	for (int i = 0; i < count; i++)
		if (causes[i] == 0)
			find_by_call_site(&grouping, i);
	pfree(grouping.asked);
	pfree(grouping.libraries);
}

static NamedStack *
describe_named(PlhNamedCauses *named, const PlhShare *sites, int count)
{
	if (named->texts == NULL)
		named->texts = plh_stack_text_open(named->symbols, named->image);
	return describe_all(sites, count, named->image, named->texts);
}

void
plh_shared_function_causes(void *arg, const PlhShare *sites, int count, uint32 *causes)
{
	NamedStack *stacks = describe_named(arg, sites, count);

	find_causes(stacks, sites, count, causes);
	pfree(stacks);
}

void
plh_shared_function_numbers(PlhNamedCauses *named, const PlhShare *sites, int count,
							uint32 *functions, PlhStackText *stacks)
{
	NamedStack *own = describe_named(named, sites, count);

	for (int i = 0; i < count; i++)
	{
		stacks[i] = own[i].text;
		own[i].text.frame_count = plh_node_memory_own_frames(&stacks[i]);
	}
	find_causes(own, sites, count, functions);
	pfree(own);
}

/*
 * pprof_samples.c
 *	  The samples of a profile for pprof: sites of a list with the same stack and labels are one.
 *
 * Addresses are the made-up ones of dumps, which are the same for the same module everywhere, so
 * that profiles of different processes can be compared.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/hash_seed.h"
#include "dump/dump_addresses.h"
#include "pprof/pprof_samples.h"
#include "profile/profile_image.h"
#include "reader/collections.h"
#include "reader/site_owner.h"
#include "report/text_numbers.h"

const PlhPprofValueType plh_pprof_value_types[] = {
	{"alloc_objects", "count", PLH_PPROF_ALLOC},
	{"alloc_space", "bytes", PLH_PPROF_ALLOC},
	{"inuse_objects", "count", PLH_PPROF_INUSE},
	{"inuse_space", "bytes", PLH_PPROF_INUSE},
	{"peak_space", "bytes", PLH_PPROF_PEAK}
};

const char *
plh_pprof_samples_type_name(int number)
{
	static const char *const names[] = {"alloc", "inuse", "peak", NULL};

	return names[number];
}

PlhPprofValue
plh_pprof_samples_first_value(int types)
{
	return types & PLH_PPROF_INUSE ? PLH_PPROF_INUSE_SPACE :
		types & PLH_PPROF_PEAK ? PLH_PPROF_PEAK_SPACE : PLH_PPROF_ALLOC_SPACE;
}

/* In the order of PlhPprofLabel. */
static const struct
{
	const char *name;
	int			owner_part;
}			labels[] = {
	{"memory_context", 0},
	{"backend_type", PLH_OWNER_BACKEND_TYPE},
	{"lifetime", 0},
	{"query_id", 0},
	{"pid", PLH_OWNER_PID},
	{"database", PLH_OWNER_DATABASE},
	{"user", PLH_OWNER_USER},
	{"application", PLH_OWNER_APPLICATION},
	{NULL, 0}
};

const char *
plh_pprof_samples_label_name(int label)
{
	return labels[label].name;
}

int
plh_pprof_samples_label_owner_part(PlhPprofLabel label)
{
	return labels[label].owner_part;
}

static const char *
number_text(int64 number)
{
	return number == 0 ? NULL : psprintf("%lld", (long long) number);
}

/* The text of a label; NULL if the site has no such label. */
static const char *
label_text(PlhPprofLabel label, const PlhListedSite *listed)
{
	static const PlhSiteOwner nobody = {0};
	const PlhSiteOwner *owner = listed->owner != NULL ? listed->owner : &nobody;

	switch (label)
	{
		case PLH_PPROF_MEMORY_CONTEXT:
			return listed->context_name;
		case PLH_PPROF_BACKEND_TYPE:
			return owner->backend_type;
		case PLH_PPROF_LIFETIME:
			return listed->lifetime;
		case PLH_PPROF_QUERY_ID:
			return number_text(listed->query_id);
		case PLH_PPROF_PID:
			return number_text(owner->pid);
		case PLH_PPROF_DATABASE:
			return owner->database;
		case PLH_PPROF_USER:
			return owner->user;
		case PLH_PPROF_APPLICATION:
			return owner->application;
	}
	return NULL;
}

/* A stack that is told from others by its locations. */
typedef struct KeptStack
{
	const PlhPprofStack *stack; /* key */
	uint32		hash;			/* of its locations, for simplehash.h */
	char		status;			/* for simplehash.h */
} KeptStack;

static inline bool
is_same_stack(const PlhPprofStack *left, const PlhPprofStack *right)
{
	return left->depth == right->depth &&
		memcmp(left->locations, right->locations, sizeof(uint32) * left->depth) == 0;
}

#define SH_PREFIX kept_stacks
#define SH_ELEMENT_TYPE KeptStack
#define SH_KEY_TYPE const PlhPprofStack *
#define SH_KEY stack
#define SH_HASH_KEY(table, key) \
	hash_bytes_extended((const unsigned char *) (key)->locations, \
						sizeof(uint32) * (key)->depth, \
						(uintptr_t) (table)->private_data)
#define SH_EQUAL(table, a, b) is_same_stack(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, element) (element)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* A description that many sites may share, and the stack that was made of it. */
typedef struct DescribedStack
{
	const PlhFrameText *frames; /* key */
	const PlhPprofStack *stack;
} DescribedStack;

typedef struct Making
{
	PlhPprofSamples *result;
	const PlhPprofOptions *options;
	MemoryContext memory;		/* of the result */
	MemoryContext scratch;		/* of what one site needs */
	PlhPlacement *placement;	/* addresses of the image that was last met */
	int			location_room;
	PlhTextNumbers *locations;	/* by address and name */
	PlhTextNumbers *labels;
	kept_stacks_hash *stacks;
	HTAB	   *described;		/* DescribedStack */
	HTAB	   *samples;		/* PlhPprofSample */
} Making;

/* Fill in where a location is: nowhere, if the site's stack has no such address. */
static void
place_location(Making *making, PlhPprofLocation *location,
			   const PlhListedSite *listed, uint32 address_index)
{
	const PlhStackRecord *stack = listed->facts.stack;
	PlhFrame	frame;

	if (!listed->has_stack || address_index >= stack->depth)
		return;
	frame = stack->frames[address_index];
	if (PLH_FRAME_IS_ROUTINE(frame))
		return;
	location->address = plh_dump_addresses_of(making->placement, frame);
	location->module = plh_profile_image_module(listed->image, PLH_FRAME_MODULE(frame));
	if (location->module != NULL)
		location->text_start =
			plh_dump_addresses_of(making->placement, PLH_FRAME(PLH_FRAME_MODULE(frame),
															   location->module->text_address));
}

/*
 * Returns the index of a location.  It is told from others by its address, and by the name of its
 * first function, as dumps may know different ones.  What is in no module keeps its name in any
 * case, as nobody could find it later.
 */
static uint32
location_index(Making *making, const PlhListedSite *listed,
			   const PlhFrameText *frames, int frame_count)
{
	PlhPprofSamples *result = making->result;
	PlhPprofLocation location = {0};
	uint32		index;
	bool		is_new;

	place_location(making, &location, listed, frames->address_index);
	if (making->options->symbolize || location.module == NULL)
	{
		location.frames = frames;
		location.frame_count = frame_count;
	}
	index = plh_text_numbers_add(making->locations, psprintf("%llx %s",
															 (unsigned long long) location.address,
															 location.frame_count > 0 ?
															 frames->text : ""),
								 &is_new)->number;
	if (!is_new)
		return index;
	result->locations = plh_array_grow(result->locations, index, &making->location_room,
									   sizeof(PlhPprofLocation));
	result->locations[index] = location;
	result->location_count = index + 1;
	return index;
}

/*
 * The first frame that counts.  Without helpers it is the call site; all functions at its address
 * count where they are not told apart.
 */
static int
first_frame(const Making *making, const PlhStackText *text)
{
	int			first = making->options->helpers ? 0 : text->site_frame;

	while (!making->options->symbolize && first > 0 &&
		   text->frames[first - 1].address_index ==
		   text->frames[first].address_index)
		first--;
	return first;
}

/* Make a stack of a description, in the current memory context. */
static PlhPprofStack *
make_stack(Making *making, const PlhListedSite *listed)
{
	static const PlhFrameText nothing = {.text = PLH_NO_STACK_NAME,.address_index = PG_UINT32_MAX};
	const PlhStackText *text = &listed->stack;
	PlhPprofStack *stack = palloc(offsetof(PlhPprofStack, locations) +
								  sizeof(uint32) * (text->frame_count + 1));
	int			count;

	stack->depth = 0;
	for (int i = first_frame(making, text); i < text->frame_count; i += count)
	{
		const PlhFrameText *frames = &text->frames[i];

		/* a dump may call any frame inlined: only the address tells */
		CHECK_FOR_INTERRUPTS();
		for (count = 1; i + count < text->frame_count; count++)
			if (frames[count].address_index != frames->address_index)
				break;
		stack->locations[stack->depth++] = location_index(making, listed, frames, count);
	}
	if (stack->depth == 0)
		stack->locations[stack->depth++] = location_index(making, listed, &nothing, 1);
	return stack;
}

static const PlhPprofStack *
keep_stack(Making *making, const PlhPprofStack *stack)
{
	Size		bytes = offsetof(PlhPprofStack, locations) + sizeof(uint32) * stack->depth;
	PlhPprofStack *copy;
	bool		found;
	KeptStack  *kept = kept_stacks_insert(making->stacks, stack, &found);

	if (found)
		return kept->stack;
	copy = MemoryContextAlloc(making->memory, bytes);
	memcpy(copy, stack, bytes);
	kept->stack = copy;
	return copy;
}

static const PlhPprofStack *
stack_of(Making *making, const PlhListedSite *listed)
{
	bool		found;
	DescribedStack *described = hash_search(making->described, &listed->stack.frames, HASH_ENTER,
											&found);

	if (!found)
		described->stack = keep_stack(making, make_stack(making, listed));
	return described->stack;
}

/* Fill in the labels that are asked for; an empty one is none. */
static void
fill_labels(Making *making, PlhPprofSampleKey *key, const PlhListedSite *listed)
{
	for (PlhPprofLabel label = 0; label < PLH_PPROF_LABELS; label++)
	{
		const char *text = NULL;
		bool		is_new;

		if (making->options->labels & 1 << label)
			text = label_text(label, listed);
		if (text != NULL && text[0] != '\0')
			key->labels[label] = plh_text_numbers_add(making->labels, text, &is_new)->text;
	}
}

static void
add_values(const Making *making, int64 *values, const PlhListedSite *listed)
{
	const PlhCounters *counters = listed->facts.counters;
	int64		added[PLH_PPROF_VALUES] = {
		counters->total_count, counters->total_bytes,
		plh_listed_site_count(listed), plh_listed_site_bytes(listed),
		listed->facts.peak_bytes
	};

	for (int i = 0; i < PLH_PPROF_VALUES; i++)
		if (making->options->types & plh_pprof_value_types[i].type)
			values[i] += added[i];
}

static void
add_site(Making *making, const PlhListedSite *listed, int order)
{
	PlhPprofSampleKey key;
	PlhPprofSample *sample;
	bool		found;

	if (making->placement->image != listed->image)
		plh_dump_addresses_place(making->placement, listed->image);
	memset(&key, 0, sizeof(key));
	key.stack = stack_of(making, listed);
	fill_labels(making, &key, listed);
	sample = hash_search(making->samples, &key, HASH_ENTER, &found);
	if (!found)
	{
		memset(sample->values, 0, sizeof(sample->values));
		sample->order = order;
	}
	add_values(making, sample->values, listed);
}

bool
plh_pprof_samples_have_value(const int64 *values)
{
	for (int i = 0; i < PLH_PPROF_VALUES; i++)
		if (values[i] != 0)
			return true;
	return false;
}

/* The size of a value, whether it has grown or shrunk. */
static uint64
size_of(int64 value)
{
	return value < 0 ? -(uint64) value : (uint64) value;
}

/* qsort_arg comparator: the largest first, then in the order of the list. */
static int
compare_samples(const void *a, const void *b, void *arg)
{
	const PlhPprofSample *left = *(PlhPprofSample *const *) a;
	const PlhPprofSample *right = *(PlhPprofSample *const *) b;
	PlhPprofValue first = *(const PlhPprofValue *) arg;
	uint64		left_size = size_of(left->values[first]);
	uint64		right_size = size_of(right->values[first]);

	if (left_size != right_size)
		return left_size < right_size ? 1 : -1;
	return left->order < right->order ? -1 : 1;
}

static void
collect_samples(Making *making)
{
	PlhPprofSamples *result = making->result;
	PlhPprofValue first = plh_pprof_samples_first_value(making->options->types);
	HASH_SEQ_STATUS status;
	PlhPprofSample *sample;

	result->samples = palloc_extended(sizeof(PlhPprofSample *) *
									  (hash_get_num_entries(making->samples) + 1),
									  MCXT_ALLOC_HUGE);
	hash_seq_init(&status, making->samples);
	while ((sample = hash_seq_search(&status)) != NULL)
		if (plh_pprof_samples_have_value(sample->values))
			result->samples[result->count++] = sample;
	qsort_arg(result->samples, result->count, sizeof(PlhPprofSample *), compare_samples, &first);
}

static void
begin_making(Making *making, const PlhPprofOptions *options)
{
	memset(making, 0, sizeof(*making));
	making->result = palloc0(sizeof(PlhPprofSamples));
	making->options = options;
	making->memory = CurrentMemoryContext;
	making->scratch = AllocSetContextCreate(CurrentMemoryContext, "pg_leakhunt pprof site",
											ALLOCSET_DEFAULT_SIZES);
	making->placement = palloc0(sizeof(PlhPlacement));
	making->location_room = 1024;
	making->result->locations = palloc(sizeof(PlhPprofLocation) * making->location_room);
	making->locations = plh_text_numbers_make();
	making->labels = plh_text_numbers_make();
	making->stacks = kept_stacks_create(CurrentMemoryContext, 1024,
										(void *) (uintptr_t) plh_hash_seed_draw());
	making->described = plh_hash_table("pg_leakhunt described stacks", sizeof(const PlhFrameText *),
									   sizeof(DescribedStack));
	making->samples = plh_hash_table("pg_leakhunt samples", sizeof(PlhPprofSampleKey),
									 sizeof(PlhPprofSample));
}

const PlhPprofSamples *
plh_pprof_samples_make(const PlhSiteList *list, const PlhPprofOptions *options)
{
	Making		making;

	begin_making(&making, options);
	for (int i = 0; i < list->count; i++)
	{
		MemoryContext caller_context = MemoryContextSwitchTo(making.scratch);

		CHECK_FOR_INTERRUPTS();
		add_site(&making, &list->sites[i], i);
		MemoryContextSwitchTo(caller_context);
		MemoryContextReset(making.scratch);
	}
	MemoryContextDelete(making.scratch);
	collect_samples(&making);
	return making.result;
}

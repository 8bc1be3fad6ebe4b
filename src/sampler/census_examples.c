/*
 * census_examples.c
 *	  What the memory contexts of a name are of: a few examples of those that have most, which a
 *	  census keeps.
 *
 * This code runs inside palloc.
 *
 * To read what a context is of takes longer than to count it.  So contexts of a name are looked at
 * only when they are many or large, when their number or their bytes have changed by an eighth
 * since the last look, or at all in LOOK_GAP_US; only those of a few names in one census, and of
 * many contexts only a part.  That part is chosen by a hash of their addresses, which has nothing
 * to do with what they are of.
 *
 * What PostgreSQL notes of a context beside its name is a pointer that nobody checks, and contexts
 * of extensions may have one to what is gone.  So only those are read that the server and its
 * procedural languages set, of which it is known what they are and that they live as long as the
 * context.
 *
 * While a census walks over contexts, none of them goes, and no note of what one is of changes.
 * Texts are kept at its end, of the few that have most.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"
#include "profile/statement_shape.h"
#include "profile/statement_text.h"
#include "sampler/census_examples.h"

/* What contexts of a name have as their note, which is valid only while its context lives. */
typedef enum IdentKind
{
	IDENT_NONE,					/* nothing known, or what the name says */
	IDENT_NAME,					/* of an object */
	IDENT_STATEMENT,
	IDENT_OF_PARENT				/* the parent has that of a statement */
} IdentKind;

#define STATEMENT_CONTEXT "CachedPlanSource"

typedef struct KnownContext
{
	const char *name;
	IdentKind	kind;
} KnownContext;

static const KnownContext known_contexts[] = {
	{STATEMENT_CONTEXT, IDENT_STATEMENT},
	{"CachedPlan", IDENT_STATEMENT}, {"CachedPlanQuery", IDENT_OF_PARENT},
	{"index info", IDENT_NAME}, {"relation rules", IDENT_NAME},
	{"partition key", IDENT_NAME}, {"partition descriptor", IDENT_NAME},
	{"row security descriptor", IDENT_NAME}, {"PL/pgSQL function", IDENT_NAME},
	{"SQL function", IDENT_NAME}, {"PL/Perl function", IDENT_NAME},
	{"PL/Python function", IDENT_NAME}, {"PL/Tcl function", IDENT_NAME},
	{"PortalContext", IDENT_NAME}, {"TS dictionary", IDENT_NAME}
};

/*
 * Which notes have most bytes is found in little memory, by the scheme that is known as
 * space-saving.  There are a few places.  A note without one takes that of the note that has least,
 * and may have had as much before.  So what a place has counted is never too much; and whatever has
 * more than its part of all bytes has a place.
 */
#define HEAVY_PLACES 16

typedef struct HeavyHitter
{
	uint64		key;			/* tells the note from others */
	const void *first;			/* the context that came with it first */
	int64		count;			/* how often it came since it has this place */
	int64		bytes;			/* of these */
	int64		missed_bytes;	/* that it may have had before; 0: none */
	bool		varies;			/* not all have the same text */
} HeavyHitter;

typedef struct HeavyHitters
{
	int			used;			/* places, from the first on */
	HeavyHitter places[HEAVY_PLACES];
} HeavyHitters;

/* Fewer contexts that also have less are not looked at: each session has some. */
#define LEAST_CONTEXTS 100
#define LEAST_BYTES ((int64) 256 * 1024)

/* A change by this part of what there was is worth another look. */
#define CHANGED_PART 8
#define LOOK_GAP_US ((int64) 5 * 1000 * 1000)

/*
 * The most contexts of a name that are looked at, and the most names in one census.  A look takes
 * about 1 us, and 2 us at a long statement.
 */
#define MOST_LOOKS 512
#define MOST_NAMES 3
#define MOST_NAMES_BRIEF 1

/* Of a part of the contexts, fewer than these say nothing on how many there are. */
#define LEAST_LOOKS 16

/* What is found out about the contexts of one record. */
typedef struct Look
{
	PlhContextRecord *record;
	IdentKind	kind;
	int			shift;			/* one in 2^shift contexts is looked at */
	int			looks;			/* so far; -1: there were too many */
	HeavyHitters hitters;		/* their notes */
} Look;

/* What one census knows. */
typedef struct CensusLooks
{
	int			most_names;
	int			names;			/* that are looked at in this census */
	int64		now_us;			/* by the monotonic clock */
	Look		looks[MOST_NAMES];
} CensusLooks;

/* Each census begins it anew. */
static PLH_SURVIVES_FORK PLH_LARGE CensusLooks state;

/* Is the note the text of a statement, which the setting track_queries is about? */
static inline bool
is_statement(IdentKind kind)
{
	return kind >= IDENT_STATEMENT;
}

static IdentKind
ident_kind(MemoryContext context)
{
	for (int i = 0; i < lengthof(known_contexts); i++)
	{
		if (strcmp(known_contexts[i].name, context->name) == 0)
			return known_contexts[i].kind;
	}
	return IDENT_NONE;
}

/* The context whose note tells what a context is of; NULL if there is none. */
static MemoryContext
ident_source(MemoryContext context, IdentKind kind)
{
	MemoryContext source = kind == IDENT_OF_PARENT ? context->parent : context;

	if (source != context && (source == NULL || strcmp(source->name, STATEMENT_CONTEXT) != 0))
		return NULL;
	return source->ident == NULL ? NULL : source;
}

/* Let one digit stand for each number.  Returns the new length. */
static Size
join_digits(char *to, const char *text, Size length)
{
	char	   *end = to;

	for (Size i = 0; i < length; i++)
	{
		bool		is_digit = text[i] >= '0' && text[i] <= '9';

		if (!is_digit)
			*end++ = text[i];
		else if (end == to || end[-1] != '0')
			*end++ = '0';
	}
	return end - to;
}

/* The same for notes that differ in literals and digits only. */
static uint64
ident_key(const char *ident, IdentKind kind)
{
	Size		length = strnlen(ident, PLH_STATEMENT_MAX);
	PlhStatementShape shape;

	if (is_statement(kind))
	{
		plh_statement_shape_of(&shape, ident, length);
		length = join_digits(shape.text, shape.text, shape.length);
	}
	else
		length = join_digits(shape.text, ident, length);
	return hash_bytes_extended((const unsigned char *) shape.text, length,
							   plh_profile_records_seed);
}

/*
 * Copies what may be kept of a note, up to PLH_EXAMPLE_MAX, and a NUL; "kept" has room for
 * PLH_STATEMENT_MAX + 1.  Returns its length.
 */
static Size
keep_ident(char *kept, const char *ident, IdentKind kind)
{
	Size		length = strnlen(ident, PLH_STATEMENT_MAX);

	if (is_statement(kind))
		length = plh_statement_text_keep_bare(kept, ident, length);
	else
		memcpy(kept, ident, length);
	length = Min(length, PLH_EXAMPLE_MAX);
	kept[length] = '\0';
	return length;
}

/* The most that the note at a place can have. */
static inline int64
most_bytes(const HeavyHitter *place)
{
	return place->bytes + place->missed_bytes;
}

/* The place of a note; without one, it gets a free one, or that of the one that has least. */
static HeavyHitter *
place_of_note(HeavyHitters *hitters, uint64 key, const void *first)
{
	HeavyHitter *least = &hitters->places[0];
	bool		is_full = hitters->used == HEAVY_PLACES;

	for (int i = 0; i < hitters->used; i++)
	{
		HeavyHitter *place = &hitters->places[i];

		if (place->key == key)
			return place;
		if (most_bytes(place) < most_bytes(least))
			least = place;
	}
	if (!is_full)
		least = &hitters->places[hitters->used++];
	*least = (HeavyHitter)
	{
		.key = key,.first = first,.missed_bytes = is_full ? most_bytes(least) : 0
	};
	return least;
}

/* Zeros are a valid beginning.  The place that is returned has counted the thing. */
static HeavyHitter *
add_hit(HeavyHitters *hitters, uint64 key, const void *first, int64 bytes)
{
	HeavyHitter *place = place_of_note(hitters, key, first);

	place->count++;
	place->bytes += bytes;
	return place;
}

/* Bring the places into order: first what has surely most bytes. */
static void
sort_hitters(HeavyHitters *hitters)
{
	for (int i = 1; i < hitters->used; i++)
	{
		HeavyHitter moved = hitters->places[i];
		int			to = i;

		for (; to > 0 && hitters->places[to - 1].bytes < moved.bytes; to--)
			hitters->places[to] = hitters->places[to - 1];
		hitters->places[to] = moved;
	}
}

void
plh_census_examples_start(bool brief)
{
	state.most_names = brief ? MOST_NAMES_BRIEF : MOST_NAMES;
	state.names = 0;
	state.now_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);
}

static bool
has_changed(int64 before, int64 now)
{
	return labs(now - before) > before / CHANGED_PART;
}

/* Are the contexts of a record worth a look, by what the last census has counted? */
static bool
is_worth_a_look(const PlhContextRecord *record)
{
	if (record->instances < LEAST_CONTEXTS && record->bytes < LEAST_BYTES)
		return false;
	if (has_changed(record->looked_contexts, record->instances) ||
		has_changed(record->looked_bytes, record->bytes))
		return true;
	return (record->looked_contexts != record->instances ||
			record->looked_bytes != record->bytes) &&
		state.now_us - record->looked_us > LOOK_GAP_US;
}

uint32
plh_census_examples_begin(PlhContextRecord *record, MemoryContext context)
{
	IdentKind	kind;
	Look	   *look;

	if (!is_worth_a_look(record) || state.names >= state.most_names)
		return 0;
	kind = ident_kind(context);
	if (kind == IDENT_NONE || (is_statement(kind) && !plh_track_queries))
		return 0;
	look = &state.looks[state.names++];
	look->record = record;
	look->kind = kind;
	look->looks = look->hitters.used = look->shift = 0;
	while (record->instances >> look->shift > MOST_LOOKS)
		look->shift++;
	return state.names;
}

/* Count a context, and whether its note differs from that which it is counted with. */
static void
add(Look *look, MemoryContext source, int64 bytes)
{
	uint64		key = ident_key(source->ident, look->kind);
	HeavyHitter *hitter = add_hit(&look->hitters, key, source, bytes);
	const MemoryContextData *first = hitter->first;

	if (!hitter->varies && first != source)
		hitter->varies = strncmp(source->ident, first->ident, PLH_STATEMENT_MAX) != 0;
}

void
plh_census_examples_look(const PlhContextRecord *record, MemoryContext context, int64 bytes)
{
	Look	   *look = &state.looks[record->looks - 1];
	uint32		hash = murmurhash32((uint32) ((uintptr_t) context >> 4));
	MemoryContext source;

	/* is it among those that are looked at? */
	if (look->looks < 0 || (hash & ((1u << look->shift) - 1)) != 0)
		return;

	/* there are many more than at the last census: the next one knows better */
	if (++look->looks > 2 * MOST_LOOKS)
		look->looks = -1;
	source = ident_source(context, look->kind);
	if (source != NULL)
		add(look, source, bytes);
}

/* Give up the examples of a record. */
static void
drop_examples(PlhContextRecord *record)
{
	uint32		offset = record->examples;

	record->examples = 0;
	while (offset != 0)
	{
		const PlhExampleRecord *example = plh_profile_records_at(offset);
		uint32		next = example->next;

		plh_profile_records_give_up(offset);
		offset = next;
	}
}

/* How its figures are to be read. */
static uint32
flags_of(const Look *look, const HeavyHitter *hitter)
{
	uint32		flags = hitter->varies ? PLH_EXAMPLE_VARIES : 0;

	if (look->shift > 0 && hitter->count < LEAST_LOOKS)
		return flags | PLH_EXAMPLE_UNCOUNTED;
	if (look->shift > 0)
		flags |= PLH_EXAMPLE_ABOUT;
	if (hitter->missed_bytes > 0)
		flags |= hitter->count > 1 ? PLH_EXAMPLE_AT_LEAST : PLH_EXAMPLE_UNCOUNTED;
	return flags;
}

/* Add an example in front of others.  Returns its offset; that of these without room. */
static uint32
add_example(const Look *look, const HeavyHitter *hitter, uint32 next)
{
	char		kept[PLH_STATEMENT_MAX + 1];
	Size		length = keep_ident(kept, ((MemoryContext) hitter->first)->ident, look->kind);
	Size		bytes = offsetof(PlhExampleRecord, text) + length + 1;
	PlhExampleRecord *example = plh_profile_recycling_take(bytes);

	if (example == NULL)
		return next;
	example->next = next;
	example->flags = flags_of(look, hitter);
	example->contexts = hitter->count << look->shift;
	example->bytes = hitter->bytes << look->shift;
	example->text_bytes = length;
	memcpy(example->text, kept, length);
	return plh_profile_records_add(example, PLH_RECORD_EXAMPLE, bytes, look->record->record.hash);
}

/* Keep what has most of the contexts of one record. */
static void
keep_examples(Look *look)
{
	PlhContextRecord *record = look->record;
	uint32		first = 0;

	sort_hitters(&look->hitters);
	for (int i = Min(look->hitters.used, PLH_EXAMPLES) - 1; i >= 0; i--)
		first = add_example(look, &look->hitters.places[i], first);
	drop_examples(record);
	record->examples = first;
	record->looked_contexts = record->instances;
	record->looked_bytes = record->bytes;
	record->looked_us = state.now_us;
}

void
plh_census_examples_keep(void)
{
	Assert(plh_guard_held && CritSectionCount == 0);
	for (int i = 0; i < state.names; i++)
	{
		if (state.looks[i].looks >= 0)
			keep_examples(&state.looks[i]);
	}
	state.names = 0;
}

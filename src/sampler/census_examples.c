/*
 * census_examples.c
 *	  What the memory contexts of a name are of: a few examples of those that have most,
 *	  which a census keeps.
 *
 * This code runs inside palloc.
 *
 * To read what a context is of takes longer than to count it.  So contexts of a name are
 * looked at only when they are many or large, when their number or their bytes have
 * changed by an eighth since the last look, or at all in LOOK_GAP_US; only those of a few
 * names in one census, and of many contexts only a part.  That part is chosen by a hash
 * of their addresses, which has nothing to do with what they are of.
 *
 * While a census walks over contexts, none of them goes, and no note of what one is of
 * changes.  Texts are kept at its end, of the few that have most.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/guard.h"
#include "base/heavy_hitters.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"
#include "sampler/census_examples.h"
#include "sampler/context_ident.h"

/* Fewer contexts that also have less are not looked at: each session has some. */
#define LEAST_CONTEXTS 100
#define LEAST_BYTES ((int64) 256 * 1024)

/* A change by this part of what there was is worth another look. */
#define CHANGED_PART 8
#define LOOK_GAP_US ((int64) 5 * 1000 * 1000)

/*
 * The most contexts of a name that are looked at, and the most names in one census.  A
 * look takes about 1 us, and 2 us at a long statement.
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
	PlhIdentKind kind;
	int			shift;			/* one in 2^shift contexts is looked at */
	int			looks;			/* so far; -1: there were too many */
	PlhHeavyHitters hitters;	/* their notes */
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
	PlhIdentKind kind;
	Look	   *look;

	if (!is_worth_a_look(record) || state.names >= state.most_names)
		return 0;
	kind = plh_context_ident_kind(context);
	if (kind == PLH_IDENT_NONE ||
		(plh_context_ident_is_statement(kind) && !plh_track_queries))
		return 0;
	look = &state.looks[state.names++];
	look->record = record;
	look->kind = kind;
	look->looks = 0;
	look->hitters.used = 0;
	look->shift = 0;
	while (record->instances >> look->shift > MOST_LOOKS)
		look->shift++;
	return state.names;
}

/* Is a context among those that are looked at? */
static inline bool
is_chosen(const Look *look, MemoryContext context)
{
	uint32		hash = murmurhash32((uint32) ((uintptr_t) context >> 4));

	return look->looks >= 0 && (hash & ((1u << look->shift) - 1)) == 0;
}

/* Count a context, and whether its note differs from that which it is counted with. */
static void
add(Look *look, MemoryContext source, int64 bytes)
{
	uint64		key = plh_context_ident_key(source->ident, look->kind);
	PlhHeavyHitter *hitter = plh_heavy_hitters_add(&look->hitters, key, source, bytes);
	const MemoryContextData *first = hitter->first;

	if (!hitter->varies && first != source)
		hitter->varies = strncmp(source->ident, first->ident, PLH_STATEMENT_MAX) != 0;
}

void
plh_census_examples_look(const PlhContextRecord *record, MemoryContext context,
						 int64 bytes)
{
	Look	   *look = &state.looks[record->looks - 1];
	MemoryContext source;

	if (!is_chosen(look, context))
		return;

	/* there are many more than at the last census: the next one knows better */
	if (++look->looks > 2 * MOST_LOOKS)
		look->looks = -1;
	source = plh_context_ident_source(context, look->kind);
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
flags_of(const Look *look, const PlhHeavyHitter *hitter)
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
add_example(const Look *look, const PlhHeavyHitter *hitter, uint32 next)
{
	char		kept[PLH_STATEMENT_MAX + 1];
	Size		length = plh_context_ident_keep(kept, (MemoryContext) hitter->first, look->kind,
												PLH_EXAMPLE_MAX);
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
	return plh_profile_records_add(example, PLH_RECORD_EXAMPLE, bytes,
								   look->record->record.hash);
}

/* Keep what has most of the contexts of one record. */
static void
keep_examples(Look *look)
{
	PlhContextRecord *record = look->record;
	uint32		first = 0;

	plh_heavy_hitters_sort(&look->hitters);
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

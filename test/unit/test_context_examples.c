/*
 * test_context_examples.c
 *	  What memory contexts are of: the scheme that finds what has most, what is read of
 *	  contexts, and what a census keeps.
 */
#include "postgres.h"

#include <time.h>

#include "sampler/census_examples.c"

#include "common/pg_prng.h"
#include "nodes/memnodes.h"
#include "utils/memutils.h"

#include "base/guard.h"
#include "base/settings.h"
#include "profile/profile.h"
#include "profile/profile_image.h"
#include "reader/redaction.h"
#include "report/context_list.h"
#include "sampler/census.h"
#include "sampler/census_count.h"
#include "server.h"
#include "unit_tests.h"

/* Nothing is left out here: test_redaction.c has that. */
const char *
plh_redaction_statement(const char *text)
{
	return text;
}

const char *
plh_redaction_cursor(const char *name)
{
	return name;
}

/* The place of a thing; NULL if it has none. */
static const HeavyHitter *
place_of(const HeavyHitters *hitters, uint64 key)
{
	for (int i = 0; i < hitters->used; i++)
		if (hitters->places[i].key == key)
			return &hitters->places[i];
	return NULL;
}

/* Things of random sizes: what has its part has a place, and no figure is too much. */
static const char *
try_stream(uint64 seed)
{
	enum
	{
		THINGS = 100
	};
	HeavyHitters hitters = {0};
	int64		bytes[THINGS] = {0};
	int64		counts[THINGS] = {0};
	int64		all = 0;
	pg_prng_state prng;
	const char *broken = NULL;

	pg_prng_seed(&prng, seed);
	for (int i = 0; i < 3000; i++)
	{
		uint64		thing = pg_prng_uint64(&prng) % (1 + pg_prng_uint64(&prng) % THINGS);
		int64		more = 1 + pg_prng_uint64(&prng) % 10000;

		bytes[thing] += more;
		counts[thing]++;
		all += more;
		(void) add_hit(&hitters, thing, NULL, more);
	}
	sort_hitters(&hitters);
	for (int thing = 0; thing < THINGS; thing++)
	{
		const HeavyHitter *place = place_of(&hitters, thing);

		REQUIRE(broken, place != NULL || bytes[thing] <= all / HEAVY_PLACES);
		if (place == NULL)
			continue;
		REQUIRE(broken, place->bytes <= bytes[thing] && place->count <= counts[thing]);
		REQUIRE(broken, place->bytes + place->missed_bytes >= bytes[thing]);
		REQUIRE(broken, place == hitters.places || place[-1].bytes >= place->bytes);
	}
	return broken;
}

static void
test_scheme(void)
{
	HeavyHitters hitters = {0};
	const char *broken = NULL;

	for (int round = 0; round < 3; round++)
		for (int thing = 0; thing < HEAVY_PLACES; thing++)
			(void) add_hit(&hitters, thing, NULL, 100 + thing);
	sort_hitters(&hitters);
	ok(hitters.places[0].key == HEAVY_PLACES - 1 && hitters.places[0].count == 3 &&
	   hitters.places[0].bytes == 3 * (99 + HEAVY_PLACES) && hitters.places[0].missed_bytes == 0,
	   "as many things as there are places are counted exactly");
	for (uint64 seed = 1; seed <= 200 && broken == NULL; seed++)
		broken = try_stream(seed);
	ok_unbroken(broken, "what has its part of all bytes has a place, and nothing is counted too much");
}

/* Are these notes the same, but for literals and digits? */
static bool
is_same(const char *left, const char *right, IdentKind kind)
{
	return ident_key(left, kind) == ident_key(right, kind);
}

static void
test_notes(void)
{
	ok(is_same("SELECT a FROM b WHERE c = 5", "SELECT  a FROM b WHERE c = 'x'", IDENT_STATEMENT) &&
	   !is_same("SELECT a FROM b WHERE c = 5", "SELECT a FROM d WHERE c = 5", IDENT_STATEMENT),
	   "statements that differ in literals only are one");
	ok(is_same("PREPARE s_17 AS SELECT 1", "PREPARE s_4 AS SELECT 1", IDENT_STATEMENT) &&
	   is_same("orders_2024_01_pkey", "orders_1999_12_pkey", IDENT_NAME) &&
	   !is_same("orders_2024_01_pkey", "orders_pkey", IDENT_NAME),
	   "notes that differ in digits only are one");
}

/* What is kept of the note of a context. */
static const char *
kept_of(const char *ident, IdentKind kind)
{
	static char kept[PLH_STATEMENT_MAX + 1];
	MemoryContextData context = {.name = "CachedPlanSource",.ident = ident};

	(void) keep_ident(kept, context.ident, kind);
	return kept;
}

static void
test_secrets(void)
{
	static char long_text[PLH_STATEMENT_MAX + 100];

	ok(strcmp(kept_of("ALTER ROLE r PASSWORD 'hunter2'", IDENT_STATEMENT),
			  "ALTER ROLE ...") == 0, "of a statement with a secret, only its first words are kept");
	ok(strcmp(kept_of("SELECT 'a', f(5)", IDENT_STATEMENT), "SELECT '?', f('?')") == 0 &&
	   strcmp(kept_of("x := y || 'hunter2'", IDENT_STATEMENT), "x := y || '?'") == 0,
	   "no literal of a statement is kept");
	ok(strcmp(kept_of("CREATE USER MAPPING FOR a OPTIONS (x 'b')", IDENT_STATEMENT),
			  "CREATE USER MAPPING ...") == 0 &&
	   strcmp(kept_of("password := 'hunter2'", IDENT_STATEMENT), "password := '?'") == 0,
	   "no secret of a function's statement is kept");
	memset(long_text, 'x', sizeof(long_text) - 1);
	ok(strlen(kept_of(long_text, IDENT_NAME)) == PLH_EXAMPLE_MAX, "a long name is cut");
}

/* Contexts below the top, of one name. */
#define CONTEXTS 12000

static MemoryContextData contexts[CONTEXTS];
static char notes[CONTEXTS][100];

static void
make_contexts(MemoryContext top, const char *name, int count)
{
	top->firstchild = count == 0 ? NULL : &contexts[0];
	for (int i = 0; i < count; i++)
		contexts[i] = (MemoryContextData)
	{
		.type = T_AllocSetContext,.name = name,.parent = top,.ident = notes[i],
			.mem_allocated = 8192,.nextchild = i + 1 < count ? &contexts[i + 1] : NULL
	};
}

/* Count twice, as the first census only tells that it is worth a look. */
static void
count_contexts(void)
{
	plh_census_count_contexts();
	plh_census_count_contexts();
}

/* The record of the contexts. */
static const PlhContextRecord *
the_record(const char *name)
{
	const PlhProfileImage *image = plh_profile_image_own(plh_profile);
	const PlhContextRecord *record;
	uint32		position = 0;

	while ((record = plh_profile_image_next_context(image, &position)) != NULL &&
		   strcmp(plh_profile_image_string(image, record->context_name)->text, name) != 0)
		;
	return record;
}

/* What a text says of the contexts, the number of them by which it says so. */
static bool
says(const char *name, int number, const char *start)
{
	char	   *texts[PLH_EXAMPLES];
	int			count = plh_context_list_examples(the_record(name), plh_profile_image_own(plh_profile),
												  100, texts);

	if (count > number && strncmp(texts[number], start, strlen(start)) == 0)
		return true;
	for (int i = 0; i < count; i++)
		printf("# %s\n", texts[i]);
	return start[0] == '\0' && count == number;
}

static int64
census_us(void)
{
	struct timespec from;
	struct timespec to;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	plh_census_count_contexts();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return (to.tv_sec - from.tv_sec) * INT64CONST(1000000) + (to.tv_nsec - from.tv_nsec) / 1000;
}

/* The processor time of a census, the least of several; with a look at contexts of a name. */
static int64
least_us(PlhContextRecord *looked_at)
{
	int64		least = PG_INT64_MAX;

	for (int i = 0; i < 20; i++)
	{
		if (looked_at != NULL)
			looked_at->looked_contexts = 0;
		least = Min(least, census_us());
	}
	return least;
}

/* What a look at many contexts adds to a census of them. */
static void
print_cost(MemoryContext top)
{
	PlhContextRecord *record;
	int64		count_us;

	for (int i = 0; i < CONTEXTS; i++)
		snprintf(notes[i], sizeof(notes[i]),
				 "PREPARE s%d AS SELECT a.attname FROM pg_class c JOIN pg_attribute a ON true WHERE oid = %d", i, i);
	make_contexts(top, "CachedPlan", CONTEXTS);
	count_contexts();
	count_us = least_us(NULL);
	record = unconstify(PlhContextRecord *, the_record("CachedPlan"));
	printf("# a census of %d contexts takes %lld us, and %lld us when it looks at what they are of\n",
		   CONTEXTS, (long long) count_us, (long long) least_us(record));
}

static void
test_kept_examples(MemoryContext top)
{
	for (int i = 0; i < CONTEXTS; i++)
		snprintf(notes[i], sizeof(notes[i]), "PREPARE s%d AS SELECT 1",
				 i);
	for (int i = 400; i < CONTEXTS; i++)
		snprintf(notes[i], sizeof(notes[i]), "SELECT b FROM c");
	make_contexts(top, "CachedPlanSource", 500);
	count_contexts();
	ok(says("CachedPlanSource", 0, "400 contexts (3276800 B) such as PREPARE s0 AS SELECT '?'") &&
	   says("CachedPlanSource", 1, "100 contexts (819200 B) of SELECT b FROM c") && says("CachedPlanSource", 2, ""),
	   "a census keeps what contexts are of");
	make_contexts(top, "CachedPlanSource", 350);
	plh_census_count_contexts();
	ok(says("CachedPlanSource", 0, ""), "what contexts are of is not told when many of them are gone");
	plh_census_count_contexts();
	ok(says("CachedPlanSource", 0, "350 contexts") && says("CachedPlanSource", 1, ""),
	   "contexts are looked at again when many of them are gone");
	make_contexts(top, "CachedPlanSource", CONTEXTS);
	count_contexts();
	ok(says("CachedPlanSource", 0, "about 1"), "of very many contexts a part is looked at");
}

static void
test_others(MemoryContext top)
{
	for (int i = 0; i < CONTEXTS; i++)
		snprintf(notes[i], sizeof(notes[i]), "name_%c%c%c", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676 % 26);
	make_contexts(top, "index info", 1000);
	count_contexts();
	ok(says("index info", 0, "name_"), "where each is of something else, no figures are told");
	make_contexts(top, "relation rules", 99);
	for (int i = 0; i < 99; i++)
		contexts[i].mem_allocated = 1024;
	count_contexts();
	ok(says("relation rules", 0, ""), "few and small contexts are not looked at");
	make_contexts(top, "an extension's", 1000);
	for (int i = 0; i < 1000; i++)
		contexts[i].ident = (const char *) (uintptr_t) 8;
	count_contexts();
	ok(says("an extension's", 0, ""), "the notes of other contexts are never read");
	plh_track_queries = false;
	make_contexts(top, "CachedPlan", 1000);
	count_contexts();
	plh_track_queries = true;
	ok(says("CachedPlan", 0, ""), "no statement is kept where that is not wanted");
}

void
test_context_examples(void)
{
	static MemoryContextData top = {.type = T_AllocSetContext,.name = "TopMemoryContext"};

	test_scheme();
	test_notes();
	test_secrets();
	TopMemoryContext = &top;
	ok(plh_profile_begin(), "a profile for examples begins");
	test_kept_examples(&top);
	test_others(&top);
	print_cost(&top);
	plh_census_forget();
	plh_profile_forget();
	top.firstchild = NULL;
}

/*
 * test_suppression.c
 *	  Which patterns are in which names: by a table, and by a reference that
 *	  tries everything.
 */
#include "postgres.h"

#include <time.h>

#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "backend.h"
#include "base/clock.h"
#include "reader_tests.h"
#include "sound_profile.h"

/* An array of texts that can be one in these tests. */
typedef struct TextArray
{
	int			count;
	Datum	   *texts;			/* pointers to strings */
	bool	   *nulls;
} TextArray;

static void
take_array(ArrayType *array, Datum **texts, bool **nulls, int *count)
{
	*texts = ((TextArray *) array)->texts;
	*nulls = ((TextArray *) array)->nulls;
	*count = ((TextArray *) array)->count;
}

static ArrayType *
make_array(Datum *texts, int count)
{
	TextArray  *array = palloc0(sizeof(TextArray));

	array->texts = texts;
	array->nulls = palloc0(count);
	array->count = count;
	return (ArrayType *) array;
}

/* What suppression.c takes of the server's arrays. */
#undef TextDatumGetCString
#define TextDatumGetCString(datum) ((const char *) DatumGetPointer(datum))
#define deconstruct_array(array, type, length, by_value, align, texts, nulls, count) \
	take_array(array, texts, nulls, count)
#define construct_array(texts, count, type, length, by_value, align) \
	make_array(texts, count)
#include "verdict/suppression.c"

#define SEED 7

/* The same by trying each start, and each length of each "*". */
static bool
matches_here(const char *pattern, const char *name)
{
	if (*pattern == '\0')
		return true;
	if (strcmp(pattern, "$") == 0)
		return *name == '\0';
	if (*pattern != '*')
		return *pattern == *name && matches_here(pattern + 1, name + 1);
	for (;; name++)
	{
		if (matches_here(pattern + 1, name))
			return true;
		if (*name == '\0')
			return false;
	}
}

static bool
matches_anywhere(const char *pattern, const char *name)
{
	if (*pattern == '^')
		return matches_here(pattern + 1, name);
	for (;; name++)
	{
		if (matches_here(pattern, name))
			return true;
		if (*name == '\0')
			return false;
	}
}

static const struct
{
	const char *pattern;
	const char *name;
	bool		expected;
}			cases[] =
{
	{"hash", "hash_create", true},
	{"create", "hash_create", true},
	{"hash_create", "hash", false},
	{"Hash", "hash", false},
	{"^hash", "hash_create", true},
	{"^create", "hash_create", false},
	{"create$", "hash_create", true},
	{"hash$", "hash_create", false},
	{"^hash$", "hash", true},
	{"^hash$", "hashes", false},
	{"^hash$", "a hash", false},
	{"hash*create", "hash_create", true},
	{"create*hash", "hash_create", false},
	{"^h*e$", "hash_create", true},
	{"^h*h$", "hash_create", false},
	{"a*b$", "ab ab", true},
	{"^a*b$", "ab a", false},
	{"*", "", true},
	{"*", "anything", true},
	{"**", "anything", true},
	{"a**b", "a b", true},
	{"*b", "abc", true},
	{"*b$", "abc", false},
	{"*b$", "abcb", true},
	{"b*", "abc", true},
	{"^b*", "abc", false},
	{"^*c", "abc", true},
	{"*$", "abc", true},
	{"", "anything", true},
	{"", "", true},
	{"^", "anything", true},
	{"$", "anything", true},
	{"^$", "", true},
	{"^$", "anything", false},
	{"a$b", "a$b", true},
	{"a$b", "a", false},
	{"$a", "a", false},
	{"a^b", "a^b", true},
	{"a^b", "b", false},
	{"aab", "aaab", true},
	{"abab$", "ababab", true},
	{"a", "", false},
	{"a much longer pattern", "a much", false},
	{"a", NULL, false},
	{"*", NULL, false}
};

static void
test_cases(void)
{
	char		name[128];

	for (int i = 0; i < lengthof(cases); i++)
	{
		snprintf(name, sizeof(name), "pattern \"%s\" is%s in \"%s\"",
				 cases[i].pattern, cases[i].expected ? "" : " not",
				 cases[i].name != NULL ? cases[i].name : "(none)");
		ok(matches(cases[i].pattern, cases[i].name) == cases[i].expected, name);
	}
}

/* A text of few letters, so that they often agree, in just as much memory. */
static char *
random_text(pg_prng_state *prng, const char *letters, int longest)
{
	int			length = random_below(prng, longest + 1);
	char	   *text = palloc(length + 1);

	for (int i = 0; i < length; i++)
		text[i] = letters[random_below(prng, strlen(letters))];
	text[length] = '\0';
	return text;
}

static void
test_reference(void)
{
	pg_prng_state prng;
	const char *broken = NULL;
	int			matching = 0;
	int			count = rounds(100000);

	pg_prng_seed(&prng, SEED);
	for (int i = 0; i < count && broken == NULL; i++)
	{
		char	   *pattern = random_text(&prng, "aab*^$", 8);
		char	   *name = random_text(&prng, "aaab^$", 10);
		bool		expected = matches_anywhere(pattern, name);

		try_begins("patterns", SEED, i);
		REQUIRE(broken, matches(pattern, name) == expected);
		if (broken != NULL)
			printf("# pattern \"%s\", name \"%s\"\n", pattern, name);
		matching += expected;
		pfree(pattern);
		pfree(name);
	}
	try_begins(NULL, 0, 0);
	ok_unbroken(broken, "patterns are where trying everything finds them");
	printf("# %d of %d are\n", matching, count);
	ok(matching > count / 10 && matching < count - count / 10,
	   "which is often, and often not");
}

/* Many "*", each of which could begin anywhere, and an end that is nowhere. */
static void
test_worst_case(void)
{
	enum
	{
		NAME = 4000, STARS = 200
	};
	char	   *name = palloc0(NAME + 1);
	StringInfoData pattern;
	int64		start = plh_clock_us(CLOCK_THREAD_CPUTIME_ID);

	memset(name, 'a', NAME);
	initStringInfo(&pattern);
	for (int i = 0; i < STARS; i++)
		appendStringInfoString(&pattern, "*aaaaaaa");
	for (int i = 0; i < NAME / 4; i++)
		appendStringInfoChar(&pattern, 'a');
	appendStringInfoChar(&pattern, 'b');
	try_begins("the worst pattern", 0, 0);
	ok(!matches(pattern.data, name), "a pattern with 200 stars is not there");
	ok(plh_clock_us(CLOCK_THREAD_CPUTIME_ID) - start < 2000000,
	   "which does not take long to find out");
	try_begins(NULL, 0, 0);
}

/* The patterns that suppress a site, one behind the other. */
static const char *
found_patterns(const PlhSuppressions *list, const char *context,
			   const PlhStackText *stack)
{
	TextArray  *found = (TextArray *) plh_suppression_find(list, context, stack);
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; found != NULL && i < found->count; i++)
		appendStringInfo(&text, "%s|", TextDatumGetCString(found->texts[i]));
	return text.data;
}

static void
test_lists(void)
{
	Datum		texts[] = {
		CStringGetDatum("inner"), CStringGetDatum("leak:outer"),
		CStringGetDatum("context:Cache"), CStringGetDatum("Cache"),
		CStringGetDatum("never read"), CStringGetDatum("leak:leak:"),
		CStringGetDatum("file.c$"), CStringGetDatum("^/lib/m"),
		CStringGetDatum("leak:context:a"), CStringGetDatum("context:leak:")
	};
	bool		nulls[lengthof(texts)] = {[4] = true};
	TextArray	array = {lengthof(texts), texts, nulls};
	PlhSuppressions *list = plh_suppression_list((ArrayType *) &array);
	PlhFrameText frames[] = {
		{.text = "inner frame", .function = "inner", .file = "/src/file.c"},
		{.text = "outer", .module = "/lib/module.so"}
	};
	PlhStackText stack = {.frames = frames, .frame_count = 2};

	ok(strcmp(found_patterns(list, "CacheContext", &stack),
			  "inner|context:Cache|file.c$|^/lib/m|") == 0,
	   "functions, files and binaries are looked at, contexts if so said");
	ok(strcmp(found_patterns(list, NULL, &stack),
			  "inner|file.c$|^/lib/m|") == 0, "no context is no name");
	ok(strcmp(found_patterns(list, "CacheContext", NULL),
			  "context:Cache|") == 0, "and no stack has none");
	frames[0].function = "context:a leak:";
	ok(strcmp(found_patterns(list, "a leak:", &stack),
			  "leak:leak:|file.c$|^/lib/m|leak:context:a|context:leak:|") == 0,
	   "what follows a prefix is the pattern, whatever it begins with");
	ok(plh_suppression_find(plh_suppression_list(NULL), "a", &stack) == NULL,
	   "no patterns suppress nothing");
}

void
test_suppression(void)
{
	test_cases();
	test_reference();
	test_worst_case();
	test_lists();
	forget_memory();
}

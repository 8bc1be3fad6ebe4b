/*
 * test_suppression.c
 *	  Which patterns are in which names: by a table, and by a reference that
 *	  tries everything.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "backend.h"
#include "reader_tests.h"
#include "sound_profile.h"
#include "telling/suppression.c"

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
	   "random patterns are often found, and often not");
}

/*
 * Many "*", each of which could begin anywhere, and an end that is nowhere: who tried all
 * that would not come to an end.
 */
static void
test_worst_case(void)
{
	enum
	{
		NAME = 4000, STARS = 200
	};
	char	   *name = palloc0(NAME + 1);
	StringInfoData pattern;

	memset(name, 'a', NAME);
	initStringInfo(&pattern);
	for (int i = 0; i < STARS; i++)
		appendStringInfoString(&pattern, "*aaaaaaa");
	for (int i = 0; i < NAME / 4; i++)
		appendStringInfoChar(&pattern, 'a');
	appendStringInfoChar(&pattern, 'b');
	try_begins("the worst pattern", 0, 0);
	ok(!matches(pattern.data, name), "a pattern with 200 stars is not found");
	try_begins(NULL, 0, 0);
}

/* The patterns that suppress a site, one behind the other. */
static const char *
found_patterns(const PlhSuppressions *list, const char *context,
			   const PlhStackText *stack)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < list->count; i++)
	{
		if (plh_suppression_matches(&list->entries[i], context, stack))
			appendStringInfo(&text, "%s|", list->entries[i].given);
	}
	return text.data;
}

static void
test_lists(void)
{
	const char *const patterns[] = {
		"inner", "leak:outer", "context:Cache", "Cache", "leak:leak:",
		"file.c$", "^/lib/m", "leak:context:a", "context:leak:"
	};
	PlhSuppression entries[lengthof(patterns)];
	PlhSuppressions list = {lengthof(patterns), entries};
	PlhSuppressions none = {0};
	PlhFrameText frames[] = {
		{.text = "inner frame",.function = "inner",.file = "/src/file.c"},
		{.text = "outer",.module = "/lib/module.so"}
	};
	PlhStackText stack = {.frames = frames,.frame_count = 2};

	for (int i = 0; i < lengthof(patterns); i++)
		plh_suppression_parse(&entries[i], patterns[i], "because");
	ok(strcmp(entries[0].reason, "because") == 0, "the reason of a suppression is kept");
	ok(strcmp(found_patterns(&list, "CacheContext", &stack),
			  "inner|context:Cache|file.c$|^/lib/m|") == 0,
	   "functions, files and binaries are looked at, contexts if so said");
	ok(strcmp(found_patterns(&list, NULL, &stack),
			  "inner|file.c$|^/lib/m|") == 0, "a pattern of contexts is not found without a context");
	ok(strcmp(found_patterns(&list, "CacheContext", NULL),
			  "context:Cache|") == 0, "a pattern of functions is not found without a stack");
	frames[0].function = "context:a leak:";
	ok(strcmp(found_patterns(&list, "a leak:", &stack),
			  "leak:leak:|file.c$|^/lib/m|leak:context:a|context:leak:|") == 0,
	   "what follows a prefix is the pattern, whatever it begins with");
	ok(plh_suppression_any(&list, "a leak:", &stack), "one pattern that is found suppresses");
	ok(!plh_suppression_any(&none, "a", &stack),
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

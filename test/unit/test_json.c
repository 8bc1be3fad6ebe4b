/*
 * test_json.c
 *	  The JSON of pages: what is quoted, escaped, cut or not known; and what is said of
 *	  what was not seen.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "base/settings.h"
#include "page/page_sites.h"
#include "reader_tests.h"
#include "report/json.h"
#include "telling/finding_json.h"

#define MB (INT64CONST(1) << 20)

static StringInfoData json;

/* Is that what was written? */
static bool
wrote(const char *text)
{
	bool		is_same = strcmp(json.data, text) == 0;

	if (!is_same)
		printf("# %s\n", json.data);
	resetStringInfo(&json);
	return is_same;
}

static void
test_values(void)
{
	plh_json_open(&json, '{');
	plh_json_put_number(&json, "a", -1);
	plh_json_put_if(&json, "b", false, 2);
	plh_json_put_if(&json, "c", true, 3);
	plh_json_put_flag(&json, "d", true);
	plh_json_put_text(&json, "e", NULL);
	plh_json_key(&json, "f");
	plh_json_open(&json, '[');
	plh_json_id(&json, PG_INT64_MIN);
	plh_json_text(&json, "");
	plh_json_number(&json, 0);
	plh_json_close(&json, ']');
	plh_json_close(&json, '}');
	ok(wrote("{\"a\":-1,\"b\":null,\"c\":3,\"d\":true,\"e\":null,\"f\":[\"-9223372036854775808\",\"\",0]}"),
	   "a comma stands between values, and nowhere else");
}

static void
test_times(void)
{
	plh_json_time(&json, 0);
	ok(wrote("null"), "no time is not known");
	plh_json_time(&json, PG_INT64_MAX);
	ok(wrote("null"), "nor is one of a damaged file");
	plh_json_time(&json, 1);
	ok(wrote("946684800000001"), "times are microseconds since 1970");
}

/* What is said, and by which sentences each line begins. */
static void
test_sentences_of_text(void)
{
	PlhSaid		text;

	plh_sentences_begin(&text);
	PLH_LINE(&text, true, rests,.age = "5 s");
	PLH_SAY(&text, true, ask_later);
	PLH_LINE(&text, true, no_verdict,.reason = "<b>");
	plh_finding_json_put_text(&json, &text);
	ok(wrote("\"sentences\":[\"Private memory has hardly changed for 5 s. Ask again later.\","
			 "\"Verdict: none. \\u003cb\\u003e\"],\"sentence_ids\":[\"rests\",\"no_verdict\"]"),
	   "each line has the name of the sentence that it begins with");
	plh_sentences_begin(&text);
	PLH_LINE(&text, true, no_verdict,.reason = "A role\nhas this name.\n");
	PLH_LINE(&text, true, rests,.age = "5 s");
	plh_finding_json_put_text(&json, &text);
	ok(wrote("\"sentences\":[\"Verdict: none. A role\\u000ahas this name.\\u000a\",\"Private memory has hardly changed for 5 s.\"],"
			 "\"sentence_ids\":[\"no_verdict\",\"rests\"]"),
	   "a name with line breaks does not shift them");
	plh_finding_json_put_doubt(&json, NULL);
	ok(wrote("\"doubt\":null"), "there is no doubt where there is a finding");
}

static void
test_escapes(void)
{
	plh_json_text(&json, "\"a\\b\"\n</script>&");
	ok(wrote("\"\\u0022a\\u005cb\\u0022\\u000a\\u003c/script\\u003e\\u0026\""),
	   "a text ends neither its quotes nor an element of HTML");
	plh_json_text(&json, "\xc3\xa9\x7f\xf0\x9f\x98\x80");
	ok(wrote("\"\\u00e9\\u007f\\ud83d\\ude00\""), "what is no ASCII is escaped, in pairs beyond 16 bits");
}

/* A text that is cut, of "a", as many letters of two bytes, and "b". */
static void
test_cut_text(void)
{
	StringInfoData text;
	StringInfoData cut;

	initStringInfo(&text);
	initStringInfo(&cut);
	appendStringInfoChar(&text, 'a');
	for (int i = 0; i < 1499; i++)
		appendStringInfoString(&text, "\xc3\xa9");
	plh_json_text(&json, text.data);
	ok(strstr(json.data, "...") == NULL, "3000 bytes are not cut");
	resetStringInfo(&json);
	for (int i = 0; i < 501; i++)
		appendStringInfoString(&text, "\xc3\xa9");
	appendStringInfoChar(&text, 'b');
	plh_json_text(&json, text.data);
	appendStringInfoString(&cut, "\"a");
	for (int i = 0; i < 749; i++)
		appendStringInfoString(&cut, "\\u00e9");
	appendStringInfoString(&cut, "...");
	for (int i = 0; i < 749; i++)
		appendStringInfoString(&cut, "\\u00e9");
	appendStringInfoString(&cut, "b\"");
	ok(wrote(cut.data), "a longer text is cut in its middle, between characters");
	pfree(text.data);
	pfree(cut.data);
}

static PlhProfileHeader header;
static PlhAccount account;

/* Is the sentence with that beginning among those on what was not seen?  "" is none. */
static bool
says(const char *sentence)
{
	const PlhProfileImage image = {.header = &header};
	bool		is_said;

	plh_page_sites_append_unseen(&json, &image, &account);
	is_said = sentence[0] == '\0' ? strcmp(json.data, "[]") == 0 : strstr(json.data, sentence) != NULL;
	if (!is_said)
		printf("# %s\n", json.data);
	resetStringInfo(&json);
	return is_said;
}

static void
set_nothing_unseen(void)
{
	memset(&header, 0, sizeof(header));
	memset(&account, 0, sizeof(account));
	header.sample_interval = 1000;
	header.scope = PLH_SCOPE_ALL;
	header.malloc_tracked = true;
	account.is_counted = account.knows_malloc = true;
}

static void
test_unseen(void)
{
	set_nothing_unseen();
	header.unsampled_bytes = MB - 1;
	ok(says(""), "less than a megabyte is not worth a sentence");
	header.unsampled_bytes = MB;
	ok(says("was allocated in memory contexts before sampling began"), "what was allocated before sampling is");
	set_nothing_unseen();
	account.outside_bytes = MB;
	ok(says(""), "where malloc is sampled, its call sites are seen");
	header.malloc_tracked = false;
	ok(says("This memory is counted, but no call site shows it"), "else that is said");
	account.knows_malloc = false;
	ok(says(""), "unless malloc tells nothing");
	set_nothing_unseen();
	account.other_bytes = MB;
	ok(says("belongs neither to memory contexts nor to malloc"), "memory may be of others");
	set_nothing_unseen();
	header.sample_interval = 0;
	ok(says("This process is not being sampled now"), "a process may not be sampled");
	set_nothing_unseen();
	header.lost_samples[0] = 1;
	ok(says("1 sample was not kept"), "one sample that was lost is told");
	set_nothing_unseen();
	account.is_counted = false;
	ok(says("has not counted its memory contexts"), "a process may not have counted itself");
}

void
test_json(void)
{
	initStringInfo(&json);
	test_values();
	test_times();
	test_sentences_of_text();
	test_escapes();
	test_cut_text();
	test_unseen();
	pfree(json.data);
}

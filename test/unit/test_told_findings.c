/*
 * test_told_findings.c
 *	  The row, JSON and the line of the log say the same of a finding of each kind.
 */
#include "postgres.h"

#include "nodes/pg_list.h"

#include "logged_line.h"
#include "reader/database_text.h"
#include "report/death_text.h"
#include "report/json.h"
#include "suspect_facts.h"
#include "telling/finding_json.h"
#include "telling/image_findings.h"
#include "told_finding.h"
#include "unit_tests.h"

/* What needs the server. */
char *
plh_death_text_names(const PlhProfileHeader *header)
{
	return pstrdup("");
}

char *
plh_database_text_to_utf8(const char *text)
{
	return pstrdup(text);
}

int
pg_encoding_mbcliplen(int encoding, const char *text, int bytes, int limit)
{
	return Min(bytes, limit);
}

const char *
plh_stack_text_routine(const PlhStackText *stack)
{
	return NULL;
}

const char *
plh_stack_text_routine_name(const PlhStackText *stack)
{
	return NULL;
}

const char *
plh_image_findings_contexts(const PlhFinding *finding, const PlhListedSite *named,
							const PlhProfileImage *image)
{
	return named == NULL ? NULL : named->context_name;
}

PlhMallocStatement
plh_malloc_statement_find(const PlhFinding *found, const PlhProfileImage *of_image)
{
	return malloc_statement;
}

#include "watch/finding_line.c"

/* Let it be of that kind, with what it takes to be told. */
static const PlhListedSite *
find_with_names(PlhKind kind, PlhListedSite *site)
{
	static PlhSiteRecord record = {.key.lifetime = PLH_LIFETIME_QUERY};
	static PlhFamilyAccount family = {.lasting = true,.contexts = 2000};

	find(kind, 100 * MB);
	malloc_statement.evidence = NULL;
	switch (plh_verdict_subject(kind))
	{
		case PLH_SUBJECT_CONTEXTS:
			family.family = plh_family_of("CacheMemoryContext");
			finding.contexts.family = &family;
			break;
		case PLH_SUBJECT_STATEMENT:
			finding.statement.share_count = 1;
			finding.statement.shares[0] = (PlhShare)
			{
				&record, 90 * MB
			};
			break;
		case PLH_SUBJECT_PROCESS:
			malloc_statement.evidence = "It came while a statement ran.";
			return NULL;
		case PLH_SUBJECT_SITE:
			finding.sites.sites = finding.sites.statements = 1;
			finding.sites.total_bytes = 200 * MB;
			break;
	}
	finding.site = &record;
	return site;
}

/* Is a text a member of the object that JSON has of the finding? */
static bool
is_member(const PlhToldFinding *told, const char *key, const char *text)
{
	ListCell	cell = {.ptr_value = unconstify(PlhToldFinding *, told)};
	const List	all = {.type = T_List,.length = 1,.elements = &cell};
	StringInfoData json;
	StringInfoData member;

	initStringInfo(&json);
	plh_finding_json_put_all(&json, &all);
	initStringInfo(&member);
	plh_json_put_text(&member, key, text);
	return strstr(json.data, member.data) != NULL;
}

static bool
begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

static bool
ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* Is it the name of a sentence? */
static bool
is_id(const char *name)
{
	for (PlhSentence sentence = 0; name != NULL && sentence < PLH_SENTENCES; sentence++)
		if (strcmp(plh_sentences_name(sentence), name) == 0)
			return true;
	return false;
}

/* Do all that tell of it have its evidence, and what to do? */
static bool
is_told_alike(const PlhListedSite *site)
{
	PlhFindings findings = {1, &finding, &account};
	const PlhFoundIn in = {.image = &image,.findings = &findings};
	const PlhToldFinding *told = plh_told_finding_make(&finding, site, &in);
	const char *row = plh_told_finding_row_text(told);
	const PlhLogTurn turn = {0};
	bool		is_alike;

	plh_finding_line_log(&finding, site, &in, &turn);
	is_alike = told->evidence[0] != '\0' && told->next[0] != '\0' &&
		begins_with(row, told->evidence) &&
		ends_with(row, told->next) &&
		is_member(told, "evidence", told->evidence) && is_member(told, "next", told->next) &&
		is_member(told, "verdict", plh_verdict_name(plh_finding_verdict(&finding))) &&
		begins_with(told->next, told->next_summary) &&
		is_id(told->next_id) && is_member(told, "next_id", told->next_id) &&
		strstr(logged_line.detail, told->evidence) != NULL &&
		begins_with(logged_line.hint, told->next);
	if (!is_alike)
		printf("# %s\n# %s\n# %s\n", row, logged_line.detail, logged_line.hint);
	return is_alike;
}

void
test_told_findings(void)
{
	PlhFrameText frames[] = {
		frame_in("palloc", "/pg/bin/postgres"),
		frame_in(NULL, "/pg/bin/postgres"),
		frame_in("build_array", "/pg/bin/postgres")
	};
	PlhListedSite site = {
		.context_name = "ExecutorState",
		.stack = {.frames = frames,.frame_count = 3,.site_frame = 1,.site = frames[1].text}
	};
	PlhFindings findings = {1, &finding, &account};
	const PlhFoundIn in = {.image = &image,.findings = &findings};
	const char *row;
	int			wrong = 0;

	for (PlhKind kind = 0; kind < PLH_KINDS; kind++)
		wrong += !is_told_alike(find_with_names(kind, &site));
	ok(wrong == 0, "row, JSON and log have the same evidence and advice for each kind");
	row = plh_told_finding_row_text(plh_told_finding_make(&finding, find_with_names(PLH_KIND_SITE_HOLDS, &site), &in));
	ok(strstr(row, " The site is postgres+0x660d32, called by build_array. Next: ") != NULL,
	   "a row tells who calls a site without a name");
	ok(is_member(plh_told_finding_make(&finding, find_with_names(PLH_KIND_MALLOC_SITE_LEAKS, &site), &in),
				 "answer", "A leak outside of memory contexts: malloc gave it out again and again, and it is not freed."),
	   "the page's answer is that of the kind");
	malloc_statement.evidence = NULL;
	logged_line.count = 0;		/* which others count */
}

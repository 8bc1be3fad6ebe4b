/*
 * test_redaction.c
 *	  Names and statements that are not to be shown.
 */
#include "postgres.h"

#include "reader/redaction.h"
#include "reader_tests.h"

/* Does a statement become that? */
static bool
becomes(const char *statement, const char *redacted)
{
	return strcmp(plh_redaction_statement(statement), redacted) == 0;
}

/* Statements without their literals. */
static void
test_statements(void)
{
	ok(becomes("SELECT a, 'b', 1.5e3 FROM t1 WHERE x = -2", "SELECT a, ?, ? FROM t1 WHERE x = -?"),
	   "numbers and strings are left out, names are not");
	ok(becomes("SELECT 'it''s', E'a\\'b', \"quoted '1'\"", "SELECT ?, ?, \"quoted '1'\""),
	   "doubled and escaped quotes end no string, and a quoted name stays");
	ok(becomes("SELECT $1, $x$ it's $x$, $$ 7 $$", "SELECT $1, ?, ?"), "strings in dollars are left out, parameters are not");
	ok(becomes("SELECT 1 /* who /* is */ joe */ + 2 -- joe\nFROM t", "SELECT ?   + ?  \nFROM t"),
	   "comments are left out");
	ok(becomes("SELECT 'cut", "SELECT ?..."), "a string that was cut is left out");
	ok(becomes("SELECT 'a\\' , 'joe' , '", "SELECT ?..."), "nothing is shown behind a string that may end elsewhere");
	ok(becomes("SELECT 1 /* cut", "SELECT ?  ..."), "a comment that was cut is left out");
	ok(becomes("", ""), "nothing stays nothing");
}

/* Names as letters. */
static void
test_names(void)
{
	char		name[16];

	ok(strcmp(plh_redaction_role("joe"), "A") == 0 && strcmp(plh_redaction_role("sue"), "B") == 0 &&
	   strcmp(plh_redaction_role("joe"), "A") == 0, "roles are letters, each its own");
	ok(strcmp(plh_redaction_database("joe"), "A") == 0 && strcmp(plh_redaction_application("sue"), "A") == 0,
	   "databases and applications are letters by themselves");
	ok(plh_redaction_role(NULL) == NULL && plh_redaction_role("")[0] == '\0', "no name has no letter");
	for (int i = 2; i < 30; i++)
	{
		snprintf(name, sizeof(name), "role %d", i);
		(void) plh_redaction_role(name);
	}
	ok(strcmp(plh_redaction_role("role 25"), "Z") == 0 && strcmp(plh_redaction_role("role 26"), "AA") == 0 &&
	   strcmp(plh_redaction_role("role 29"), "AD") == 0, "behind Z comes AA");
}

void
test_redaction(void)
{
	plh_redaction_begin(false);
	ok(becomes("SELECT 'joe'", "SELECT 'joe'") && strcmp(plh_redaction_role("joe"), "joe") == 0,
	   "without redaction all is as it was");
	plh_redaction_begin(true);
	test_statements();
	test_names();
	plh_redaction_end();
	ok(strcmp(plh_redaction_role("joe"), "joe") == 0, "behind the end of redaction names are names");
}

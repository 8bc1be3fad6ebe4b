/*
 * test_statement_texts.c
 *	  What is kept of a statement's text: no password, and else what a reader needs.
 */
#include "postgres.h"

#include "profile/statement_text.h"
#include "unit_tests.h"

/* A text, and what is kept of it; NULL: all. */
typedef struct Text
{
	const char *text;
	const char *kept;
} Text;

static const Text harmless[] = {
	{"", NULL},
	{" ", NULL},
	{";", NULL},
	{"SELECT leak_top(64, 10000), 'a literal'", NULL},
	{"SELECT 1; SELECT E'it\\'s', $$two$$, $1 -- and a comment", NULL},
	{"/* trace 1 */ (SELECT x FROM t WHERE id = 1.5e-10)", NULL},
	{"SELECT \"a 1\", N'\303\244' FROM t", NULL},
	{"with a as (select 1) insert into t select * from a", NULL},
	{"DECLARE c CURSOR FOR SELECT 'a'; FETCH 10 FROM c; CLOSE c", NULL},
	{"PREPARE kept AS SELECT 1, 'a'", NULL},
	{"EXPLAIN (ANALYZE) SELECT 'a'", NULL},
	{"DO $$BEGIN PERFORM leak_top(10, 1); END$$", NULL},
	{"DO $$BEGIN UPDATE t SET a = 'b'; END$$", NULL},
	{"DO LANGUAGE plpgsql $x$BEGIN PERFORM 'a'; END$x$; SELECT 1", NULL},
	{"CREATE UNIQUE INDEX CONCURRENTLY i ON t (a)", NULL},
	{"CREATE TEMP TABLE t (a varchar(10))", NULL},
	{"create or replace view v as select 1", NULL},
	{"ALTER TABLE t ALTER COLUMN c TYPE numeric(5, 2)", NULL},
	{"ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO bob", NULL},
	{"COPY t FROM STDIN", NULL},
	{"VACUUM (PARALLEL 2) t", NULL},
	{"START_REPLICATION SLOT s LOGICAL 0/0", NULL},
	{"SELECT 'a string that the limit has cut", NULL},
	{"COPY t TO '/tmp/a'", "COPY t TO '?'"},
	{"CREATE TABLE t (a text DEFAULT 'x')", "CREATE TABLE t (a text DEFAULT '?')"},
	{"EXECUTE p(1, 'x')", "EXECUTE p('?', '?')"},
	{"EXPLAIN EXECUTE p('x')", "EXPLAIN EXECUTE p('?')"},
	{"CALL p('x', 12)", "CALL p('?', '?')"},
	{"SET work_mem = '1GB'; SELECT leak_top(1, 2)", "SET ...; SELECT leak_top(1, 2)"},
	{"SET LOCAL x.y TO z; SELECT 1", "SET ...; SELECT 1"},
	{"CREATE OR REPLACE FUNCTION f() RETURNS int AS 'SELECT 1;' LANGUAGE sql; SELECT f()", "CREATE FUNCTION ...; SELECT f()"},
};

/* The secrets of these are y1, y2, and so on. */
static const Text secret[] = {
	/* kinds of statements */
	{"CREATE ROLE x LOGIN PASSWORD 'y1'", "CREATE ROLE ..."},
	{"create user x encrypted password 'y1'", "CREATE USER ..."},
	{"CREATE GROUP x PASSWORD 'y1'", "CREATE GROUP ..."},
	{"ALTER ROLE x PASSWORD 'y1'", "ALTER ROLE ..."},
	{"ALTER ROLE x SET app.token = y1", "ALTER ROLE ..."},
	{"ALTER USER x WITH PASSWORD 'SCRAM-SHA-256$4096:y1$y2:y3'", "ALTER USER ..."},
	{"ALTER GROUP x PASSWORD 'y1'", "ALTER GROUP ..."},
	{"CREATE USER MAPPING FOR x SERVER s OPTIONS (user 'x', password 'y1')", "CREATE USER MAPPING ..."},
	{"ALTER USER MAPPING FOR x SERVER s OPTIONS (SET password 'y1')", "ALTER USER MAPPING ..."},
	{"CREATE SUBSCRIPTION s CONNECTION 'host=a password=y1' PUBLICATION p", "CREATE SUBSCRIPTION ..."},
	{"ALTER SUBSCRIPTION s CONNECTION 'service=y1'", "ALTER SUBSCRIPTION ..."},
	{"CREATE SERVER s FOREIGN DATA WRAPPER w OPTIONS (key 'y1')", "CREATE SERVER ..."},
	{"ALTER SERVER s OPTIONS (ADD key 'y1')", "ALTER SERVER ..."},
	{"CREATE FOREIGN DATA WRAPPER w OPTIONS (key 'y1')", "CREATE FOREIGN DATA WRAPPER ..."},
	{"ALTER FOREIGN DATA WRAPPER w OPTIONS (key 'y1')", "ALTER FOREIGN DATA WRAPPER ..."},
	{"CREATE FOREIGN TABLE t (a int) SERVER s OPTIONS (key 'y1')", "CREATE FOREIGN TABLE ..."},
	{"ALTER FOREIGN TABLE t OPTIONS (key 'y1')", "ALTER FOREIGN TABLE ..."},
	{"ALTER TABLE t OPTIONS (key 'y1'); SELECT 1", "ALTER TABLE t OPTIONS ...; SELECT '?'"},
	{"IMPORT FOREIGN SCHEMA a FROM SERVER s INTO b OPTIONS (key 'y1')", "IMPORT FOREIGN SCHEMA a FROM SERVER s INTO b OPTIONS ..."},
	{"COPY t FROM PROGRAM 'curl -u y1'", "COPY t FROM PROGRAM ..."},
	{"COPY t FROM PROGRAM \"curl -u y1\"", "COPY t FROM PROGRAM ..."},
	{"COPY t TO PROGRAM E'curl -u y1' CSV", "COPY t TO PROGRAM ..."},
	{"ALTER SYSTEM SET primary_conninfo = 'y1'", "ALTER SYSTEM ..."},
	{"ALTER SYSTEM SET archive_command TO 'y1'", "ALTER SYSTEM ..."},
	{"ALTER DATABASE d SET app.key = 'y1'", "ALTER DATABASE ..."},
	{"ALTER FUNCTION f() SET app.key = 'y1'", "ALTER FUNCTION ..."},
	{"SET SESSION app.key = y1", "SET ..."},
	{"CREATE FUNCTION f() RETURNS void AS $$BEGIN EXECUTE 'ALTER ROLE x PASSWORD ''y1'''; END$$ LANGUAGE plpgsql", "CREATE FUNCTION ..."},
	{"CREATE PROCEDURE p() BEGIN ATOMIC SELECT f('y1', 'password'); END", "CREATE PROCEDURE ..."},
	{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT login('x','y1'); END", "CREATE FUNCTION ..."},
	{"DO $$BEGIN EXECUTE 'ALTER ROLE x PASSWORD ''y1'''; END$$", "DO ..."},
	{"DO $a$BEGIN EXECUTE 'ALTER ROLE x PASS' || 'WORD ''y1'''; END$a$; SELECT 1", "DO ...; SELECT 1"},
	{"DO 'BEGIN ALTER ROLE x PASSWORD ''y1''; END'", "DO ..."},
	{"DO $$BEGIN COPY t FROM PROGRAM 'curl -u y1'; END$$", "DO ..."},
	{"DO $$BEGIN CREATE USER MAPPING FOR x SERVER s OPTIONS (pin 'y1'); END$$", "DO ..."},
	{"DO $$BEGIN ALTER DATABASE d SET app.key = 'y1'; END$$", "DO ..."},
	{"DO $$BEGIN /* a */ SET app.key = 'y1'; END$$", "DO ..."},
	{"DO $a$BEGIN IF a THEN\nSET LOCAL app.key = 'y1'; END IF; END$a$", "DO ..."},
	{"DO E'BEGIN a := 1; SET app.key = 1; END /* y1 */'", "DO ..."},
	{"DO $$BEGIN a := 'y1'; that the limit has cut", "DO ..."},
	{"PREPARE p AS SELECT set_password($1, 'y1')", "PREPARE p AS SELECT set_password($1, '?')"},
	{"EXECUTE p('x', 'y1')", "EXECUTE p('?', '?')"},
	{"SECURITY LABEL ON ROLE x IS 'y1'", "SECURITY LABEL ON ROLE x IS '?'"},
	{"SELECT dblink_connect('c', 'host=a password=y1 user=b')", "SELECT dblink_connect('?', ..."},
	{"SELECT dblink_connect('postgresql://x:y1@a/b'); SELECT 1", "SELECT dblink_connect(...; SELECT '?'"},
	{"SELECT pg_leakhunt_check('ALTER ROLE x PASSWORD ''y1''')", "SELECT pg_leakhunt_check(..."},
	{"SELECT set_config('primary_conninfo', 'y1', false)", "SELECT set_config(..."},
	{"SELECT crypt('y1', gen_salt('bf'))", "SELECT crypt('?', gen_salt('?'))"},
	{"UPDATE u SET password = 'y1', pin = 1234 WHERE id = 5", "UPDATE u SET password = '?', pin = '?' WHERE id = '?'"},
	{"INSERT INTO u (\"Password\") VALUES ('y1')", "INSERT INTO u (\"?\") VALUES ('?')"},
	{"UPDATE \"Users\" SET password = \"y1\" WHERE \"Users\".\"Id\" = 7", "UPDATE \"Users\" SET password = \"?\" WHERE \"Users\".\"Id\" = '?'"},
	{"SELECT login(password => \"y1\"), password \"y2\", f(\"y3\")", "SELECT login(password => \"?\"), password \"?\", f(\"?\")"},
	/* places */
	{"SELECT 1; ALTER ROLE x PASSWORD 'y1'", "SELECT '?'; ALTER ROLE ..."},
	{"SELECT 1; ALTER ROLE x PASSWORD 'y1;y2'; SELECT a", "SELECT '?'; ALTER ROLE ...; SELECT a"},
	{"SELECT 'a' /* password y1 */, b", "SELECT '?'  , b"},
	{"COMMENT /* password y1 */ ON ROLE x IS 'y2'", "COMMENT ON ROLE x IS '?'"},
	{"\t\n ALTER\nROLE x PASSWORD 'y1'", "\t\n ALTER ROLE ..."},
	{"EXPLAIN ALTER ROLE x PASSWORD 'y1'", "EXPLAIN ALTER ROLE ..."},
	/* quoting */
	{"ALTER ROLE x PASSWORD E'y1\\';y2'; SELECT a", "ALTER ROLE ...; SELECT a"},
	{"ALTER ROLE x PASSWORD $a$y1;$b$;y2$a$; SELECT a", "ALTER ROLE ...; SELECT a"},
	{"ALTER ROLE x PASSWORD U&'y1!0061;y2' UESCAPE '!'; SELECT a", "ALTER ROLE ...; SELECT a"},
	{"ALTER ROLE x PASSWORD 'y1''y2;y3'; SELECT a", "ALTER ROLE ...; SELECT a"},
	{"ALTER ROLE x PASSWORD 'y1\\'; SELECT y2'", "ALTER ROLE ..."},
	{"SELECT 'a\\'; ALTER ROLE x PASSWORD 'y1'", "SELECT ..."},
	{"SELECT E'a'\n'b\\'; COPY t FROM PROGRAM 'y1' -- '", "SELECT '?'\n..."},
	{"ALTER ROLE \"a;'b\" PASSWORD 'y1'; SELECT a", "ALTER ROLE ...; SELECT a"},
	{"ALTER ROLE x PASSWORD '\303\244y1\344\270\255'", "ALTER ROLE ..."},
	/* what no server takes */
	{"y1", "..."},
	{"y1; SELECT 1", "..."},
	{"'y1", "..."},
	{"ALTR ROLE x PASSWORD 'y1'", "..."},
	{"ALTER ROL x PASSWORD 'y1'", "ALTER ..."},
	{"CREATE y1", "CREATE ..."},
	{"ALTER ROLE x PASWORD 'y1'", "ALTER ROLE ..."},
	{"ALTER ROLE x PASSWORD y1", "ALTER ROLE ..."},
	{"ALTER ROLE x PASSWORD 'y1'y2'", "ALTER ROLE ..."},
	{"ALTER ROLE x PASSWORD 'y1", "ALTER ROLE ..."},
	{"ALTER ROLE x PASSWORD y1';y2", "ALTER ROLE ..."},
	{"SELECT 1 ALTER ROLE x PASSWORD y1", "SELECT '?' ALTER ROLE ..."},
	{"SELECT dblink_connect('password='y1'')", "SELECT dblink_connect(..."},
	{"SELECT f('password', 'y1'y2'')", "SELECT f(..."},
	{"SELECT password, 'y1'y2''", "SELECT password, ..."},
	{"SELECT dblink_connect(\"password=y1\")", "SELECT dblink_connect(..."},
	/* what the limit has cut */
	{"SELECT 1; ALTER", "SELECT '?'; ALTER ..."},
	{"ALTER ROLE x PASSWORD 'y1", "ALTER ROLE ..."},
	{"SELECT password = 'y1", "SELECT password = ..."},
};

/* The secret stands before what tells that it is one. */
static const Text late[] = {
	{"EXPLAIN SELECT 'y1' AS passwd", "EXPLAIN SELECT '?' AS passwd"},
	{"/* y1 */ ALTER SYSTEM SET a = 'y2'", "  ALTER SYSTEM ..."},
	{"-- y1\nALTER /* y2 */ ROLE --y3\n x PASSWORD 'y4'", " \nALTER ROLE ..."},
	{"/* /* y1 */ y2 */ CREATE SERVER s", "  CREATE SERVER ..."},
};

static char *
kept_of(const char *text)
{
	char	   *kept = palloc(PLH_STATEMENT_MAX + 1);
	Size		length = plh_statement_text_keep(kept, text, strlen(text));

	ok(length == strlen(kept), "the length of what is kept is told");
	return kept;
}

/* Does a text have one of y1 to y9? */
static bool
has_secret(const char *text)
{
	for (; *text != '\0'; text++)
	{
		if (text[0] == 'y' && text[1] >= '1' && text[1] <= '9')
			return true;
	}
	return false;
}

/*
 * Does each first part of a text, as PLH_STATEMENT_MAX may cut it, keep no secret?  The
 * sanitizer sees what is read behind its end.
 */
static bool
may_be_cut(const char *text)
{
	bool		fits = true;

	for (Size length = 0; length <= strlen(text); length++)
	{
		char	   *part = malloc(length);
		char		kept[PLH_STATEMENT_MAX + 1];

		memcpy(part, text, length);
		plh_statement_text_keep(kept, part, length);
		fits = fits && !has_secret(kept);
		free(part);
	}
	return fits;
}

/* Each word that stands for a secret is found, in both cases. */
static void
test_words(void)
{
	static const char *const words[] = {
		"password", "Passwd", "PASSPHRASE", "pass=", "PWD", "secret", "Credentials",
		"primary_conninfo", "encrypt", "sslkey", "SCRAM-SHA", "token", "API_KEY",
		"apikey", "private_key", "PrivateKey", "Bearer", "postgresql://"
	};

	for (int i = 0; i < lengthof(words); i++)
	{
		ok(!has_secret(kept_of(psprintf("SELECT 'y1', 'a %s='", words[i]))),
		   psprintf("a string is a secret beside %s", words[i]));
		ok(!has_secret(kept_of(psprintf("SELECT 'y1' -- %s", words[i]))),
		   psprintf("a string is a secret before a comment on %s", words[i]));
	}
}

/* Nothing is written behind the limit, whatever a text grows to. */
static void
test_limit(void)
{
	char		text[2 * PLH_STATEMENT_MAX];
	char		kept[PLH_STATEMENT_MAX + 1];
	Size		length;

	strcpy(text, "SELECT password");
	for (Size at = strlen(text); at < sizeof(text); at++)
		text[at] = at % 2 == 0 ? '1' : ',';
	length = plh_statement_text_keep(kept, text, sizeof(text));
	ok(length <= PLH_STATEMENT_MAX && length > PLH_STATEMENT_MAX - 5 &&
	   kept[length] == '\0', "what is kept ends at the limit");
	memset(text, 'x', sizeof(text));
	memcpy(text, "SELECT ", 7);
	length = plh_statement_text_keep(kept, text, sizeof(text));
	ok(length == PLH_STATEMENT_MAX && memcmp(kept, text, length) == 0,
	   "of a long text the first bytes are kept");
}

static void
test_texts(const Text *texts, int count)
{
	for (int i = 0; i < count; i++)
	{
		const char *wanted = texts[i].kept != NULL ? texts[i].kept : texts[i].text;
		char	   *kept = kept_of(texts[i].text);

		ok(strcmp(kept, wanted) == 0,
		   psprintf("what is kept of a text: %s", wanted));
		if (strcmp(kept, wanted) != 0)
			printf("# of: %s\n# kept: %s\n", texts[i].text, kept);
		ok(!has_secret(kept) && !has_secret(kept_of(kept)),
		   psprintf("what is kept has no secret: %s", wanted));
		ok(texts == late || may_be_cut(texts[i].text),
		   psprintf("the first parts of a text keep no secret: %s", wanted));
	}
}

void
test_statement_texts(void)
{
	test_texts(harmless, lengthof(harmless));
	test_texts(secret, lengthof(secret));
	test_texts(late, lengthof(late));
	test_words();
	test_limit();
}

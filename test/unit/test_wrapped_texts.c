/*
 * test_wrapped_texts.c
 *	  Texts and statements in lines of a width.
 */
#include "postgres.h"

#include "report/wrapped_text.h"
#include "reader_tests.h"

/* A text, the columns of a line, the most lines, and what becomes of it. */
typedef struct Wrapped
{
	const char *text;
	int			columns;
	int			most_lines;
	const char *lines;
} Wrapped;

static const Wrapped texts[] = {
	{"", 10, 0, ""},
	{"  blanks \t are \r one ", 20, 0, "blanks are one"},
	{"exactly 10", 10, 0, "exactly 10"},
	{"exactly 10 and more", 10, 0, "exactly 10\nand more"},
	{"a line\nand one", 20, 0, "a line\nand one"},
	{"one\n\ntwo", 20, 0, "one\n\ntwo"},
	{"abcdefghijklm", 5, 0, "abcde\nfghij\nklm"},
	{"of abcdefghijklm no", 5, 0, "of\nabcde\nfghij\nklm\nno"},
	/* behind a joint, if the line is half full by then */
	{"pg_terminate_backend(4711).", 24, 0, "pg_terminate_backend(\n4711)."},
	{"a_bcdefghij", 8, 0, "a_bcdefg\nhij"},
	/* characters of two columns, of none, and with an escape in psql */
	{"日本語日本語", 5, 0, "日本\n語日\n本語"},
	{"e\xcc\x81t\xc3\xa9 la", 6, 0, "e\xcc\x81t\xc3\xa9 la"},
	{"a\x1b" "b a\x1b" "b", 10, 0, "a\x1b" "b\na\x1b" "b"},
	{"one two three", 7, 2, "one two\nthree"},
	{"one two three", 7, 1, "one ..."},
	{"one two three four five", 9, 2, "one two\nthree ..."},
	{"abcdefghijklm", 6, 1, "ab ..."},
	{"日本語", 6, 1, "日本語"},
	{"日本語日", 6, 1, "日 ..."},
	{"one\ntwo", 20, 1, "one ..."}
};

/* The same of statements. */
static const Wrapped statements[] = {
	{"", 10, 0, ""},
	{"SELECT 1", 10, 0, "SELECT 1"},
	{"SELECT 1, 2", 10, 0, "SELECT 1,\n2"},
	{"SELECT  1,  2", 11, 0, "SELECT  1,\n2"},
	{"SELECT\n  1,\n  2", 8, 0, "SELECT\n  1,\n  2"},
	{"SELECT 'a b c d e'", 10, 0, "SELECT\n'a b c d e'"},
	{"SELECT $x$a b c d e$x$ FROM t", 10, 0, "SELECT\n$x$a b c d e$x$\nFROM t"},
	{"SELECT 1 -- a b c\n, 2", 10, 0, "SELECT 1\n-- a b c\n, 2"},
	{"SELECT /* a b c */ 1", 10, 0, "SELECT\n/* a b c */\n1"},
	{"SELECT \"a b c d\"", 10, 0, "SELECT\n\"a b c d\""},
	{"SELECT 'a\nb', 1, 2", 9, 0, "SELECT 'a\nb', 1, 2"},
	{"SELECT '日本語'", 14, 0, "SELECT\n'日本語'"},
	{"SELECT 'not whole, as it", 10, 0, "SELECT\n'not whole, as it"},
	{"SELECT f('it\\'s one, or two'), 1, 2", 10, 0, "SELECT\nf('it\\'s one, or two'), 1, 2"}
};

static bool
is_same(const char *text, const char *expected)
{
	bool		same = strcmp(text, expected) == 0;

	if (!same)
		printf("# \"%s\" instead of \"%s\"\n", text, expected);
	return same;
}

void
test_wrapped_texts(void)
{
	for (int i = 0; i < lengthof(texts); i++)
		ok(is_same(plh_wrapped_text(texts[i].text, texts[i].columns, texts[i].most_lines),
				   texts[i].lines), psprintf("text %d is in lines of its columns", i + 1));
	for (int i = 0; i < lengthof(statements); i++)
		ok(is_same(plh_wrapped_text_statement(statements[i].text, statements[i].columns),
				   statements[i].lines),
		   psprintf("statement %d is broken between its tokens", i + 1));
}

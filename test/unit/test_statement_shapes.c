/*
 * test_statement_shapes.c
 *	  Which statements are one but for their literals, and which are not.
 */
#include "postgres.h"

#include "profile/statement_shape.h"
#include "unit_tests.h"

/* Two statements. */
typedef struct Pair
{
	const char *left;
	const char *right;
} Pair;

static const Pair same[] = {
	{"SELECT f(1)", "SELECT f(23456)"},
	{"SELECT f(1)", "SELECT f(-1)"},
	{"SELECT f(1.5e-10)", "SELECT f(2)"},
	{"SELECT f(1), g(0x1F)", "SELECT f(2), g(1_000)"},
	{"SELECT x - 1", "SELECT x - 2.5"},
	{"SELECT 'a' || x", "SELECT 'it''s longer' || x"},
	{"SELECT E'a\\'b' || x", "SELECT E'' || x"},
	{"SELECT x FROM t WHERE id = 1 AND name = 'a'", "SELECT x FROM t WHERE id = 2 AND name = 'b -- c'"},
	{"SELECT x FROM t WHERE id IN (1, 2, 3)", "SELECT x FROM t WHERE id IN (-4)"},
	{"INSERT INTO t VALUES (1, 'a'), (2, 'b')", "INSERT INTO t VALUES (3, 'c')"},
	{"INSERT INTO t VALUES ('cut in the middl", "INSERT INTO t VALUES ('an"},
	{"/* trace 1 /* of 2 */ don't */ SELECT x", "/* trace 2 */ SELECT x"},
	{"SELECT x -- it's one\n\tFROM t", "SELECT x FROM t"},
	{"SELECT x -- it's one\r FROM t", "SELECT x FROM t"},
	{"  SELECT x", "SELECT x"},
	{"", "-- nothing"}
};

static const Pair different[] = {
	{"SELECT f(1)", "SELECT g(1)"},
	{"SELECT x1", "SELECT x2"},
	{"SELECT \"a 1\"", "SELECT \"a 2\""},
	{"SELECT \"it's 1\", x", "SELECT \"it's 2\", x"},
	{"SELECT $1", "SELECT $2"},
	{"SELECT x FROM t1", "SELECT x FROM t2"},
	{"SELECT '\\' || x", "SELECT '\\' || y"},
	{"SELECT name'1' || x", "SELECT name'1' || y"},
	{"SELECT x - 1", "SELECT x + 1"},
	{"SELECT f(1), g(2)", "SELECT f(1, 2)"},
	{"SELECT f(1) + x", "SELECT f(1), x"},
	{"SELECT 1 / x", "SELECT 1 * x"},
	{"SELECT \303\2441", "SELECT \303\2442"},
	{"", "SELECT"}
};

static bool
are_same(const Pair *pair)
{
	PlhStatementShape shape;

	plh_statement_shape_of(&shape, pair->left, strlen(pair->left));
	return plh_statement_shape_equals(&shape, pair->right,
									  strlen(pair->right));
}

/*
 * Does the shape of each first part of a text, as PLH_STATEMENT_MAX may cut it,
 * fit where the part does?  The sanitizer sees what is read behind its end.
 */
static bool
may_be_cut(const char *text)
{
	bool		fits = true;

	for (Size length = 0; length <= strlen(text); length++)
	{
		PlhStatementShape *shape =
			malloc(offsetof(PlhStatementShape, text) + length);
		char	   *part = malloc(length);

		memcpy(part, text, length);
		plh_statement_shape_of(shape, part, length);
		fits = fits && shape->length <= length;
		free(part);
		free(shape);
	}
	return fits;
}

void
test_statement_shapes(void)
{
	for (int i = 0; i < lengthof(same); i++)
	{
		ok(are_same(&same[i]),
		   psprintf("a statement has the same shape: %s", same[i].right));
		ok(may_be_cut(same[i].left) && may_be_cut(same[i].right),
		   "each first part of statements of one shape has a shape");
	}
	for (int i = 0; i < lengthof(different); i++)
	{
		ok(!are_same(&different[i]),
		   psprintf("a statement has another shape: %s", different[i].right));
		ok(may_be_cut(different[i].left) && may_be_cut(different[i].right),
		   "each first part of statements of different shapes has a shape");
	}
}

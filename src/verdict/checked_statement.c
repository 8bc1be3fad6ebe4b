/*
 * checked_statement.c
 *	  Runs the statement of a leak check, which may be several, by SPI.
 *
 * SPI could run them all at once, but then a FETCH would go by the snapshot that the
 * cursor before it has registered, and SPI would change that: servers with assertions
 * end there.  So each is given to SPI by itself.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "nodes/parsenodes.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/resowner.h"

#include "verdict/checked_statement.h"

/* Error context callback: a syntax error is in this text, not in the client's. */
static void
point_into_text(void *arg)
{
	int			position = geterrposition();

	if (position <= 0)
		return;
	errposition(0);
	internalerrposition(position);
	internalerrquery(arg);
}

static List *
parse(const char *text)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = point_into_text,
		.arg = unconstify(char *, text)
	};
	List	   *parsed;

	error_context_stack = &callback;
	parsed = pg_parse_query(text);
	error_context_stack = callback.previous;
	return parsed;
}

/*
 * Returns the statements of a text, as a list of strings, or throws an ERROR if they
 * are none.
 */
List *
plh_checked_statement_split(const char *text)
{
	List	   *parsed = parse(text);
	List	   *statements = NIL;
	ListCell   *cell;

	if (parsed == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there is no statement to check")));
	foreach(cell, parsed)
	{
		const RawStmt *statement = lfirst_node(RawStmt, cell);
		const char *start = text + Max(0, statement->stmt_location);

		/* the last one goes to the end of the text */
		statements = lappend(statements, statement->stmt_len > 0 ?
							 pnstrdup(start, statement->stmt_len) :
							 pstrdup(start));
	}
	return statements;
}

/* Turn SPI's refusal of a statement into an error; others it throws itself. */
static void
check_result(int result)
{
	if (result == SPI_ERROR_TRANSACTION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("pg_leakhunt_check cannot run transaction commands"),
				 errdetail("All iterations run in the transaction of the caller.")));
	if (result == SPI_ERROR_COPY)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("pg_leakhunt_check cannot COPY to or from the client")));
	if (result < 0)
		elog(ERROR, "SPI_execute_extended failed: %s",
			 SPI_result_code_string(result));
}

/*
 * Run the statements once and drop their results.
 *
 * Sites are told apart by their stacks, which hold the return addresses in this
 * function and its callers.  All executions must therefore come here by the same
 * call instruction; "volatile" keeps the compiler from making copies of it.
 */
static void
execute(const List *statements, volatile bool roll_back)
{
	SPIExecuteOptions options = {.dest = None_Receiver};
	MemoryContext caller_context = CurrentMemoryContext;
	ResourceOwner caller_owner = CurrentResourceOwner;
	ListCell   *cell;

	if (roll_back)
	{
		BeginInternalSubTransaction(NULL);
		MemoryContextSwitchTo(caller_context);
	}
	foreach(cell, statements)
		check_result(SPI_execute_extended(lfirst(cell), &options));
	if (roll_back)
	{
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(caller_context);
		CurrentResourceOwner = caller_owner;
	}
}

/*
 * Run the statements once, "aloud" if the client is to hear of their notices; their
 * effects stay unless they are to be rolled back.  SPI must be connected.
 */
pg_noinline void
plh_checked_statement_execute(const List *statements, bool roll_back, bool aloud)
{
	volatile int wanted = client_min_messages;

	/* the client has seen notices and warnings once, in the first execution */
	if (!aloud)
		client_min_messages = ERROR;
	PG_TRY();
	{
		execute(statements, roll_back);
	}
	PG_FINALLY();
	{
		/* the statement may have set it meanwhile */
		if (client_min_messages == ERROR)
			client_min_messages = wanted;
	}
	PG_END_TRY();
}

/*
 * test_common_causes.c
 *	  What processes are suspected of alike.
 */
#include "postgres.h"

#include "nodes/pg_list.h"

#include "reader_tests.h"
#include "telling/common_causes.h"

static List *causes;

static PlhCommonCause *
enter(int pid, const char *verdict, const char *common, int64 bytes)
{
	PlhCommonCause finding = {
		.verdict = verdict,.common = common,.pid = pid,.bytes = bytes
	};

	return plh_common_causes_enter(&causes, &finding);
}

void
test_common_causes(void)
{
	static char first[] = "told of the first";
	PlhCommonCause crashed = {
		.verdict = "leak",.common = "f in TopMemoryContext",.pid = 4,.bytes = 100,.is_gone = true
	};
	PlhCommonCause *cause;

	causes = NIL;
	cause = enter(1, "leak", "f in TopMemoryContext", 10);
	ok(cause->processes == 1 && cause->pid == 1 && cause->told == NULL,
	   "a cause begins with a process");
	cause->told = first;
	ok(enter(1, "leak", "f in TopMemoryContext", 5) == cause && cause->processes == 1 &&
	   cause->bytes == 15 && cause->told == first,
	   "several findings of a process with one cause are one process");
	(void) enter(2, "leak", "f in TopMemoryContext", 12);
	ok(cause->processes == 2 && cause->bytes == 27 && cause->pid == 1 && cause->told == first,
	   "what is told is of the process that has most in all of its findings");
	(void) enter(2, "leak", "f in TopMemoryContext", 4);
	ok(cause->processes == 2 && cause->pid == 2 && cause->told == NULL,
	   "it is told anew of another one that has more");
	ok(enter(3, "leak", "g in TopMemoryContext", 1) != cause &&
	   enter(3, "held", "f in TopMemoryContext", 1) != cause &&
	   plh_common_causes_enter(&causes, &crashed) != cause && list_length(causes) == 4,
	   "another place, another verdict, and processes that have crashed are causes of their own");
}

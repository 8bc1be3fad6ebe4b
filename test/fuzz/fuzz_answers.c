/*
 * fuzz_answers.c
 *	  A session that asks for symbols, and what it gets through the pipe from a
 *	  process that a broken file may have taken over.
 *
 * No process is started: the bytes of the input are in the pipe, and then it ends.
 */
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pretend_fork(void);
static int	note_pipe(int *ends, int flags);
static pid_t pretend_wait(pid_t pid, int *status, int flags);
static int	pretend_kill(pid_t pid, int signal);

#define fork pretend_fork
#define pipe2 note_pipe
#define waitpid pretend_wait
#define kill pretend_kill
#include "symbols/symbolizer.c"
#undef fork
#undef pipe2
#undef waitpid
#undef kill

#include "fuzz.h"
#include "symbols/symbol_cache.h"
#include "symbols/symbols.h"

#define CHILD 4711

/* Questions of a session, as long as it gets answers. */
#define QUESTIONS 8

/* More does not fit into a pipe that nobody reads from. */
#define MAX_BYTES 65000

static const uint8 *input;
static size_t input_bytes;

/* The ends of the pipes that the process would have. */
static int	pipes[2][2];
static int	pipe_count;
static int	question_end = -1;

static int
note_pipe(int *ends, int flags)
{
	int			result = pipe2(ends, flags);

	memcpy(pipes[pipe_count++ % 2], ends, sizeof(pipes[0]));
	return result;
}

/* The process would keep its end of the questions open, and send answers. */
static pid_t
pretend_fork(void)
{
	question_end = dup(pipes[0][0]);
	if (!plh_whole_io_write(pipes[1][1], input, input_bytes, PLH_FILE_POSITION))
		abort();
	return CHILD;
}

static pid_t
pretend_wait(pid_t pid, int *status, int flags)
{
	*status = input_bytes % 2 == 0 ? SIGSEGV : 0;
	close(question_end);
	return pid;
}

static int
pretend_kill(pid_t pid, int signal)
{
	return 0;
}

/* The process is forked only in pretence. */
void
plh_symbol_server_run(int question_fd, int answer_fd, pid_t session,
					  const char *debuginfod_urls)
{
	abort();
}

void
ReserveExternalFD(void)
{
}

void
ReleaseExternalFD(void)
{
}

/* Names must be texts that lie in memory that may be read. */
static void
look_at(const PlhSymbolFrames *found)
{
	HOLDS(found->count >= 0 && found->count <= PLH_MAX_INLINED);
	for (int i = 0; i < found->count; i++)
	{
		const PlhSourceFrame *frame = &found->frames[i];

		HOLDS(strlen(frame->function) < PLH_ANSWER_MAX);
		HOLDS(frame->file == NULL || strlen(frame->file) < PLH_ANSWER_MAX);
		HOLDS(frame->line >= 0);
	}
	(void) plh_symbols_status_word(found->status);
}

static void
ask_for_symbols(void *arg)
{
	/* what was cached in a run before is not found: each has its own module */
	static TimestampTz seen_at = 0;
	PlhModuleRecord *module = palloc0(offsetof(PlhModuleRecord, path) + 16);
	PlhSymbols *symbols = plh_symbols_open();
	PlhSymbolFrames found;
	PlhSymbolModule whole;

	module->seen_at = ++seen_at;
	module->path_bytes = strlen(strcpy(module->path, "/lib/a.so"));
	for (int i = 0; i < QUESTIONS; i++)
	{
		/* two questions about each address: the second one is for the cache */
		plh_symbols_lookup(symbols, module, i / 2, &found);
		fuzz_accepted += found.count > 0;
		look_at(&found);
	}
	plh_symbols_module(symbols, module, &whole);
	HOLDS(whole.file == NULL || strlen(whole.file) < PLH_ANSWER_MAX);
	(void) plh_symbols_source_name(whole.source);
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t bytes)
{
	signal(SIGPIPE, SIG_IGN);
	input = data;
	input_bytes = Min(bytes, MAX_BYTES);
	pipe_count = 0;
	HOLDS(fuzz_run(bytes, ask_for_symbols, NULL) == 0);
	return 0;
}

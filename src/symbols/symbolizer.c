/*
 * symbolizer.c
 *	  A process that reads binaries and debug files for a session.
 *
 * Forked from the session when it first asks, it lives until the session has
 * what it wants: the end of the memory context that it belongs to.  It calls
 * nothing of PostgreSQL's, and leaves by _exit or a signal.
 *
 * Questions and answers travel through two pipes, one pair at a time.  An
 * answer is checked as if a stranger had written it.
 */
#include "postgres.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/whole_io.h"
#include "reader/database_text.h"
#include "symbols/debug_info.h"
#include "symbols/symbol_server.h"
#include "symbols/symbolizer.h"

/* Modules that may cost a symbolizer its life before no more are tried. */
#define MAX_FAILED_MODULES 8

/* Longest wait for an answer before interrupts are looked at again. */
#define POLL_MS 100

struct PlhSymbolizer
{
	pid_t		pid;			/* 0: not running */
	int			question_fd;	/* we write */
	int			answer_fd;		/* we read */
	bool		refused;		/* it could not be started */
	int			failed_count;
	PlhSymbolQuestion failed[MAX_FAILED_MODULES];
	MemoryContextCallback callback;
};

/*
 * End the symbolizer, if it runs.  Returns its wait status, 0 if somebody else,
 * such as a procedural language, has got it.
 */
static int
stop_symbolizer(PlhSymbolizer *symbolizer)
{
	int			status = 0;
	pid_t		waited;

	if (symbolizer->pid == 0)
		return 0;
	close(symbolizer->question_fd);
	close(symbolizer->answer_fd);
	ReleaseExternalFD();
	ReleaseExternalFD();

	/* only what is still our child may be killed */
	waited = waitpid(symbolizer->pid, &status, WNOHANG);
	if (waited == 0)
	{
		(void) kill(symbolizer->pid, SIGKILL);
		while (waitpid(symbolizer->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	symbolizer->pid = 0;
	return status;
}

/* Memory context callback. */
static void
stop_callback(void *arg)
{
	(void) stop_symbolizer(arg);
}

/* fork, without a handler of the session's ever running in the child. */
static pid_t
fork_child(void)
{
	sigset_t	all_signals;
	sigset_t	signals;
	pid_t		pid;
	int			saved_errno;

	/* stdio's buffers are not the child's to write */
	fflush(NULL);
	sigfillset(&all_signals);
	sigprocmask(SIG_SETMASK, &all_signals, &signals);
	pid = fork();
	if (pid != 0)
	{
		saved_errno = errno;
		sigprocmask(SIG_SETMASK, &signals, NULL);
		errno = saved_errno;
	}
	return pid;
}

/* Start the symbolizer; false, with errno set, if that can't be done. */
static bool
start_symbolizer(PlhSymbolizer *symbolizer)
{
	pid_t		session = getpid();
	int			question_pipe[2] = {-1, -1};
	int			answer_pipe[2] = {-1, -1};
	int			saved_errno;

	/* makes room for them, too */
	ReserveExternalFD();
	ReserveExternalFD();

	/*
	 * A program that the session starts meanwhile must not hold the pipes, or
	 * the symbolizer would not see them end.  Our own child does not exec.
	 */
	if (pipe2(question_pipe, O_CLOEXEC) == 0 &&
		pipe2(answer_pipe, O_CLOEXEC) == 0)
	{
		symbolizer->pid = fork_child();
		if (symbolizer->pid == 0)
			plh_symbol_server_run(question_pipe[0], answer_pipe[1], session);
	}
	else
		symbolizer->pid = -1;

	saved_errno = errno;
	if (question_pipe[0] >= 0)
		close(question_pipe[0]);
	if (answer_pipe[1] >= 0)
		close(answer_pipe[1]);
	symbolizer->question_fd = question_pipe[1];
	symbolizer->answer_fd = answer_pipe[0];
	if (symbolizer->pid > 0)
		return true;

	symbolizer->pid = 0;
	if (question_pipe[1] >= 0)
		close(question_pipe[1]);
	if (answer_pipe[0] >= 0)
		close(answer_pipe[0]);
	ReleaseExternalFD();
	ReleaseExternalFD();
	errno = saved_errno;
	return false;
}

/* Read from the symbolizer; false if it is gone. */
static bool
receive(PlhSymbolizer *symbolizer, void *data, Size bytes)
{
	struct pollfd answer = {symbolizer->answer_fd, POLLIN, 0};
	char	   *position = data;

	while (bytes > 0)
	{
		ssize_t		done;

		/* it may have to wait for a server of debug files */
		while (poll(&answer, 1, POLL_MS) <= 0)
			CHECK_FOR_INTERRUPTS();
		done = read(symbolizer->answer_fd, position, bytes);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		position += done;
		bytes -= done;
	}
	return true;
}

/* Put a question; false if there is no sensible answer. */
static bool
exchange(PlhSymbolizer *symbolizer, PlhSymbolQuestion *question,
		 PlhSymbolAnswer *answer)
{
	return plh_whole_io_write(symbolizer->question_fd, question,
							  sizeof(*question), PLH_FILE_POSITION) &&
		receive(symbolizer, answer, PLH_ANSWER_HEAD_BYTES) &&
		plh_symbol_protocol_is_sound(answer) &&
		receive(symbolizer, answer->frames, answer->frames_bytes);
}

/* Don't ask about that module again. */
static void
note_failure(PlhSymbolizer *symbolizer, const PlhSymbolQuestion *question,
			 int status)
{
	/* a server that stops may have ended it */
	CHECK_FOR_INTERRUPTS();

	Assert(symbolizer->failed_count < MAX_FAILED_MODULES);
	symbolizer->failed[symbolizer->failed_count++] = *question;
	ereport(WARNING,
			(errmsg("could not read the symbols of \"%s\"",
					plh_database_text_fit(question->path)),
			 WIFSIGNALED(status) ?
			 errdetail("The process that read them was terminated by signal %d.",
					   WTERMSIG(status)) :
			 errdetail("The process that read them gave no answer."),
			 errhint("The file, or its debug file, may be damaged.")));
}

/*
 * A symbolizer for as long as the current memory context lives.  Nothing is
 * started before the first question.
 */
PlhSymbolizer *
plh_symbolizer_open(void)
{
	PlhSymbolizer *symbolizer = palloc0(sizeof(PlhSymbolizer));

	symbolizer->callback.func = stop_callback;
	symbolizer->callback.arg = symbolizer;
	MemoryContextRegisterResetCallback(CurrentMemoryContext,
									   &symbolizer->callback);
	return symbolizer;
}

/*
 * Ask what is at an address of a module, or PLH_WHOLE_MODULE.  There is always
 * an answer; where the symbolizer died of the module's files a WARNING says so,
 * and it is not asked about that module again.
 */
void
plh_symbolizer_ask(PlhSymbolizer *symbolizer, const PlhModuleRecord *module,
				   uint64 address, PlhSymbolAnswer *answer)
{
	PlhSymbolQuestion question = {0};

	answer->status = PLH_MODULE_NO_FILE;
	answer->source = PLH_SOURCE_NOTHING;
	answer->frames_bytes = 0;
	question.address = address;
	question.seen_at = (module->seen_at + PLH_UNIX_EPOCH_US) / USECS_PER_SEC;
	question.build_id_bytes = Min(module->build_id_bytes, PLH_BUILD_ID_MAX);
	memcpy(question.build_id, module->build_id, question.build_id_bytes);
	if (strlcpy(question.path, module->path,
				sizeof(question.path)) >= sizeof(question.path))
		return;

	for (int i = 0; i < symbolizer->failed_count; i++)
	{
		if (plh_symbol_protocol_same_module(&symbolizer->failed[i], &question))
		{
			answer->status = PLH_MODULE_FAILED;
			return;
		}
	}

	answer->status = PLH_MODULE_FAILED;
	if (symbolizer->pid == 0 && !symbolizer->refused &&
		!start_symbolizer(symbolizer))
	{
		symbolizer->refused = true;
		ereport(WARNING,
				(errmsg("could not start a process to read symbols: %m"),
				 errdetail("Functions are shown as module and offset.")));
	}
	if (symbolizer->refused)
		answer->status = PLH_MODULE_NOT_ASKED;
	else if (symbolizer->failed_count < MAX_FAILED_MODULES)
	{
		if (exchange(symbolizer, &question, answer))
			return;
		note_failure(symbolizer, &question, stop_symbolizer(symbolizer));
		answer->status = PLH_MODULE_FAILED;
	}
	answer->source = PLH_SOURCE_NOTHING;
	answer->frames_bytes = 0;
}

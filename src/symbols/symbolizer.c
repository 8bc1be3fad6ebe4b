/*
 * symbolizer.c
 *	  The session's side of a process that reads binaries and debug files.
 *
 * The process is forked at the first question, and told to leave when the memory context that the
 * symbolizer belongs to is reset.  symbol_server.c is all that it runs.
 *
 * Questions and answers travel through two pipes, one pair at a time.  An answer is checked as if a
 * stranger had written it.
 */
#include "postgres.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/limits.h"
#include "base/settings.h"
#include "base/whole_io.h"
#include "reader/database_text.h"
#include "symbols/symbol_server.h"
#include "symbols/symbolizer.h"

/* After the process has ended over this many modules, no further one is tried. */
#define MAX_FAILED_MODULES 8

/* Time between two checks for interrupts while an answer is awaited. */
#define POLL_MS 100

/*
 * A process that was told to leave is gone in no time, unless it hangs in the kernel, as on a
 * network file system: it is looked after this often, in ever longer pauses up to this, and then
 * left for later.
 */
#define REAP_TRIES 100
#define REAP_PAUSE_US 10000
#define MAX_UNREAPED 8

struct PlhSymbolizer
{
	pid_t		pid;			/* 0: not running */
	int			question_fd;	/* we write here */
	int			answer_fd;		/* we read here */
	bool		refused;		/* not started, or not to be asked any more */
	bool		(*must_stop) (void);	/* see plh_symbolizer_limit; or NULL */
	PlhSymbolQuestion question; /* the last */
	int			failed_count;
	PlhSymbolQuestion failed[MAX_FAILED_MODULES];	/* one per module */
	MemoryContextCallback callback; /* ends the process */
};

/* Killed processes that have not gone yet; 0: none. */
static pid_t unreaped[MAX_UNREAPED];

/* Does not wait.  What is still there when the session ends is init's. */
static void
reap_unreaped(void)
{
	for (int i = 0; i < MAX_UNREAPED; i++)
		if (unreaped[i] != 0 && waitpid(unreaped[i], NULL, WNOHANG) != 0)
			unreaped[i] = 0;
}

/* Wait for a process that was told to leave, but not for long.  Returns its wait status. */
static int
reap(pid_t pid)
{
	int			status = 0;
	long		pause_us = 100;

	for (int tries = 0; tries < REAP_TRIES; tries++)
	{
		pid_t		waited = waitpid(pid, &status, WNOHANG);

		if (waited > 0)
			return status;
		if (waited < 0 && errno != EINTR)
			return 0;
		pg_usleep(pause_us);
		pause_us = Min(2 * pause_us, REAP_PAUSE_US);
	}
	for (int i = 0; i < MAX_UNREAPED; i++)
		if (unreaped[i] == 0)
		{
			unreaped[i] = pid;
			break;
		}
	return 0;
}

/*
 * End the process, if it runs.  Returns the wait status with which it has ended by itself, or 0: we
 * have ended it, or somebody else, such as a procedural language, has waited for it.
 */
static int
stop_symbolizer(PlhSymbolizer *symbolizer)
{
	int			status = 0;
	pid_t		waited;

	reap_unreaped();
	if (symbolizer->pid == 0)
		return 0;
	close(symbolizer->question_fd);
	close(symbolizer->answer_fd);
	ReleaseExternalFD();
	ReleaseExternalFD();

	/* only if it is still our child: the pid may have a new owner */
	waited = waitpid(symbolizer->pid, &status, WNOHANG);
	if (waited == 0)
	{
		(void) kill(symbolizer->pid, SIGUSR1);
		status = reap(symbolizer->pid);
	}
	symbolizer->pid = 0;
	return status;
}

static void
stop_callback(void *arg)
{
	(void) stop_symbolizer(arg);
}

/* Fork with all signals blocked, so that no handler of ours runs in the child. */
static pid_t
fork_child(void)
{
	sigset_t	all_signals;
	sigset_t	signals;
	pid_t		pid;
	int			saved_errno;

	/* the child must not write what is left in our stdio buffers */
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

/* Start the process.  Returns false, with errno set, on failure. */
static bool
start_symbolizer(PlhSymbolizer *symbolizer)
{
	pid_t		session = getpid();
	int			question_pipe[2] = {-1, -1};
	int			answer_pipe[2] = {-1, -1};
	int			saved_errno;

	/* count our ends of the pipes; this closes other files to make room */
	ReserveExternalFD();
	ReserveExternalFD();

	/*
	 * a program that the session starts must not hold the pipes open; our
	 * child does not exec
	 */
	if (pipe2(question_pipe, O_CLOEXEC) == 0 && pipe2(answer_pipe, O_CLOEXEC) == 0)
	{
		symbolizer->pid = fork_child();
		if (symbolizer->pid == 0)
		{
			/* what it allocates is no sample: it gives shared memory up */
			plh_guard_held = true;
			plh_symbol_server_run(question_pipe[0], answer_pipe[1], session, plh_debuginfod_urls);
		}
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

/* Shall no further question be asked, and no answer be waited for? */
static bool
must_stop(PlhSymbolizer *symbolizer)
{
	if (symbolizer->must_stop != NULL && symbolizer->must_stop())
		symbolizer->refused = true;
	return symbolizer->refused;
}

/*
 * Returns false if it is gone, or can't be waited for.  Not by plh_whole_io_read: one that stops in
 * the middle of an answer must not keep the session from being cancelled.
 */
static bool
receive(PlhSymbolizer *symbolizer, void *data, Size bytes)
{
	struct pollfd answer = {symbolizer->answer_fd, POLLIN, 0};
	char	   *position = data;

	while (bytes > 0)
	{
		ssize_t		done;
		int			ready;

		/* the symbolizer may have to wait for a debuginfod server */
		while ((ready = poll(&answer, 1, POLL_MS)) <= 0)
		{
			/* without memory, it would fail again and again */
			if (ready < 0 && errno != EINTR)
				return false;
			CHECK_FOR_INTERRUPTS();
			if (must_stop(symbolizer))
				return false;
		}
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

static bool
receive_answer(PlhSymbolizer *symbolizer, PlhSymbolAnswer *answer)
{
	return receive(symbolizer, answer, PLH_ANSWER_HEAD_BYTES) &&
		plh_symbol_protocol_is_sound(answer) &&
		receive(symbolizer, answer->frames, answer->frames_bytes);
}

/* What it died of is not known: the file, its debug file, or a library that is preloaded. */
static int
detail_end(int status)
{
	if (WIFSIGNALED(status))
		return errdetail("The symbol reader was terminated by signal %d while reading this file.",
						 WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		return errdetail("The symbol reader exited with code %d while reading this file.",
						 WEXITSTATUS(status));
	return errdetail("The symbol reader gave an invalid answer about this file.");
}

static void
note_failure(PlhSymbolizer *symbolizer, const PlhSymbolQuestion *question, int status)
{
	/* at a shutdown the process may die first: then leave without a report */
	CHECK_FOR_INTERRUPTS();

	Assert(symbolizer->failed_count < MAX_FAILED_MODULES);
	symbolizer->failed[symbolizer->failed_count++] = *question;
	ereport(WARNING, (errmsg("could not read the symbols of \"%s\"",
							 plh_database_text_fit(question->path)),
					  detail_end(status)));
}

PlhSymbolizer *
plh_symbolizer_open(void)
{
	PlhSymbolizer *symbolizer = palloc0(sizeof(PlhSymbolizer));

	symbolizer->callback.func = stop_callback;
	symbolizer->callback.arg = symbolizer;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &symbolizer->callback);
	return symbolizer;
}

/* Once "must_stop" says so, all answers are that nobody was asked, even one that is awaited. */
void
plh_symbolizer_limit(PlhSymbolizer *symbolizer, bool (*must_stop) (void))
{
	symbolizer->must_stop = must_stop;
}

/* End a process that gives no answer.  Returns what is to be said of the module. */
static PlhModuleStatus
give_up(PlhSymbolizer *symbolizer)
{
	int			status = stop_symbolizer(symbolizer);

	if (symbolizer->refused)
		return PLH_MODULE_NOT_ASKED;
	note_failure(symbolizer, &symbolizer->question, status);
	return PLH_MODULE_FAILED;
}

/* Make the question; false if the path does not fit into it. */
static bool
make_question(PlhSymbolQuestion *question, const PlhModuleRecord *module, uint64 address)
{
	memset(question, 0, sizeof(*question));
	question->address = address;
	question->seen_at = module->seen_at == PLH_ANY_VERSION ? PLH_ANY_VERSION :
		(module->seen_at + PLH_UNIX_EPOCH_US) / USECS_PER_SEC;
	question->build_id_bytes = Min(module->build_id_bytes, PLH_BUILD_ID_MAX);
	memcpy(question->build_id, module->build_id, question->build_id_bytes);
	return strlcpy(question->path, module->path, sizeof(question->path)) <
		sizeof(question->path);
}

static bool
has_failed(const PlhSymbolizer *symbolizer)
{
	for (int i = 0; i < symbolizer->failed_count; i++)
		if (plh_symbol_protocol_same_module(&symbolizer->failed[i], &symbolizer->question))
			return true;
	return symbolizer->failed_count == MAX_FAILED_MODULES;
}

/*
 * Send a question about an address of a module, or PLH_WHOLE_MODULE.  Returns PLH_MODULE_OPEN if an
 * answer is to be taken, or else why there is none.  If the process dies over the module's files, a
 * WARNING says so, and later questions about the module are answered without asking.
 */
PlhModuleStatus
plh_symbolizer_send(PlhSymbolizer *symbolizer, const PlhModuleRecord *module, uint64 address)
{
	if (!make_question(&symbolizer->question, module, address))
		return PLH_MODULE_NO_FILE;
	if (has_failed(symbolizer))
		return PLH_MODULE_FAILED;
	if (symbolizer->pid == 0 && !symbolizer->refused && !start_symbolizer(symbolizer))
	{
		symbolizer->refused = true;
		ereport(WARNING, (errmsg("could not start a process to read symbols: %m"),
						  errdetail("Functions are shown as module and offset.")));
	}
	if (must_stop(symbolizer))
		return PLH_MODULE_NOT_ASKED;
	return plh_whole_io_write(symbolizer->question_fd, &symbolizer->question,
							  sizeof(symbolizer->question), PLH_FILE_POSITION) ?
		PLH_MODULE_OPEN : give_up(symbolizer);
}

/* Is there an answer, or the end of the process, within that time? */
bool
plh_symbolizer_is_ready(PlhSymbolizer *symbolizer, int wait_ms)
{
	struct pollfd answer = {symbolizer->answer_fd, POLLIN, 0};

	return poll(&answer, 1, wait_ms) > 0;
}

void
plh_symbolizer_take(PlhSymbolizer *symbolizer, PlhSymbolAnswer *answer)
{
	if (!receive_answer(symbolizer, answer))
		plh_symbol_protocol_set_status(answer, give_up(symbolizer));
}

void
plh_symbolizer_ask(PlhSymbolizer *symbolizer, const PlhModuleRecord *module,
				   uint64 address, PlhSymbolAnswer *answer)
{
	PlhModuleStatus status = plh_symbolizer_send(symbolizer, module, address);

	if (status == PLH_MODULE_OPEN)
		plh_symbolizer_take(symbolizer, answer);
	else
		plh_symbol_protocol_set_status(answer, status);
}

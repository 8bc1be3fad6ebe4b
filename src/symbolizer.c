/*
 * symbolizer.c
 *	  A process that reads binaries and debug files for a session.
 *
 * Forked from the session when it first asks, it lives until the session has
 * what it wants: the end of the memory context that it belongs to.  It calls
 * nothing of PostgreSQL's, and leaves by _exit or a signal.
 *
 * Question and answer go through pipes, one at a time.  What comes back is
 * checked as if a stranger had written it.
 */
#include "postgres.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "database_text.h"
#include "symbolizer.h"

/* Modules that may cost a symbolizer its life before no more are tried. */
#define MAX_FAILED_MODULES 8

/* CPU time for one question, and memory, that only a broken file takes. */
#define MAX_CPU_SECONDS 120
#define MAX_MEMORY_BYTES ((rlim_t) 16 * 1024 * 1024 * 1024)

/* Modules that a symbolizer keeps open. */
#define MAX_OPEN_MODULES 256

typedef struct Question
{
	uint64		address;
	int64		seen_at;		/* seconds since 1970 */
	uint32		build_id_bytes;
	unsigned char build_id[PLH_BUILD_ID_MAX];
	char		path[MAXPGPATH];
} Question;

struct PlhSymbolizer
{
	pid_t		pid;			/* 0: not running */
	int			question_fd;	/* we write */
	int			answer_fd;		/* we read */
	bool		refused;		/* it could not be started */
	int			failed_count;
	Question	failed[MAX_FAILED_MODULES];
	MemoryContextCallback callback;
};

/*
 * ---- in the symbolizer ----
 */

typedef struct ServedModule
{
	Question	question;		/* the first that was asked about it */
	PlhModuleStatus status;
	PlhDebugModule *module;		/* NULL unless status is PLH_MODULE_OPEN */
} ServedModule;

/* Read or write all of it; false at the end, or on an error. */
static bool
transfer(int fd, void *data, Size bytes, bool writing)
{
	char	   *position = data;

	while (bytes > 0)
	{
		ssize_t		done = writing ? write(fd, position, bytes) :
			read(fd, position, bytes);

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
same_module(const Question *left, const Question *right)
{
	return left->build_id_bytes == right->build_id_bytes &&
		memcmp(left->build_id, right->build_id, left->build_id_bytes) == 0 &&
		(left->build_id_bytes > 0 || left->seen_at == right->seen_at) &&
		strcmp(left->path, right->path) == 0;
}

/* The module that is asked about, opened if that is not done yet. */
static const ServedModule *
serve_module(const Question *question)
{
	static ServedModule modules[MAX_OPEN_MODULES];
	static int	count = 0;
	ServedModule *served;
	PlhBinary	binary = {
		question->path, question->build_id, question->build_id_bytes,
		question->seen_at
	};

	for (int i = 0; i < count; i++)
	{
		if (same_module(&modules[i].question, question))
			return &modules[i];
	}

	/* more than that, and they take turns in the last place */
	if (count == MAX_OPEN_MODULES)
	{
		served = &modules[count - 1];
		if (served->module != NULL)
			plh_debug_info_close(served->module);
	}
	else
		served = &modules[count++];
	served->question = *question;
	served->module = NULL;
	served->status = plh_debug_info_open(&binary, &served->module);
	return served;
}

/* Append a frame to the answer; false if there is no room for it. */
static bool
put_frame(PlhSymbolAnswer *answer, const PlhSourceFrame *frame)
{
	char	   *demangled = plh_debug_info_demangle(frame->function);
	const char *function = demangled != NULL ? demangled : frame->function;
	const char *file = frame->file != NULL ? frame->file : "";
	Size		function_bytes = strlen(function) + 1;
	Size		file_bytes = strlen(file) + 1;
	uint32		line = (uint32) frame->line & 0x7FFFFFFF;
	char	   *position = answer->frames + answer->frames_bytes;
	bool		fits;

	if (frame->inlined)
		line |= 0x80000000;
	fits = sizeof(line) + function_bytes + file_bytes <=
		sizeof(answer->frames) - answer->frames_bytes;
	if (fits)
	{
		memcpy(position, &line, sizeof(line));
		memcpy(position + sizeof(line), function, function_bytes);
		memcpy(position + sizeof(line) + function_bytes, file, file_bytes);
		answer->frames_bytes += sizeof(line) + function_bytes + file_bytes;
	}
	free(demangled);
	return fits;
}

static void
answer_question(const Question *question, PlhSymbolAnswer *answer)
{
	const ServedModule *served = serve_module(question);
	PlhSourceFrame frames[PLH_MAX_INLINED] = {{0}};
	const char *file = NULL;
	int			count = 0;

	answer->status = served->status;
	answer->source = PLH_SOURCE_NOTHING;
	answer->frames_bytes = 0;
	if (served->module == NULL)
		return;

	answer->source = plh_debug_info_source(served->module, &file);
	if (question->address == PLH_WHOLE_MODULE)
	{
		frames[0].function = "";
		frames[0].file = file;
		count = 1;
	}
	else
		count = plh_debug_info_frames(served->module, question->address,
									  frames);

	for (int i = 0; i < count && put_frame(answer, &frames[i]); i++)
		;
}

/*
 * The session is gone.  In a container the postmaster may be the one that is
 * told of our end, and take a signal for the crash of a server process.
 */
static void
leave_quietly(int signal_number)
{
	_exit(0);
}

/*
 * Unmap all memory that is shared with the server: what goes wrong here must
 * not reach it.  Plain system calls, as nothing is known to work yet.
 */
static bool
unmap_shared_memory(void)
{
	static char text[1024 * 1024];
	Size		length = 0;
	int			fd = open("/proc/self/maps", O_RDONLY);
	ssize_t		done;

	if (fd < 0)
		return false;
	while (length < sizeof(text) - 1 &&
		   (done = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
		length += done;
	close(fd);
	if (length == sizeof(text) - 1)
		return false;
	text[length] = '\0';

	for (char *line = text; *line != '\0';)
	{
		char	   *end = strchr(line, '\n');
		char	   *rest;
		unsigned long from = strtoul(line, &rest, 16);
		unsigned long to = *rest == '-' ? strtoul(rest + 1, &rest, 16) : 0;

		/* as in "7f0000000000-7f0000010000 rw-s ..." */
		if (to > from && strlen(rest) > 5 && rest[4] == 's' &&
			munmap((void *) from, to - from) != 0)
			return false;
		if (end == NULL)
			break;
		line = end + 1;
	}
	return true;
}

/* Keep nothing open but 0, 1 and 2, that others may think is closed. */
static void
close_other_files(void)
{
	struct rlimit limit;

#ifdef SYS_close_range
	if (syscall(SYS_close_range, 3, ~0U, 0) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 65536)
		limit.rlim_cur = 65536;
	for (int fd = 3; fd < (int) limit.rlim_cur; fd++)
		close(fd);
}

/* Be the first to go when memory runs out, and take no more than a lot. */
static void
limit_resources(void)
{
	struct rlimit core_limit = {0, 0};
	struct rlimit memory_limit = {MAX_MEMORY_BYTES, MAX_MEMORY_BYTES};
	int			fd = open("/proc/self/oom_score_adj", O_WRONLY);

	if (fd >= 0)
	{
		/* without it we are as likely a victim as the session */
		if (write(fd, "1000", 4) != 4)
			errno = 0;
		close(fd);
	}
	(void) setrlimit(RLIMIT_AS, &memory_limit);

	/* a crash is no news to anybody */
	(void) setrlimit(RLIMIT_CORE, &core_limit);
	(void) prctl(PR_SET_DUMPABLE, 0);
}

/*
 * Become a process that has nothing in common with the session's, not even the
 * signals that are sent to its group.
 */
static void
detach(int question_fd, int answer_fd, pid_t session)
{
	sigset_t	no_signals;
	int			null_fd;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	signal(SIGUSR1, leave_quietly);
	signal(SIGPIPE, leave_quietly);
	sigemptyset(&no_signals);
	sigprocmask(SIG_SETMASK, &no_signals, NULL);
	(void) setsid();
	(void) prctl(PR_SET_PDEATHSIG, SIGUSR1);
	if (getppid() != session)
		_exit(0);
	(void) prctl(PR_SET_NAME, "pg_leakhunt");

	/* first out of the way of 0 to 2, where they could be, too */
	question_fd = fcntl(question_fd, F_DUPFD, 16);
	answer_fd = fcntl(answer_fd, F_DUPFD, 16);
	null_fd = open("/dev/null", O_WRONLY);
	if (dup2(null_fd, 2) < 0 || dup2(question_fd, 0) < 0 ||
		dup2(answer_fd, 1) < 0)
		_exit(1);
	close_other_files();
	if (!unmap_shared_memory())
		_exit(1);
	limit_resources();
}

/* A question may take so much CPU time from now on. */
static void
limit_cpu_time(void)
{
	struct rusage used;
	struct rlimit limit;

	if (getrusage(RUSAGE_SELF, &used) != 0 ||
		getrlimit(RLIMIT_CPU, &limit) != 0)
		return;
	limit.rlim_cur = used.ru_utime.tv_sec + used.ru_stime.tv_sec +
		MAX_CPU_SECONDS;
	(void) setrlimit(RLIMIT_CPU, &limit);
}

/* All that the symbolizer does. */
static void
serve(void)
{
	static PlhSymbolAnswer answer;
	static Question question;

	while (transfer(0, &question, sizeof(question), false))
	{
		limit_cpu_time();
		answer_question(&question, &answer);
		if (!transfer(1, &answer, offsetof(PlhSymbolAnswer, frames) +
					  answer.frames_bytes, true))
			break;
	}
}

/*
 * ---- in the session ----
 */

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
	if (pipe(question_pipe) == 0 && pipe(answer_pipe) == 0)
	{
		symbolizer->pid = fork_child();
		if (symbolizer->pid == 0)
		{
			detach(question_pipe[0], answer_pipe[1], session);
			serve();
			_exit(0);
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
		while (poll(&answer, 1, 100) <= 0)
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
exchange(PlhSymbolizer *symbolizer, Question *question,
		 PlhSymbolAnswer *answer)
{
	return transfer(symbolizer->question_fd, question, sizeof(*question),
					true) &&
		receive(symbolizer, answer, offsetof(PlhSymbolAnswer, frames)) &&
		answer->status <= PLH_MODULE_NOT_ASKED &&
		answer->source <= PLH_SOURCE_DEBUG_INFORMATION &&
		answer->frames_bytes <= sizeof(answer->frames) &&
		receive(symbolizer, answer->frames, answer->frames_bytes);
}

/* Don't ask about that module again. */
static void
note_failure(PlhSymbolizer *symbolizer, const Question *question, int status)
{
	/* a server that stops may have ended it */
	CHECK_FOR_INTERRUPTS();

	symbolizer->failed[symbolizer->failed_count++] = *question;
	ereport(WARNING,
			(errmsg("could not read the symbols of \"%s\"",
					plh_text_for_database(question->path)),
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
	Question	question = {0};

	answer->status = PLH_MODULE_NO_FILE;
	answer->source = PLH_SOURCE_NOTHING;
	answer->frames_bytes = 0;
	question.address = address;
	question.seen_at = module->seen_at / USECS_PER_SEC +
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
	question.build_id_bytes = Min(module->build_id_bytes, PLH_BUILD_ID_MAX);
	memcpy(question.build_id, module->build_id, question.build_id_bytes);
	if (strlcpy(question.path, module->path,
				sizeof(question.path)) >= sizeof(question.path))
		return;

	for (int i = 0; i < symbolizer->failed_count; i++)
	{
		if (same_module(&symbolizer->failed[i], &question))
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

/*
 * Read the frame at "position" of the frames of an answer, which end at "end".
 * Returns the position of the next one; NULL, and no frame, if there is none.
 */
const char *
plh_symbolizer_frame(const char *position, const char *end,
					 PlhSourceFrame *frame)
{
	uint32		line;
	const char *function_end;
	const char *file_end;

	if (end - position < (ptrdiff_t) sizeof(line))
		return NULL;
	memcpy(&line, position, sizeof(line));
	position += sizeof(line);
	function_end = memchr(position, '\0', end - position);
	if (function_end == NULL)
		return NULL;
	file_end = memchr(function_end + 1, '\0', end - function_end - 1);
	if (file_end == NULL)
		return NULL;

	frame->function = position;
	frame->file = file_end > function_end + 1 ? function_end + 1 : NULL;
	frame->line = line & 0x7FFFFFFF;
	frame->inlined = (line & 0x80000000) != 0;
	return file_end + 1;
}

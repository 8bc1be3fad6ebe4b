/*
 * fuzz_debug.c
 *	  A file that says of itself to be a binary with debug information, and what
 *	  the symbolizer's process answers about it, with libdw.
 *
 * Each input has a process of its own, as libdw need not survive it: what dies in
 * libdw is no finding, for that is what the symbolizer is a process of its own
 * for.  What dies in our own functions is one, and so is an answer that is not
 * sound.  The process leaves the answers, and libFuzzer's counters, in memory that
 * is shared.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/proc.h"

#include "symbols/symbol_server.c"

#include "counters.h"
#include "fuzz.h"

/* Here there is no server whose memory could be mapped. */
PROC_HDR   *ProcGlobal;
void	   *UsedShmemSegAddr;
int			dynamic_shared_memory_type;

/* The seeds have their code from this address on; these are asked about. */
#define CODE_START 0x1000
#define CODE_STEP 2
#define QUESTIONS 64

/* What precedes ".so" in the name of the sanitizer's own library. */
#define SANITIZER "libasan"

/* A file may keep libdw busy for so long. */
#define CHILD_SECONDS 2

/* Edges of our own code, of which there are far fewer. */
#define MAX_COUNTERS (256 * 1024)

/* What the process leaves behind. */
typedef struct Result
{
	bool		in_library;		/* it died in a library */
	int			answered;
	PlhSymbolAnswer answers[QUESTIONS];
	uint8		counters[MAX_COUNTERS];
} Result;

static Result *result;
static char path[64];
static int	file = -1;

/* How many processes have ended in which way. */
static int	answered_count;
static int	died_count;
static int	slow_count;

extern void __asan_set_error_report_callback(void (*callback) (const char *));

/*
 * Has the report a library among its innermost frames?  Above the library's there
 * may be one or two of the sanitizer, which stands in for malloc and memcpy, and
 * may be a library itself.  Ours are never called by a library, and have more than
 * two of ours below them.
 */
static void
on_report(const char *report)
{
	static const char *const frames[] = {"#0 ", "#1 ", "#2 "};

	for (int i = 0; i < lengthof(frames); i++)
	{
		const char *frame = strstr(report, frames[i]);
		const char *end = frame == NULL ? NULL : strchr(frame, '\n');
		const char *library = frame == NULL ? NULL : strstr(frame, ".so");

		if (library != NULL && end != NULL && library < end &&
			memcmp(library - strlen(SANITIZER), SANITIZER,
				   strlen(SANITIZER)) != 0)
			result->in_library = true;
	}
}

/* A build-id that is anywhere in a file is taken for the loaded binary's. */
static void
set_build_id(PlhSymbolQuestion *question, const uint8 *data, Size bytes)
{
	static const uint8 note[] = {3, 0, 0, 0, 'G', 'N', 'U', 0};
	const uint8 *found = memmem(data, bytes, note, sizeof(note));
	Size		left;

	if (found == NULL)
		return;
	found += sizeof(note);
	left = data + bytes - found;
	question->build_id_bytes = Min(left, PLH_BUILD_ID_MAX);
	memcpy(question->build_id, found, question->build_id_bytes);
}

/* Copy libFuzzer's counters, of which a program that replays has none. */
static void
copy_counters(uint8 *to, const uint8 *from)
{
	Size		bytes = Min(counters_bytes(), MAX_COUNTERS);

	if (bytes > 0)
		memcpy(to, from, bytes);
}

/* The process: answers all questions, as far as it gets. */
static void
answer_all(const uint8 *data, Size bytes)
{
	struct rlimit limit = {CHILD_SECONDS, CHILD_SECONDS};
	PlhSymbolQuestion question = {.seen_at = PG_INT64_MAX};

	(void) setrlimit(RLIMIT_CPU, &limit);
	__asan_set_error_report_callback(on_report);
	strlcpy(question.path, path, sizeof(question.path));
	set_build_id(&question, data, bytes);
	for (int i = 0; i < QUESTIONS; i++)
	{
		question.address = i == 0 ? PLH_WHOLE_MODULE : i == 1 ? 0 :
			CODE_START + CODE_STEP * i;
		answer_question(&question, &result->answers[i]);
		result->answered++;
	}
	copy_counters(result->counters, counters_start());
	_exit(0);
}

/* Let a process answer; returns its status. */
static int
run_process(const uint8 *data, Size bytes, bool quiet)
{
	pid_t		pid;
	int			status = 0;

	result->in_library = false;
	result->answered = 0;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
	{
		if (quiet)
			dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		answer_all(data, bytes);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/*
 * Is that how a process ends that was not our own functions' victim?  SIGKILL
 * comes at the end of its time, too, or of the machine's memory.
 */
static bool
is_expected(int status)
{
	bool		slow = WIFSIGNALED(status) &&
		(WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);

	answered_count += status == 0;
	slow_count += slow;
	died_count += !slow && status != 0 && result->in_library;
	return status == 0 || slow || result->in_library;
}

static void
show_counts(void)
{
	fprintf(stderr, "# %d processes have answered, %d have died in a library, %d were too slow\n",
			answered_count, died_count, slow_count);
}

/* Read an answer in memory that ends where it does, as if it had been sent. */
static void
read_answer(const PlhSymbolAnswer *sent)
{
	Size		bytes = PLH_ANSWER_HEAD_BYTES + sent->frames_bytes;
	PlhSymbolAnswer *answer;
	PlhSourceFrame frame;
	uint32		position = 0;

	HOLDS(plh_symbol_protocol_is_sound(sent));
	answer = malloc(bytes);
	memcpy(answer, sent, bytes);
	while (plh_symbol_protocol_next_frame(answer, &position, &frame))
		HOLDS(frame.line >= 0 && (frame.line == 0 || frame.file != NULL));
	HOLDS(position == sent->frames_bytes);
	free(answer);
}

static void
start(void)
{
	result = mmap(NULL, sizeof(Result), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	file = memfd_create("binary", 0);
	if (result == MAP_FAILED || file < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	unsetenv("DEBUGINFOD_URLS");
	atexit(show_counts);
	/* libdw is loaded once, by the process that the others are forked from */
	(void) dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t bytes)
{
	int			status;

	if (result == NULL)
		start();
	if (ftruncate(file, 0) != 0 ||
		!plh_whole_io_write(file, data, bytes, 0))
		abort();
	status = run_process(data, bytes, true);
	if (!is_expected(status))
	{
		(void) run_process(data, bytes, false);
		fuzz_finding("the process dies in libdw only");
	}
	for (int i = 0; i < result->answered; i++)
		read_answer(&result->answers[i]);
	for (int i = 0; i < result->answered; i++)
		fuzz_accepted += result->answers[i].frames_bytes > 0;
	if (status == 0)
		copy_counters(counters_start(), result->counters);
	return 0;
}

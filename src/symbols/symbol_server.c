/*
 * symbol_server.c
 *	  The symbolizer's side: a process that reads binaries and debug files.
 *
 * The process shares nothing with the session but two pipes: none of the server's memory, no files,
 * no signals.  So a file that makes it crash or loop cannot harm the server.
 *
 * A damaged file may make a library write anywhere: no such write may reach what the server works
 * with.  And a new postmaster does not start while a process of an old one still has its memory.
 * Libraries that are preloaded may have shared mappings of their own, which their malloc or the
 * like needs in this process, too.  Those stay.
 */
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/dsm_impl.h"
#include "storage/pg_shmem.h"
#include "storage/proc.h"

#include "base/limits.h"
#include "base/page_layout.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "base/whole_io.h"
#include "profile/profile_file.h"
#include "symbols/debug_info.h"
#include "symbols/elf_names.h"
#include "symbols/symbol_protocol.h"
#include "symbols/symbol_server.h"

/* CPU time for one question, and memory beyond the session's: only broken files take more. */
#define MAX_CPU_SECONDS 120
#define MAX_ADDED_BYTES ((rlim_t) 16 * 1024 * 1024 * 1024)

/* A file that is linked to more binaries than these is said to be linked to these. */
#define MAX_LINKED_TO 256

/* Number of modules that a symbolizer keeps open. */
#define MAX_OPEN_MODULES 256

/* Highest number of descriptors to close one by one, without close_range. */
#define MAX_CLOSED_FILES 65536

/* The first descriptor after the three standard ones. */
#define FIRST_SPARE_FD (STDERR_FILENO + 1)

/* Room for /proc/self/maps, which has a line of about 100 bytes per mapping. */
#define MAPS_BYTES (1024 * 1024)

/* A line of /proc/self/maps. */
typedef struct Mapping
{
	uintptr_t	from;
	uintptr_t	to;
	bool		is_shared;
	const char *path;			/* up to the end of the line */
} Mapping;

/* Where profiles are, as the kernel calls it; empty: in the default directory. */
static PLH_LARGE char profile_directory[PLH_PATH_MAX];

typedef struct ServedModule
{
	PlhSymbolQuestion question; /* first question about it; identifies it */
	PlhModuleStatus status;
	PlhDebugModule *module;		/* NULL if it could not be opened */
} ServedModule;

static const ServedModule *
serve_module(const PlhSymbolQuestion *question)
{
	static PLH_LARGE ServedModule modules[MAX_OPEN_MODULES];
	static int	count = 0;
	ServedModule *served;
	PlhBinary	binary = {
		question->path, question->build_id, question->build_id_bytes, question->seen_at
	};

	for (int i = 0; i < count; i++)
		if (plh_symbol_protocol_same_module(&modules[i].question, question))
			return &modules[i];

	/* without a free place, modules take turns in the last one */
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

/* A function of C++ gets its name in the source.  Returns false if the frame does not fit. */
static bool
add_frame(PlhSymbolAnswer *answer, const PlhSourceFrame *frame)
{
	char	   *demangled = plh_debug_info_demangle(frame->function);
	PlhSourceFrame shown = *frame;
	bool		added;

	if (demangled != NULL)
		shown.function = demangled;
	added = plh_symbol_protocol_add_frame(answer, &shown);
	free(demangled);
	return added;
}

/* The answer to PLH_LINKED_TO. */
static void
answer_linked_to(const char *path, PlhSymbolAnswer *answer)
{
	const char *names[MAX_LINKED_TO];
	char	   *texts;
	int			count = plh_elf_names_linked_to(path, &texts, names, MAX_LINKED_TO);

	plh_symbol_protocol_set_status(answer, count > 0 ? PLH_MODULE_OPEN : PLH_MODULE_UNREADABLE);
	for (int i = 0; i < count; i++)
	{
		PlhSourceFrame frame = {.function = names[i]};

		if (!plh_symbol_protocol_add_frame(answer, &frame))
			break;
	}
	free(texts);
}

static void
answer_question(const PlhSymbolQuestion *question, PlhSymbolAnswer *answer)
{
	const ServedModule *served;
	PlhSourceFrame frames[PLH_MAX_INLINED] = {{0}};
	const char *file = NULL;
	int			count = 0;

	if (question->address == PLH_LINKED_TO)
	{
		answer_linked_to(question->path, answer);
		return;
	}
	served = serve_module(question);
	plh_symbol_protocol_set_status(answer, served->status);
	if (served->module == NULL)
		return;

	answer->source = plh_debug_info_source(served->module, &file);
	if (question->address == PLH_WHOLE_MODULE)
	{
		frames[0].function = "";
		frames[0].file = file;
		count = 1;
	}
	else if (question->address == PLH_CALLED_MALLOC)
	{
		frames[0].function = plh_debug_info_called_malloc(served->module);
		count = frames[0].function != NULL;
	}
	else
		count = plh_debug_info_frames(served->module, question->address, frames);

	for (int i = 0; i < count && add_frame(answer, &frames[i]); i++)
		;
}

/*
 * Exit with 0, not by the signal: if the session is gone and the postmaster is pid 1 of a
 * container, it reaps us, and would take death by a signal for a crashed backend.
 */
static void
leave_quietly(int signal_number)
{
	_exit(0);
}

/* Close all but the standard descriptors: others may wait for them to be closed. */
static void
close_other_files(void)
{
	struct rlimit limit;

#ifdef SYS_close_range
	if (syscall(SYS_close_range, FIRST_SPARE_FD, ~0U, 0) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > MAX_CLOSED_FILES)
		limit.rlim_cur = MAX_CLOSED_FILES;
	for (int fd = FIRST_SPARE_FD; fd < (int) limit.rlim_cur; fd++)
		close(fd);
}

/* Most of it is the session's; 0 if it can't be told. */
static rlim_t
address_space_bytes(void)
{
	char		text[128];

	if (!plh_process_facts_read("/proc/self/statm", text, sizeof(text)))
		return 0;
	return strtoul(text, NULL, 10) * (rlim_t) sysconf(_SC_PAGESIZE);
}

/* Limit memory, be the first victim when memory runs out, and leave no core file. */
static void
limit_resources(void)
{
	struct rlimit core_limit = {0, 0};
	rlim_t		mapped = address_space_bytes();
	rlim_t		allowed = mapped + MAX_ADDED_BYTES;
	struct rlimit memory_limit = {allowed, allowed};
	int			fd = open("/proc/self/oom_score_adj", O_WRONLY);

	if (fd >= 0)
	{
		/* if this fails, we are as likely a victim as the session */
		(void) plh_whole_io_write(fd, "1000", 4, PLH_FILE_POSITION);
		close(fd);
	}
	if (mapped > 0)
		(void) setrlimit(RLIMIT_AS, &memory_limit);

	/* the session reports a crash; a core file of it would help nobody */
	(void) setrlimit(RLIMIT_CORE, &core_limit);
	(void) prctl(PR_SET_DUMPABLE, 0);
}

/* Ask the kernel for its name of the directory that the setting names. */
static void
name_profile_directory(void)
{
	char		link[64];
	ssize_t		length;
	int			fd;

	if (plh_load_settings.profile_directory[0] == '\0')
		return;
	fd = open(plh_load_settings.profile_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, profile_directory, sizeof(profile_directory) - 2);
	close(fd);
	profile_directory[Max(length, 0)] = '\0';
	if (length > 0)
		strcat(profile_directory, "/");
}

/*
 * Read a line "7f0000000000-7f0000010000 rw-s 00000000 00:01 4711    /path", in
 * which s stands for shared.  Returns false if it is none.
 */
static bool
read_line(const char *line, Mapping *mapping)
{
	char	   *rest;

	mapping->from = strtoul(line, &rest, 16);
	mapping->to = *rest == '-' ? strtoul(rest + 1, &rest, 16) : 0;
	if (mapping->to <= mapping->from || strlen(rest) <= 5)
		return false;
	mapping->is_shared = rest[4] == 's';

	/* behind four more words, each with a blank before it */
	for (int words = 0; words < 4; words++)
		rest += 1 + strcspn(rest + 1, " \n");
	mapping->path = rest + strspn(rest, " ");
	return true;
}

static bool
begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool
holds(const Mapping *mapping, const void *address)
{
	return (uintptr_t) address >= mapping->from && (uintptr_t) address < mapping->to;
}

/* Is it PostgreSQL's: its main memory, a dynamic segment, or a ring of io_uring? */
static bool
is_of_server(const Mapping *mapping)
{
	return holds(mapping, ProcGlobal) || holds(mapping, UsedShmemSegAddr) ||
		begins_with(mapping->path, "/dev/shm/PostgreSQL.") ||
		begins_with(mapping->path, "anon_inode:[io_uring]") ||
		(dynamic_shared_memory_type == DSM_IMPL_SYSV &&
		 begins_with(mapping->path, "/SYSV")) ||
		(dynamic_shared_memory_type == DSM_IMPL_MMAP &&
		 strstr(mapping->path, "/" PG_DYNSHMEM_DIR "/" PG_DYNSHMEM_MMAP_FILE_PREFIX) != NULL);
}

/* Is it our profile, the postmaster's, which was inherited, or the file of requests? */
static bool
is_ours(const Mapping *mapping)
{
	return holds(mapping, plh_profile) ||
		begins_with(mapping->path, profile_directory[0] != '\0' ?
					profile_directory : "/dev/shm/pg_leakhunt.");
}

/* Unmap what a text of mappings has of the server's.  Returns false on failure. */
static bool
unmap_listed(char *text)
{
	for (char *line = text; *line != '\0';)
	{
		char	   *end = strchr(line, '\n');
		Mapping		mapping;

		if (end == NULL)
			break;
		*end = '\0';
		if (read_line(line, &mapping) && mapping.is_shared &&
			(is_of_server(&mapping) || is_ours(&mapping)) &&
			munmap((void *) mapping.from, mapping.to - mapping.from) != 0)
			return false;
		line = end + 1;
	}
	return true;
}

/*
 * Returns false if it can't be told whether any is left.  Not by stdio, which could need locks and
 * memory that the session held when it forked.
 */
static bool
unmap_shared_memory(void)
{
	static PLH_LARGE char text[MAPS_BYTES];
	ssize_t		length;
	int			fd = open("/proc/self/maps", O_RDONLY);

	if (fd < 0)
		return false;
	length = plh_whole_io_read(fd, text, sizeof(text) - 1, PLH_FILE_POSITION);
	close(fd);
	if (length < 0 || length == sizeof(text) - 1)
		return false;
	text[length] = '\0';
	name_profile_directory();
	return unmap_listed(text);
}

/*
 * Cut all ties to the session but the two pipes, which become standard input and output.  setsid
 * keeps away signals that are sent to the server's process group.  When our parent ends, the kernel
 * sends us SIGUSR1.
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

	/* the pipes may lie on standard descriptors: move them out of the way */
	question_fd = fcntl(question_fd, F_DUPFD, FIRST_SPARE_FD);
	answer_fd = fcntl(answer_fd, F_DUPFD, FIRST_SPARE_FD);
	null_fd = open("/dev/null", O_WRONLY);
	if (dup2(null_fd, STDERR_FILENO) < 0 ||
		dup2(question_fd, STDIN_FILENO) < 0 || dup2(answer_fd, STDOUT_FILENO) < 0)
		_exit(1);
	close_other_files();
	if (!unmap_shared_memory())
		_exit(1);
	limit_resources();
}

static void
limit_cpu_time(void)
{
	struct rusage used;
	struct rlimit limit;

	if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0)
		return;
	limit.rlim_cur = used.ru_utime.tv_sec + used.ru_stime.tv_sec + MAX_CPU_SECONDS;
	(void) setrlimit(RLIMIT_CPU, &limit);
}

void
plh_symbol_server_run(int question_fd, int answer_fd, pid_t session, const char *debuginfod_urls)
{
	static PLH_LARGE PlhSymbolAnswer answer;
	static PLH_LARGE PlhSymbolQuestion question;

	detach(question_fd, answer_fd, session);
	plh_symbol_files_choose_servers(debuginfod_urls);
	while (plh_whole_io_read(STDIN_FILENO, &question, sizeof(question),
							 PLH_FILE_POSITION) == sizeof(question))
	{
		limit_cpu_time();
		answer_question(&question, &answer);
		if (!plh_whole_io_write(STDOUT_FILENO, &answer, PLH_ANSWER_HEAD_BYTES + answer.frames_bytes,
								PLH_FILE_POSITION))
			break;
	}
	_exit(0);
}

/*
 * symbol_server.c
 *	  The symbolizer's side: a process that reads binaries and debug files.
 *
 * The process shares nothing with the session but two pipes: none of the server's memory, no files,
 * no signals (base/detached_child.h).  So a file that makes it crash or loop, or makes a library
 * write anywhere, cannot harm the server.
 */
#include "postgres.h"

#include <unistd.h>

#include "base/detached_child.h"
#include "base/page_layout.h"
#include "base/whole_io.h"
#include "profile/profile_file.h"
#include "symbols/debug_info.h"
#include "symbols/elf_names.h"
#include "symbols/symbol_protocol.h"
#include "symbols/symbol_server.h"

/* CPU time for one question, and memory beyond the session's: only broken files take more. */
#define MAX_CPU_SECONDS 120
#define MAX_ADDED_BYTES (UINT64CONST(16) * 1024 * 1024 * 1024)

/* A file that is linked to more binaries than these is said to be linked to these. */
#define MAX_LINKED_TO 256

/* Number of modules that a symbolizer keeps open. */
#define MAX_OPEN_MODULES 256

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

void
plh_symbol_server_run(int question_fd, int answer_fd, pid_t session, const char *debuginfod_urls)
{
	static PLH_LARGE PlhSymbolAnswer answer;
	static PLH_LARGE PlhSymbolQuestion question;

	plh_detached_child_begin(session, question_fd, answer_fd, plh_profile, MAX_ADDED_BYTES);
	plh_symbol_files_choose_servers(debuginfod_urls);
	while (plh_whole_io_read(STDIN_FILENO, &question, sizeof(question),
							 PLH_FILE_POSITION) == sizeof(question))
	{
		plh_detached_child_limit_cpu(MAX_CPU_SECONDS);
		answer_question(&question, &answer);
		if (!plh_whole_io_write(STDOUT_FILENO, &answer, PLH_ANSWER_HEAD_BYTES + answer.frames_bytes,
								PLH_FILE_POSITION))
			break;
	}
	_exit(0);
}

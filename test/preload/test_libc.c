/*
 * test_libc.c
 *	  What libraries allocate: libc itself, C++, and one that is closed again.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <netdb.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fake_sampler.h"
#include "preload_tests.h"
#include "tap.h"

static bool
call_strdup(void)
{
	char	   *copy = strdup("some text that is copied");

	free(copy);
	return copy != NULL;
}

static bool
call_strndup(void)
{
	char	   *copy = strndup("some text that is copied", 4);

	free(copy);
	return copy != NULL;
}

static bool
call_asprintf(void)
{
	char	   *text = NULL;
	int			length = asprintf(&text, "%d of %s", 17, "them");

	free(text);
	return length == 10;
}

static bool
call_getline(void)
{
	FILE	   *file = fopen("/proc/self/status", "r");
	char	   *line = NULL;
	size_t		size = 0;
	ssize_t		length = getline(&line, &size, file);

	free(line);
	fclose(file);
	return length > 0;
}

static bool
call_fopen(void)
{
	FILE	   *file = fopen("/proc/self/maps", "r");
	int			first = getc(file);

	fclose(file);
	return first != EOF;
}

static bool
call_open_memstream(void)
{
	char	   *text = NULL;
	size_t		size = 0;
	FILE	   *file = open_memstream(&text, &size);

	for (int i = 0; i < 1000; i++)
		fputs("a line\n", file);
	fclose(file);
	free(text);
	return size == 7000;
}

/* libc keeps what was set. */
static bool
call_setenv(void)
{
	return setenv("PRELOAD_TEST", "a value", 1) == 0 && strcmp(getenv("PRELOAD_TEST"), "a value") == 0;
}

static bool
call_regcomp(void)
{
	regex_t		pattern;
	bool		matches;

	if (regcomp(&pattern, "^(a|b)*[c-e]+$", REG_EXTENDED) != 0)
		return false;
	matches = regexec(&pattern, "ababcde", 0, NULL, 0) == 0;
	regfree(&pattern);
	return matches;
}

static bool
call_scandir(void)
{
	struct dirent **names;
	int			count = scandir("/proc/self", &names, NULL, alphasort);

	if (count < 0)
		return false;
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	return count > 10;
}

static bool
call_getaddrinfo(void)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
	struct addrinfo *found;

	hints.ai_socktype = SOCK_STREAM;
	if (getaddrinfo("127.0.0.1", "5432", &hints, &found) != 0)
		return false;
	freeaddrinfo(found);
	return true;
}

static bool
call_realpath(void)
{
	char	   *path = realpath("/proc/self/..", NULL);
	bool		found = path != NULL && strcmp(path, "/proc") == 0;

	free(path);
	return found;
}

static bool
call_popen(void)
{
	FILE	   *file = popen("echo it ran", "r");
	char		line[20];
	bool		read = fgets(line, sizeof(line), file) != NULL && strcmp(line, "it ran\n") == 0;

	return pclose(file) == 0 && read;
}

static bool
call_dlopen(void)
{
	void	   *library = dlopen("closed.so", RTLD_NOW);

	return library != NULL && dlclose(library) == 0;
}

typedef struct LibraryCall
{
	const char *name;
	bool		(*call) (void);
	bool		keeps;			/* some of what it allocates */
} LibraryCall;

static const LibraryCall libc_calls[] = {
	{"strdup", call_strdup, false},
	{"strndup", call_strndup, false},
	{"asprintf", call_asprintf, false},
	{"getline", call_getline, false},
	{"fopen", call_fopen, false},
	{"open_memstream", call_open_memstream, false},
	{"setenv", call_setenv, true},
	{"regcomp", call_regcomp, false},
	{"scandir", call_scandir, false},
	{"getaddrinfo", call_getaddrinfo, false},
	{"realpath", call_realpath, false},
	{"popen", call_popen, false},
	{"dlopen", call_dlopen, false},
};

/* The first calls of some allocate what stays. */
static void
test_call(const char *name, bool (*call) (void), bool keeps, bool comes_by)
{
	bool		works = true;
	Seen		after;

	for (int i = 0; !keeps && i < 5; i++)
		works = call() && works;
	fake_watch();
	works = call() && works;
	after = fake_seen();
	ok(works && (after.recorded > 0 || !comes_by), "%s works and comes by, %ld times", name, after.recorded);
	if (!keeps)
		is(after.net_bytes, 0, "a function of the C library frees what it allocates");
}

void
test_libc(void)
{
	fake_start(0);
	for (unsigned i = 0; i < sizeof(libc_calls) / sizeof(libc_calls[0]); i++)
		test_call(libc_calls[i].name, libc_calls[i].call, libc_calls[i].keeps, true);
	fake_stop();
}

static const char *const operators[] = {
	"call_new", "call_new_array", "call_aligned_new", "call_new_nothrow", "call_string", "call_throw"
};

/* jemalloc has operators of its own, which call nothing of ours. */
void
test_operators(void)
{
	void	   *library = dlopen("operators.so", RTLD_NOW);

	if (library == NULL)
	{
		skip("C++", "there is no compiler of C++");
		return;
	}
	fake_start(0);
	for (unsigned i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		test_call(operators[i], (bool (*) (void)) dlsym(library, operators[i]), false, !is_jemalloc());
	fake_stop();
	dlclose(library);
}

void
test_closed_library(void)
{
	void	   *library = dlopen("closed.so", RTLD_NOW);
	void	   *(*allocate) (size_t) = (void *(*) (size_t)) dlsym(library, "closed_allocate");
	void	   *block;

	fake_start(0);
	fake_watch();
	block = allocate(1000);
	ok(fake_seen().recorded == 1 && fake_seen().size == 1000, "a library that is loaded later comes by");
	dlclose(library);
	ok(dlopen("closed.so", RTLD_NOW | RTLD_NOLOAD) == NULL, "a library that was loaded later is closed");
	fake_watch();
	free(block);
	is(fake_seen().freed, 1, "a block of a library that was closed is freed once");
	fake_stop();
}

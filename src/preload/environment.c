/*
 * environment.c
 *	  Takes this library out of the environment of a server.
 *
 * What a server starts, such as archive_command or a program of COPY, would be preloaded with the
 * library, too, which has nothing to do there.  So the server's LD_PRELOAD loses our entry, and no
 * other.  Programs that start servers, such as pg_ctl, have to hand it on, and keep it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BEFORE_MAIN __attribute__((constructor))
#define VARIABLE "LD_PRELOAD"
#define OUR_NAME "pg_leakhunt_malloc.so"

/* The dynamic linker takes both for the end of an entry. */
#define SEPARATORS ": "

static bool
is_server(void)
{
	return strcmp(program_invocation_short_name, "postgres") == 0 ||
		strcmp(program_invocation_short_name, "postmaster") == 0;
}

/* Whether an entry has our name, in whatever folder. */
static bool
is_ours(const char *entry, size_t length)
{
	size_t		our_length = strlen(OUR_NAME);

	return length >= our_length &&
		memcmp(entry + length - our_length, OUR_NAME, our_length) == 0 &&
		(length == our_length || entry[length - our_length - 1] == '/');
}

/*
 * Take our entry out of a list, with one of the separators beside it.  The list gets shorter where
 * it lies: there is no memory to be had for another one.
 */
static void
remove_our_entry(char *list)
{
	char	   *end = list;
	char	   *entry = list;

	while (*entry != '\0')
	{
		size_t		length = strcspn(entry, SEPARATORS);
		size_t		separators = strspn(entry + length, SEPARATORS);

		if (!is_ours(entry, length))
		{
			memmove(end, entry, length + separators);
			end += length + separators;
		}
		entry += length + separators;
	}
	/* The last entry that stays may have been followed by ours. */
	while (end > list && strchr(SEPARATORS, end[-1]) != NULL)
		end--;
	*end = '\0';
}

/* Runs before the server's main, which copies the environment to show its state where that was. */
static BEFORE_MAIN void
leave_environment(void)
{
	char	   *list = getenv(VARIABLE);

	if (list == NULL || !is_server())
		return;
	remove_our_entry(list);
	if (*list == '\0')
		unsetenv(VARIABLE);
}

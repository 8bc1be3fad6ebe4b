/*
 * false_server.c
 *	  A program that has what a server is known by, and memory contexts that are none.
 *
 * Those who look at processes from outside must refuse it.  VERSION says which release it claims
 * to be; the argument says what its contexts are: "none", "torn" (they lead nowhere), or "checked",
 * as in a server that was built with assertions.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* As the server has them, which shows them to its modules. */
extern const char version[] __attribute__((visibility("default")));
extern uint64_t *TopMemoryContext __attribute__((visibility("default")));

const char	version[] = "postgres (PostgreSQL) " VERSION "\n";

#define TAG 570
#define CHUNKS 4
#define WORDS(bytes) ((bytes) / sizeof(uint64_t))

/* An AllocSet of 15 with its keeper block. */
static uint64_t set[128];
uint64_t   *TopMemoryContext;

/* A chunk of 64 bytes, in front of which are three words, and a fourth for alignment. */
static void
make_chunk(uint64_t *chunk)
{
	chunk[0] = 64;
	chunk[1] = 60;
	chunk[3] = (uintptr_t) set;
}

static void
make_set(void)
{
	uint64_t   *block = set + WORDS(224);
	uint64_t   *chunk = block + WORDS(40);

	set[0] = TAG;
	set[WORDS(8)] = sizeof(set);
	set[WORDS(56)] = (uintptr_t) "TopMemoryContext";
	set[WORDS(80)] = (uintptr_t) block;
	block[0] = (uintptr_t) set;
	for (int i = 0; i < CHUNKS; i++, chunk += WORDS(32 + 64))
		make_chunk(chunk);
	block[3] = (uintptr_t) chunk;
	block[4] = (uintptr_t) (set + sizeof(set) / sizeof(set[0]));
	TopMemoryContext = set;
}

int
main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "none";

	if (strcmp(kind, "none") != 0)
		make_set();
	if (strcmp(kind, "torn") == 0)
		set[WORDS(32)] = 0x1234567890;
	printf("%s", version);
	fflush(stdout);
	for (;;)
		pause();
}

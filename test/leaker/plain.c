/*
 * plain.c
 *	  A library for servers of which no headers are at hand: it leaks, and it has a cache.
 *
 * It is compiled for each major version, MAJOR, and declares itself what it takes of the server.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern void *TopMemoryContext;
extern void *MemoryContextAlloc(void *context, size_t bytes);

/* Which server a library is for: the first members are told by their order, and these suffice. */
typedef struct Magic
{
	int			bytes;
	int			version;
	int			arguments;
	int			index_keys;
	int			name_bytes;
	int			float8_by_value;
#if MAJOR >= 15
	char		abi[32];
#endif
#if MAJOR >= 18
	const char *name;
	const char *library_version;
#endif
} Magic;

static const Magic magic = {
	sizeof(Magic), MAJOR * 100, 100, 32, 64, 1,
#if MAJOR >= 15
	"PostgreSQL",
#endif
};

extern const void *Pg_magic_func(void);
extern const int *pg_finfo_leak_plainly(void);
extern const int *pg_finfo_fill_cache(void);
extern uintptr_t leak_plainly(void *call);
extern uintptr_t fill_cache(void *call);

static const int api_version = 1;

/* What has been cached: each entry has the one before it. */
static void **cached_entries;

const void *
Pg_magic_func(void)
{
	return &magic;
}

const int  *
pg_finfo_leak_plainly(void)
{
	return &api_version;
}

const int  *
pg_finfo_fill_cache(void)
{
	return &api_version;
}

/* 400,000 chunks of 128 bytes, to which nothing points. */
uintptr_t
leak_plainly(void *call)
{
	for (int i = 0; i < 400000; i++)
		memset(MemoryContextAlloc(TopMemoryContext, 100), 'x', 100);
	return 0;
}

/* 100,000 chunks of 1,024 bytes, in a list. */
uintptr_t
fill_cache(void *call)
{
	for (int i = 0; i < 100000; i++)
	{
		void	  **entry = MemoryContextAlloc(TopMemoryContext, 1000);

		entry[0] = cached_entries;
		cached_entries = entry;
	}
	return 0;
}

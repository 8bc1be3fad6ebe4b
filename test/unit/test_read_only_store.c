/*
 * test_read_only_store.c
 *	  Stores into memory that is read-only, also where it may hold code, as in
 *	  servers that are no position-independent executables.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "utils/memutils.h"

#include "unit_tests.h"

/* What the patch itself refers to, which TAP tests have. */
static char *
refusal_stub(const char *format,...)
{
	return NULL;
}

#define psprintf refusal_stub
#define AllocSetContextCreateInternal(...) NULL
#define GenerationContextCreate(...) NULL
#define SlabContextCreate(...) NULL
#define BumpContextCreate(...) NULL
#define MemoryContextAlloc(context, size) ((void) (context), NULL)
#define MemoryContextDelete(context) ((void) (context))
#define plh_method_patch_find find_methods
#define plh_method_patch_install install_methods
#include "sampler/method_patch.c"

int
protection_of_memory(const void *start, const void *end)
{
	return find_protection(start, end);
}

/* Two pages of a file, as the linker maps it. */
static void **
map_executable(int protection)
{
	int			fd = open("/proc/self/exe", O_RDONLY);
	void	   *pages = mmap(NULL, 2 * sysconf(_SC_PAGESIZE), protection,
							 MAP_PRIVATE, fd, 0);

	if (fd < 0 || pages == MAP_FAILED)
		abort();
	close(fd);
	return pages;
}

/* Two stores, of which the first makes the page a private one. */
static void
test_memory(int protection, const char *what)
{
	void	  **words = map_executable(protection);
	void	  **last = words + 2 * sysconf(_SC_PAGESIZE) / sizeof(void *) - 1;
	void	   *before = words[0];

	ok(find_protection(words, last + 1) == protection, what);
	ok(store(&words[1], &before, protection) &&
	   words[1] == &before && words[0] == before, "a word is stored");
	ok(store(&words[1], NULL, protection) &&
	   words[1] == NULL && words[0] == before, "another word is stored");
	ok(find_protection(words, last + 1) == protection,
	   "one page may have become a mapping of its own");
	ok(store(last, &before, protection) && *last == &before,
	   "the last word of the last page is stored");
	ok(find_protection(words, last + 1) == protection,
	   "the protection stays after words were stored");
	munmap(words, 2 * sysconf(_SC_PAGESIZE));
}

/* Memory of which nothing is known, and that is not there. */
static void
test_no_memory(void)
{
	void	  **words = map_executable(PROT_READ | PROT_EXEC);
	void	  **end = words + 2 * sysconf(_SC_PAGESIZE) / sizeof(void *);

	(void) mprotect(words, sysconf(_SC_PAGESIZE), PROT_READ);
	ok(find_protection(words, end) == PROTECTION_UNKNOWN,
	   "memory with two protections has none that is known");
	munmap(words, 2 * sysconf(_SC_PAGESIZE));
	ok(!store(words, NULL, PROT_READ), "a store that the kernel refuses fails");
	ok(!store(words, NULL, PROT_READ | PROT_EXEC),
	   "a store that the kernel is to do itself fails if it refuses");
}

void
test_read_only_store(void)
{
	test_memory(PROT_READ, "plain memory has its protection");
	test_memory(PROT_READ | PROT_EXEC, "memory that may hold code has its protection");
	test_no_memory();
}

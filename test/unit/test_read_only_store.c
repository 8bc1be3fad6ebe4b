/*
 * test_read_only_store.c
 *	  Stores into memory that is read-only, also where it may hold code, as in
 *	  servers that are no position-independent executables.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/read_only_store.h"
#include "unit_tests.h"

/* The number of the system call, which is the same on all processors; libc 2.43 has a function. */
#define SYS_MSEAL 462

int
protection_of_memory(const void *start, const void *end)
{
	return plh_read_only_store_protection(start, end);
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

static bool
stores(void **word, void *value, int protection)
{
	return plh_read_only_store(word, value, protection) == PLH_STORED;
}

/* Two stores, of which the first makes the page a private one. */
static void
test_memory(int protection, const char *what)
{
	void	  **words = map_executable(protection);
	void	  **last = words + 2 * sysconf(_SC_PAGESIZE) / sizeof(void *) - 1;
	void	   *before = words[0];

	ok(plh_read_only_store_protection(words, last + 1) == protection, what);
	ok(stores(&words[1], &before, protection) &&
	   words[1] == &before && words[0] == before, "a word is stored");
	ok(stores(&words[1], NULL, protection) &&
	   words[1] == NULL && words[0] == before, "another word is stored");
	ok(plh_read_only_store_protection(words, last + 1) == protection,
	   "one page may have become a mapping of its own");
	ok(stores(last, &before, protection) && *last == &before,
	   "the last word of the last page is stored");
	ok(plh_read_only_store_protection(words, last + 1) == protection,
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
	ok(plh_read_only_store_protection(words, end) == PLH_PROTECTION_UNKNOWN,
	   "memory with two protections has none that is known");
	munmap(words, 2 * sysconf(_SC_PAGESIZE));
	ok(!stores(words, NULL, PROT_READ), "a store that the kernel refuses fails");
	ok(!stores(words, NULL, PROT_READ | PROT_EXEC),
	   "a store that the kernel is to do itself fails if it refuses");
}

/* With no file to be opened, the kernel can't be asked to store. */
static PlhStoreResult
store_without_files(void **word, void *value, int protection)
{
	struct rlimit files;
	struct rlimit no_files;
	PlhStoreResult result;

	(void) getrlimit(RLIMIT_NOFILE, &files);
	no_files = files;
	no_files.rlim_cur = 0;
	(void) setrlimit(RLIMIT_NOFILE, &no_files);
	result = plh_read_only_store(word, value, protection);
	(void) setrlimit(RLIMIT_NOFILE, &files);
	return result;
}

/* Memory whose protection nobody can change any more; it can't be unmapped, either. */
static void
test_sealed_memory(void)
{
	void	  **words = map_executable(PROT_READ);
	void	   *before = words[0];

	if (syscall(SYS_MSEAL, words, 2 * sysconf(_SC_PAGESIZE), 0) != 0)
	{
		ok(errno == ENOSYS || errno == EPERM, "sealed memory # SKIP this kernel has no mseal");
		return;
	}
	ok(mprotect(words, 1, PROT_READ | PROT_WRITE) != 0 && errno == EPERM,
	   "sealed memory does not become writable");
	ok(store_without_files(&words[1], &before, PROT_READ) == PLH_STORE_SEALED && errno == EMFILE,
	   "where the kernel does not store, sealed memory is told from other memory");
	ok(words[1] != &before && words[0] == before, "and the word is what it was");
	ok(stores(&words[1], &before, PROT_READ) && words[1] == &before && words[0] == before,
	   "the kernel stores a word in sealed memory");
	ok(stores(&words[1], NULL, PROT_READ) && words[1] == NULL, "and another one");
	ok(plh_read_only_store_protection(words, words + 2) == PROT_READ, "which stays read-only");
}

void
test_read_only_store(void)
{
	test_memory(PROT_READ, "plain memory has its protection");
	test_memory(PROT_READ | PROT_EXEC, "memory that may hold code has its protection");
	test_no_memory();
	test_sealed_memory();
}

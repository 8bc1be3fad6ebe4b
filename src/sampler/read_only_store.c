/*
 * read_only_store.c
 *	  Stores words into memory that is read-only.
 *
 * There are two ways.  Memory that holds no code becomes writable for the time of a store.  Memory
 * that may hold code must stay executable all the time and must never be writable as well: the
 * kernel stores there, by way of /proc/self/mem, which changes no protection.  It replaces the page
 * by a private copy, as for a debugger that sets a breakpoint.  So it does where the memory is
 * sealed (mseal), as the dynamic linker may leave it: then no protection can be changed.
 *
 * A word is aligned, so that it lies in one page, and it is stored whole: code that reads it
 * meanwhile, a signal handler included, sees the old or the new value.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/read_only_store.h"

/* PROT_ flags from those of a line of /proc/self/maps. */
static int
protection_of(const char *flags)
{
	return (flags[0] == 'r' ? PROT_READ : 0) |
		(flags[1] == 'w' ? PROT_WRITE : 0) | (flags[2] == 'x' ? PROT_EXEC : 0);
}

/*
 * Returns PROT_ flags, or PLH_PROTECTION_UNKNOWN where there are several, or none can be found out.
 * The memory may be several mappings: where a store has made a page writable for a while, the
 * kernel does not always join it to its neighbours again.
 */
int
plh_read_only_store_protection(const void *start, const void *end)
{
	FILE	   *maps = fopen("/proc/self/maps", "r");
	char		line[MAXPGPATH + 256];
	uintptr_t	known_to = (uintptr_t) start;
	int			protection = PLH_PROTECTION_UNKNOWN;

	if (maps == NULL)
		return PLH_PROTECTION_UNKNOWN;

	/* The lines are in the order of their addresses. */
	while (known_to < (uintptr_t) end && fgets(line, sizeof(line), maps) != NULL)
	{
		unsigned long low;
		unsigned long high;
		char		flags[5];

		if (sscanf(line, "%lx-%lx %4s", &low, &high, flags) != 3 || known_to < low || known_to >= high)
			continue;
		if (known_to != (uintptr_t) start && protection != protection_of(flags))
			break;
		protection = protection_of(flags);
		known_to = high;
	}
	fclose(maps);
	return known_to >= (uintptr_t) end ? protection : PLH_PROTECTION_UNKNOWN;
}

/* Let the kernel store a word, without a change of protection. */
static bool
store_by_kernel(void **word, void *value)
{
	int			fd = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);
	ssize_t		written;
	int			saved_errno;

	if (fd < 0)
		return false;
	written = pwrite(fd, &value, sizeof(value), (off_t) (uintptr_t) word);
	saved_errno = errno;
	(void) close(fd);
	errno = saved_errno;
	return written == sizeof(value);
}

/* Store a word while its page is writable. */
static bool
store_in_writable_page(void **word, void *value, int protection)
{
	uintptr_t	page_bytes = sysconf(_SC_PAGESIZE);
	void	   *page = (void *) ((uintptr_t) word & ~(page_bytes - 1));

	Assert((protection & PROT_EXEC) == 0);
	if (mprotect(page, page_bytes, protection | PROT_WRITE) != 0)
		return false;

	__atomic_store_n(word, value, __ATOMIC_RELEASE);

	/* if this fails, the page stays writable, which is no reason to give up */
	(void) mprotect(page, page_bytes, protection);
	return true;
}

/*
 * The protection is that of the memory.  EPERM is what mprotect says of sealed memory, and
 * what a filter of system calls may say; where a security module forbids the change it says EACCES,
 * and then nothing else is tried.
 */
PlhStoreResult
plh_read_only_store(void **word, void *value, int protection)
{
	if ((protection & PROT_EXEC) != 0)
		return store_by_kernel(word, value) ? PLH_STORED : PLH_STORE_REFUSED;
	if (store_in_writable_page(word, value, protection))
		return PLH_STORED;
	if (errno != EPERM)
		return PLH_STORE_REFUSED;
	return store_by_kernel(word, value) ? PLH_STORED : PLH_STORE_SEALED;
}

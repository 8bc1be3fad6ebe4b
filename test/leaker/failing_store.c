/*
 * failing_store.c
 *	  A library to be preloaded (LD_PRELOAD), with which the kernel seems to
 *	  refuse changes of the executable's read-only memory.
 *
 * failing_store is the number of changes until one is refused; 0 = none is.  If it is negative,
 * the kernel stores nothing itself, as where proc_mem.force_override=never was given to it.
 * tried_stores counts all that are tried.  A page that is writable and executable at once is
 * refused at all times.
 * Nothing of PostgreSQL's is used, as all programs have the library preloaded.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* PostgreSQL's makefiles hide the symbols of a module, from 16 on. */
#pragma GCC visibility push(default)

extern int	failing_store;
int			failing_store;
extern int	tried_stores;
int			tried_stores;

/* Is an address in the executable?  Only the first module is looked at. */
static int
visit_executable(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t  *address = arg;
	bool		found = false;

	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		uintptr_t	start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		found = found || (info->dlpi_phdr[i].p_type == PT_LOAD &&
						  *address >= (start & ~(uintptr_t) 0xFFFF) &&
						  *address < start + info->dlpi_phdr[i].p_memsz);
	}
	*address = found;
	return 1;
}

static bool
is_in_executable(uintptr_t address)
{
	(void) dl_iterate_phdr(visit_executable, &address);
	return address;
}

/* Is a change at this address to be refused? */
static bool
is_refused(uintptr_t address)
{
	if (!is_in_executable(address))
		return false;
	tried_stores++;
	return failing_store > 0 && --failing_store == 0;
}

int
mprotect(void *start, size_t bytes, int protection)
{
	int			(*original) (void *, size_t, int) =
		(int (*) (void *, size_t, int)) dlsym(RTLD_NEXT, "mprotect");

	if (((protection & PROT_WRITE) && (protection & PROT_EXEC)) ||
		((protection & PROT_WRITE) && is_refused((uintptr_t) start)))
	{
		errno = EACCES;
		return -1;
	}
	return original(start, bytes, protection);
}

/* An offset is an address of the executable in /proc/self/mem only. */
ssize_t
pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
	ssize_t		(*original) (int, const void *, size_t, off_t) =
		(ssize_t (*) (int, const void *, size_t, off_t)) dlsym(RTLD_NEXT, "pwrite");

	if (count == sizeof(void *) && (is_refused(offset) || (failing_store < 0 && is_in_executable(offset))))
	{
		errno = failing_store < 0 ? EIO : EACCES;
		return -1;
	}
	return original(fd, bytes, count, offset);
}

/*
 * sealed_tables.c
 *	  A module that seals the executable's read-only data, as the dynamic linker
 *	  may do it for servers that were linked with -z memory-seal.
 *
 * With the setting sealed_tables.kernel_stores = off the kernel does not store
 * there by /proc/self/mem, either: for that, failing_store must be preloaded.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fmgr.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

/* The same on all processors; libc 2.43 has a function. */
#define SYS_MSEAL 462

void		_PG_init(void);

/* Seal what the linker has made read-only in the first module, the executable. */
static int
seal_executable(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t	page_bytes = sysconf(_SC_PAGESIZE);

	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const Elf64_Phdr *segment = &info->dlpi_phdr[i];
		uintptr_t	start = (info->dlpi_addr + segment->p_vaddr) & ~(page_bytes - 1);
		uintptr_t	end = (info->dlpi_addr + segment->p_vaddr + segment->p_memsz) & ~(page_bytes - 1);

		if (segment->p_type == PT_GNU_RELRO && syscall(SYS_MSEAL, start, end - start, 0) != 0)
			elog(ERROR, "could not seal the executable's read-only data: %m");
	}
	return 1;
}

void
_PG_init(void)
{
	const char *kernel_stores = GetConfigOption("sealed_tables.kernel_stores", true, false);
	int		   *failing_store = dlsym(RTLD_DEFAULT, "failing_store");

	(void) dl_iterate_phdr(seal_executable, NULL);
	if (kernel_stores != NULL && strcmp(kernel_stores, "off") == 0)
	{
		if (failing_store == NULL)
			elog(ERROR, "failing_store is not preloaded");
		*failing_store = -1;
	}
}

/*
 * allocator.c
 *	  The library that serves malloc in this process, and what it tells of its memory.
 *
 * This code runs inside palloc.  An allocator counts under its own locks, which glibc's mallinfo2,
 * jemalloc's mallctl and tcmalloc's properties take and release; none of them calls malloc.  Their
 * thread may not hold these locks: the census runs in hooks of palloc, and at samples of malloc
 * before or after the allocator was called.  All three have handlers that free their locks in a
 * forked child.  What a count takes of time is part of the census, and so of its budget.
 *
 * A function of an allocator counts only if the module that defines malloc exports it: libraries
 * may bring a jemalloc of their own, which does not serve the server's malloc.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/fork.h"
#include "base/process_facts.h"

/* What pg_leakhunt_malloc.so exports, which passes on to the allocator behind it. */
#define PASSES_ON "pg_leakhunt_malloc_hook"

/* Stands for all arenas, in names of jemalloc's controls. */
#define JEMALLOC_ALL_ARENAS "4096"

/* The functions of allocators that are called, as they declare them. */
typedef int (*JemallocControl) (const char *name, void *old, size_t *old_bytes,
								void *new, size_t new_bytes);
typedef int (*TcmallocProperty) (const char *name, size_t *value);
typedef void (*TcmallocRelease) (void);
typedef void (*MimallocCollect) (bool force);

/* What each allocator exports and no other does. */
static const char *const marks[PLH_ALLOCATORS] = {
	[PLH_ALLOCATOR_GLIBC] = "gnu_get_libc_version",
	[PLH_ALLOCATOR_JEMALLOC] = "mallctl",
	[PLH_ALLOCATOR_TCMALLOC] = "MallocExtension_GetNumericProperty",
	[PLH_ALLOCATOR_MIMALLOC] = "mi_version"
};

/* The module that defines a function. */
typedef struct Module
{
	void	   *handle;			/* NULL: it is not known */
	void	   *base;
} Module;

static PLH_SET_AT_LOAD PlhAllocator allocator;
static PLH_SET_AT_LOAD JemallocControl jemalloc_control;
static PLH_SET_AT_LOAD TcmallocProperty tcmalloc_property;
static PLH_SET_AT_LOAD TcmallocRelease tcmalloc_release;
static PLH_SET_AT_LOAD MimallocCollect mimalloc_collect;
static PLH_SET_AT_LOAD char *heap_start;	/* of glibc's first arena; NULL:
											 * not known */

/* The module that an address lies in.  The executable has no name to open it by. */
static Module
module_of(const void *address)
{
	Dl_info		info;
	Module		module = {NULL};

	if (address == NULL || dladdr(address, &info) == 0)
		return module;
	module.base = info.dli_fbase;
	module.handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (module.handle == NULL)
		module.handle = dlopen(NULL, RTLD_LAZY);
	return module;
}

/* A function of that module, and of none that it is linked to; else NULL. */
static void *
function_of(const Module *module, const char *name)
{
	void	   *function = module->handle == NULL ? NULL : dlsym(module->handle, name);
	Dl_info		info;

	return function != NULL && dladdr(function, &info) != 0 && info.dli_fbase == module->base ?
		function : NULL;
}

/* The next module in the order of the dynamic linker that defines malloc. */
static Module
next_definition(const Module *module)
{
	struct link_map *map = NULL;
	Module		none = {NULL};

	if (dlinfo(module->handle, RTLD_DI_LINKMAP, &map) != 0)
		return none;
	for (map = map->l_next; map != NULL; map = map->l_next)
	{
		void	   *handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
		void	   *function = handle == NULL ? NULL : dlsym(handle, "malloc");
		Module		found = module_of(function);

		if (found.handle == handle && handle != NULL)
			return found;
	}
	return none;
}

/* Is it the allocator whose mark the module has? */
static bool
is_marked(const Module *module, PlhAllocator candidate)
{
	return marks[candidate] != NULL && function_of(module, marks[candidate]) != NULL;
}

void
plh_allocator_find(void)
{
	Module		module = module_of(dlsym(RTLD_DEFAULT, "malloc"));
	PlhAllocatorFigures figures;

	if (function_of(&module, PASSES_ON) != NULL)
		module = next_definition(&module);
	for (int i = 0; i < PLH_ALLOCATORS; i++)
		if (is_marked(&module, i))
			allocator = i;
	jemalloc_control = (JemallocControl) function_of(&module, "mallctl");
	tcmalloc_property = (TcmallocProperty)
		function_of(&module, "MallocExtension_GetNumericProperty");
	tcmalloc_release = (TcmallocRelease) function_of(&module, "MallocExtension_ReleaseFreeMemory");
	mimalloc_collect = (MimallocCollect) function_of(&module, "mi_collect");
	if (allocator == PLH_ALLOCATOR_GLIBC)
		heap_start = (char *) plh_process_facts_heap_start();

	/* what it prepares at its first answer is prepared here */
	(void) plh_allocator_count(&figures);
}

PlhAllocator
plh_allocator(void)
{
	return allocator;
}

/* What is free and has no room in glibc's first arena, the heap of the process, is in others. */
static bool
count_glibc(PlhAllocatorFigures *figures)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	struct mallinfo2 info = mallinfo2();

	figures->used_bytes = info.uordblks + info.hblkhd;
	figures->free_bytes = info.fordblks;
	if (heap_start != NULL)
		figures->arena_bytes = Max(0, (int64) info.fordblks - ((char *) sbrk(0) - heap_start));
	return info.arena + info.hblkhd > 0;
#else
	return false;
#endif
}

static bool
read_jemalloc(const char *name, size_t *value)
{
	size_t		bytes = sizeof(*value);

	return jemalloc_control(name, value, &bytes, NULL, 0) == 0;
}

/* jemalloc may have been built without statistics. */
static bool
count_jemalloc(PlhAllocatorFigures *figures)
{
	uint64		epoch = 1;
	size_t		allocated;
	size_t		resident;
	size_t		metadata;

	if (jemalloc_control("epoch", NULL, NULL, &epoch, sizeof(epoch)) != 0 ||
		!read_jemalloc("stats.allocated", &allocated) ||
		!read_jemalloc("stats.resident", &resident) ||
		!read_jemalloc("stats.metadata", &metadata))
		return false;
	figures->used_bytes = (int64) allocated;
	figures->free_bytes = Max(0, (int64) resident - (int64) metadata - (int64) allocated);
	return true;
}

static bool
count_tcmalloc(PlhAllocatorFigures *figures)
{
	size_t		allocated;
	size_t		heap;
	size_t		unmapped;

	if (!tcmalloc_property("generic.current_allocated_bytes", &allocated) ||
		!tcmalloc_property("generic.heap_size", &heap) ||
		!tcmalloc_property("tcmalloc.pageheap_unmapped_bytes", &unmapped))
		return false;
	figures->used_bytes = (int64) allocated;
	figures->free_bytes = Max(0, (int64) heap - (int64) unmapped - (int64) allocated);
	return true;
}

/* mimalloc counts what it has of the kernel, but not what of that is in use. */
bool
plh_allocator_count(PlhAllocatorFigures *figures)
{
	memset(figures, 0, sizeof(*figures));
	if (allocator == PLH_ALLOCATOR_GLIBC)
		return count_glibc(figures);
	if (allocator == PLH_ALLOCATOR_JEMALLOC)
		return count_jemalloc(figures);
	return allocator == PLH_ALLOCATOR_TCMALLOC && count_tcmalloc(figures);
}

/* What jemalloc keeps for the calling thread is free, too, once that is flushed. */
void
plh_allocator_release(void)
{
#ifdef __GLIBC__
	if (allocator == PLH_ALLOCATOR_GLIBC)
		(void) malloc_trim(0);
#endif
	if (jemalloc_control != NULL)
	{
		(void) jemalloc_control("thread.tcache.flush", NULL, NULL, NULL, 0);
		(void) jemalloc_control("arena." JEMALLOC_ALL_ARENAS ".purge", NULL, NULL, NULL, 0);
	}
	if (tcmalloc_release != NULL)
		tcmalloc_release();
	if (mimalloc_collect != NULL)
		mimalloc_collect(true);
}

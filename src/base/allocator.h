/*
 * allocator.h
 *	  The library that serves malloc in this process, and what it tells of its memory.
 *
 * It is known by what the module exports that defines malloc: a server may be linked to another
 * allocator than glibc's, or have one preloaded.
 */
#pragma once

/* Stored in profiles: append only. */
typedef enum PlhAllocator
{
	PLH_ALLOCATOR_UNKNOWN,
	PLH_ALLOCATOR_GLIBC,
	PLH_ALLOCATOR_JEMALLOC,
	PLH_ALLOCATOR_TCMALLOC,		/* that of gperftools */
	PLH_ALLOCATOR_MIMALLOC
#define PLH_ALLOCATORS (PLH_ALLOCATOR_MIMALLOC + 1)
} PlhAllocator;

/* Its name; NULL where it is not known.  The number may be a damaged one. */
static inline const char *
plh_allocator_name(uint32 allocator)
{
	static const char *const names[PLH_ALLOCATORS] = {
		[PLH_ALLOCATOR_GLIBC] = "glibc",
		[PLH_ALLOCATOR_JEMALLOC] = "jemalloc",
		[PLH_ALLOCATOR_TCMALLOC] = "tcmalloc",
		[PLH_ALLOCATOR_MIMALLOC] = "mimalloc"
	};

	return allocator < PLH_ALLOCATORS ? names[allocator] : NULL;
}

/* What an allocator says of itself, at one moment. */
typedef struct PlhAllocatorFigures
{
	int64		used_bytes;		/* given out */
	int64		free_bytes;		/* freed, and not given back to the kernel */
	int64		arena_bytes;	/* of these, what lies for sure in glibc's
								 * arenas of threads, which may have ended */
} PlhAllocatorFigures;

/* Find it; called when the module is loaded, outside of palloc. */
extern void plh_allocator_find(void);

/*
 * These may be called inside palloc: they take the allocator's locks, as malloc does, but allocate
 * nothing.  Nobody may call them from within malloc.
 */
extern PlhAllocator plh_allocator(void);

/* Returns false where it does not tell. */
extern bool plh_allocator_count(PlhAllocatorFigures *figures);

/* Have it give back to the kernel what was freed.  Does nothing where it can't be told to. */
extern void plh_allocator_release(void);

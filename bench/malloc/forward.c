/*
 * forward.c
 *	  A library to be preloaded that passes malloc and free on and does nothing else,
 *	  which is the least that one can cost that stands before them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#define DEFINES __attribute__((visibility("default"), aligned(64)))

static void *first_malloc(size_t size);
static void first_free(void *block);

static void *(*next_malloc) (size_t) = first_malloc;
static void (*next_free) (void *) = first_free;

static void *
first_malloc(size_t size)
{
	next_malloc = dlsym(RTLD_NEXT, "malloc");
	return next_malloc(size);
}

static void
first_free(void *block)
{
	next_free = dlsym(RTLD_NEXT, "free");
	next_free(block);
}

DEFINES void *
malloc(size_t size)
{
	return next_malloc(size);
}

DEFINES void
free(void *block)
{
	next_free(block);
}

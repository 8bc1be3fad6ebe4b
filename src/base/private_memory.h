/*
 * private_memory.h
 *	  Address ranges that are reserved whole and backed with memory as needed.
 *
 * All private memory of the code that runs inside palloc comes from here.  A region keeps its
 * address for good, so that pointers into it stay valid while it grows.  These functions may be
 * called from anywhere; they never palloc, throw or lock.  A function that fails returns false and
 * leaves the region as it was.
 */
#pragma once

typedef struct PlhRegion
{
	char	   *base;			/* NULL until reserved */
	Size		reserved_bytes; /* address space */
	Size		committed_bytes;	/* readable and writable from base on */
} PlhRegion;

/* Regions are backed in steps of this many bytes. */
#define PLH_REGION_STEP ((Size) 64 * 1024)

extern bool plh_private_memory_reserve(PlhRegion *region, Size bytes);
extern bool plh_private_memory_commit(PlhRegion *region, Size bytes);
extern void plh_private_memory_extend(PlhRegion *region, Size bytes);
extern void plh_private_memory_discard(PlhRegion *region);
extern Size plh_private_memory_bytes(void);

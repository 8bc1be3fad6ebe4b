/*
 * block_filter.h
 *	  Could this block be a sample?  What each free asks, before it does anything else.
 *
 * A filter has a bit for each value that the hash of an address can have; the bit is set while
 * there is a sample with that value.  The answer "no" is always right.
 *
 * The module and the library that is preloaded both have one, so this includes nothing but libc's
 * headers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PLH_FILTER_BITS 15
#define PLH_FILTER_BYTES (1 << (PLH_FILTER_BITS - 3))

/*
 * The multiplication moves bits 4 to 18 of an address to the top, so that neighbours in memory,
 * which are allocated and freed one after the other, have neighbouring bits: a line of the
 * processor's cache has those of 8 kB.  Were they scattered, frees would soon take the whole filter
 * into the innermost cache.  And it adds a little of the lower half's other bits, as large blocks
 * all begin at the same place of a page.
 */
#define PLH_FILTER_FACTOR (UINT32_C(1) << 13 | UINT32_C(251))

static inline uint32_t
plh_filter_bit(const void *address)
{
	return (uint32_t) (uintptr_t) address * PLH_FILTER_FACTOR >>
		(32 - PLH_FILTER_BITS);
}

/*
 * Is an address near a sample?  The fast path asks for all bits of the byte, which takes half the
 * instructions, and leaves the rest to the slow one.
 *
 * On x86-64 one of them compares with memory, to which no atomic expression is compiled.
 */
static inline __attribute__((always_inline))
bool
plh_filter_is_near(const uint8_t *filter, const void *address)
{
	const uint8_t *bits = filter + plh_filter_bit(address) / 8;

#ifdef __x86_64__
	bool		is_near;

__asm__("cmpb $0, %1":"=@ccne"(is_near):"m"(*bits));
	return is_near;
#else
	return __atomic_load_n(bits, __ATOMIC_RELAXED) != 0;
#endif
}

static inline bool
plh_filter_has(const uint8_t *filter, const void *address)
{
	uint32_t	bit = plh_filter_bit(address);

	return __atomic_load_n(filter + bit / 8, __ATOMIC_RELAXED) >> bit % 8 & 1;
}

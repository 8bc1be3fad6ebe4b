/*
 * countdown_step.h
 *	  What each allocation does that is no sample: it counts its bytes down.
 *
 * The module and the library that is preloaded both do it, so this includes nothing but libc's
 * headers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Count down what is about to be allocated, or return true, if it takes the slow path: then nothing
 * has been counted.
 *
 * On x86-64 one instruction subtracts from memory and tells both that it went below
 * 0 and that it came to 0, which no expression in C is compiled to.
 */
static inline __attribute__((always_inline))
bool
plh_countdown_step_is_over(uint64_t *left, size_t size)
{
#ifdef __x86_64__
	bool		is_over;

__asm__("subq %2, %0":"+m"(*left), "=@ccbe"(is_over):"er"(size)
:			"cc");
	if (__builtin_expect(is_over, 0))
		*left += size;
	return is_over;
#else
	if (__builtin_expect(size >= *left, 0))
		return true;
	*left -= size;
	return false;
#endif
}

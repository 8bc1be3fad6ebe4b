/*
 * stacks.h
 *	  What tests of unwinding share.
 */
#ifndef STACKS_H
#define STACKS_H

#include "stack/unwind.h"

/* Deeper than most stacks here are. */
#define DEPTH 90

extern int	outer(const PlhStack *stack, uintptr_t function,
				  const uintptr_t **addresses);

/* Tests of code that comes and goes; the second is told where its program is. */
extern void test_compiled_code(void);
extern void test_other_library(const char *program);

#endif							/* STACKS_H */

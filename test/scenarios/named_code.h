/*
 * named_code.h
 *	  The functions of a scenario: where they are, and the stacks that they form.
 *
 * Stands in for the modules of the process, and for the symbolizer.  A function that was
 * not placed is in the server, and nothing is known of its source.
 */
#ifndef NAMED_CODE_H
#define NAMED_CODE_H

#include "scenario_words.h"
#include "stack/unwind.h"

/* NAME [FILE:LINE] [LIBRARY.so] [nameless] */
extern void named_code_place(Words *words);

/*
 * FUNCTION < CALLER < routine "shop.add(integer)" line 12 < ...
 * Returns a number that stands for this stack from now on.
 */
extern int	named_code_stack(Words *words);

/* Fill in the addresses of that stack. */
extern void named_code_fill(int number, PlhStack *stack);

#endif							/* NAMED_CODE_H */

/*
 * stack_text.h
 *	  Stacks as people read them: names of functions, and the call site.
 *
 * Never called inside palloc.
 */
#ifndef PLH_STACK_TEXT_H
#define PLH_STACK_TEXT_H

#include "profile_reader.h"
#include "symbols.h"

typedef struct PlhStackText
{
	const char *site;			/* first frame that is not a helper's */
	char	  **frames;			/* innermost first */
	int			frame_count;
	int64		stack_id;		/* the same in all processes and restarts */
} PlhStackText;

extern void plh_stack_text_describe(PlhSymbols *symbols,
									const PlhProfileImage *image,
									const PlhStackRecord *stack,
									PlhStackText *text);

#endif							/* PLH_STACK_TEXT_H */

/*
 * stack_text.h
 *	  Text of stacks: function names, source lines and the call site.
 *
 * All texts but the path of the binary are fit for this database.  Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"
#include "symbols/symbols.h"

/* A function of a stack; inlined ones have a frame of their own. */
typedef struct PlhFrameText
{
	const char *text;			/* function and line, or module and offset */
	const char *function;		/* NULL where not known */
	const char *file;			/* path of its source; NULL where not known */
	int			line;			/* 0 where not known */
	uint32		address_index;	/* of its address in the stack's record, or
								 * its depth where there is none */
	bool		inlined;		/* into the next frame */
	const char *module;			/* path of its binary; NULL if it is in none */
	PlhRoutineLanguage language;	/* of a routine; of a function in C none */
} PlhFrameText;

typedef struct PlhStackText
{
	const char *site;			/* first frame that is no allocation wrapper */
	int			site_frame;		/* its index */
	PlhFrameText *frames;		/* innermost first */
	int			frame_count;
	int64		stack_id;		/* the same in all processes and restarts */
} PlhStackText;

/* Describes the stacks of one image, and keeps the frames that it has met. */
typedef struct PlhStackTexts PlhStackTexts;

/*
 * Begin to describe stacks of an image, in the current memory context.  Without symbols (NULL) only
 * what the image says itself is known of frames.
 */
extern PlhStackTexts *plh_stack_text_open(PlhSymbols *symbols, const PlhProfileImage *image);

/* The frames' array belongs to the current memory context; each frame is looked up once. */
extern void plh_stack_text_describe(PlhStackTexts *texts, const PlhStackRecord *stack,
									PlhStackText *text);

/* A regular expression of allocation wrappers: pprof drops them and what they call. */
extern char *plh_stack_text_wrappers_pattern(void);

/* The last part of a path. */
extern const char *plh_stack_text_base_name(const char *path);

/* The function of a frame, or its text where the function has no known name. */
extern const char *plh_stack_text_function_name(const PlhFrameText *frame);

/*
 * The innermost routine with its line, or without, or up to four of them with their callers;
 * NULL: none.
 */
extern const char *plh_stack_text_routine(const PlhStackText *stack);
extern const char *plh_stack_text_routine_name(const PlhStackText *stack);
extern const char *plh_stack_text_routines(const PlhStackText *stack);

/* The binary of a frame, without its directory. */
extern const char *plh_stack_text_module_name(const PlhFrameText *frame);

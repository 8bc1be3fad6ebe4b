/*
 * shared_frames.h
 *	  Which function most of the bytes of several stacks went through.
 *
 * Of a finding, the call site is often one of hundreds: of recursion, of a planner that allocates
 * everywhere.  What tells a reader more is the innermost function that at least four fifths of the
 * bytes have in their stacks.  A function that calls itself counts once in a stack, and one that is
 * reached on several ways is one: so this is no matter of the order of frames.
 *
 * The caller says by an id which frames are of one function: an exit goes by return addresses, and
 * a session that asks by names.  Frames that are not worth a name are left out by not adding them.
 *
 * Callable inside palloc: the caller gives the room, and nothing is thrown.
 */
#pragma once

/* The part of all bytes that a function is shared from on. */
#define PLH_SHARED_PART 0.8

typedef struct PlhSharedFrame
{
	uint64		id;				/* of the function; 0: the place is free */
	const void *what;			/* what the caller knows it by, as it was
								 * first added */
	double		bytes;			/* of the stacks that have it */
	double		distance;		/* of it from the call site, in frames, summed
								 * up by bytes */
	double		site_bytes;		/* of the stacks whose call site it is */
	uint32		stacks;			/* that have it */
	uint32		last;			/* of these, the number of the last */
} PlhSharedFrame;

typedef struct PlhSharedFrames
{
	PlhSharedFrame *places;		/* found by the hash of their ids */
	uint32		room;			/* a power of 2 */
	uint32		used;
	uint32		stacks;			/* added so far */
	uint32		index;			/* of the next frame in the last of these */
	double		stack_bytes;	/* of that */
	double		bytes;			/* of all */
} PlhSharedFrames;

/* "places" are zeros, and "room" of them, a power of 2. */
extern void plh_shared_frames_begin(PlhSharedFrames *frames, PlhSharedFrame *places, uint32 room);

/* Begin a stack of so many bytes. */
extern void plh_shared_frames_begin_stack(PlhSharedFrames *frames, double bytes);

/*
 * Add the next frame of that stack, from the call site outwards.  Where no place is left, it is not
 * counted: so shares are never too high.
 */
extern void plh_shared_frames_add(PlhSharedFrames *frames, uint64 id, const void *what);

/* Leave the next frame out, as it says nothing. */
extern void plh_shared_frames_skip(PlhSharedFrames *frames);

/*
 * The innermost function that is shared, or the next one outwards of "inner", which is NULL at
 * first; NULL if there is none.
 */
extern const PlhSharedFrame *plh_shared_frames_next(const PlhSharedFrames *frames,
													const PlhSharedFrame *inner);

/* Is it the call site of as much, so that it needs no other name? */
extern bool plh_shared_frames_is_site(const PlhSharedFrames *frames, const PlhSharedFrame *frame);

/*
 * shared_frames.c
 *	  Which function most of the bytes of several stacks went through.
 */
#include "postgres.h"

#include "profile/shared_frames.h"

/* Odd, and without a pattern. */
#define HASH_FACTOR UINT64CONST(0x9e3779b97f4a7c15)

void
plh_shared_frames_begin(PlhSharedFrames *frames, PlhSharedFrame *places, uint32 room)
{
	memset(frames, 0, sizeof(*frames));
	frames->places = places;
	frames->room = room;
}

void
plh_shared_frames_begin_stack(PlhSharedFrames *frames, double bytes)
{
	frames->stacks++;
	frames->index = 0;
	frames->stack_bytes = bytes;
	frames->bytes += bytes;
}

/*
 * The place of a function, which may be a free one; NULL where there is no room for a new one.  A
 * quarter of the places stays free, so that a search ends soon.
 */
static PlhSharedFrame *
place_of(PlhSharedFrames *frames, uint64 id)
{
	uint32		mask = frames->room - 1;
	uint32		place = (uint32) ((id * HASH_FACTOR) >> 32) & mask;

	while (frames->places[place].id != 0 && frames->places[place].id != id)
		place = (place + 1) & mask;
	if (frames->places[place].id == 0)
	{
		if (frames->used >= frames->room / 4 * 3)
			return NULL;
		frames->used++;
	}
	return &frames->places[place];
}

void
plh_shared_frames_add(PlhSharedFrames *frames, uint64 id, const void *what)
{
	PlhSharedFrame *frame = place_of(frames, id);
	uint32		index = frames->index++;

	/* the innermost of a function that calls itself stands for all */
	if (frame == NULL || (frame->id == id && frame->last == frames->stacks))
		return;
	if (frame->id == 0)
	{
		frame->id = id;
		frame->what = what;
	}
	frame->last = frames->stacks;
	frame->stacks++;
	frame->bytes += frames->stack_bytes;
	frame->distance += frames->stack_bytes * index;
	if (index == 0)
		frame->site_bytes += frames->stack_bytes;
}

void
plh_shared_frames_skip(PlhSharedFrames *frames)
{
	frames->index++;
}

/* How far it is from the call site, in frames. */
static double
distance_of(const PlhSharedFrame *frame)
{
	return frame->distance / frame->bytes;
}

/* Does a function stand behind another one, outwards?  Of two at one distance, one has to. */
static bool
is_behind(const PlhSharedFrame *frame, const PlhSharedFrame *inner)
{
	double		distance = distance_of(frame);
	double		before = distance_of(inner);

	return distance > before || (distance == before && frame > inner);
}

const PlhSharedFrame *
plh_shared_frames_next(const PlhSharedFrames *frames, const PlhSharedFrame *inner)
{
	const PlhSharedFrame *next = NULL;

	for (uint32 i = 0; i < frames->room; i++)
	{
		const PlhSharedFrame *frame = &frames->places[i];

		if (frame->id != 0 && frame->bytes > 0 &&
			frame->bytes >= PLH_SHARED_PART * frames->bytes &&
			(inner == NULL || is_behind(frame, inner)) &&
			(next == NULL || is_behind(next, frame)))
			next = frame;
	}
	return next;
}

bool
plh_shared_frames_is_site(const PlhSharedFrames *frames, const PlhSharedFrame *frame)
{
	return frame->site_bytes >= PLH_SHARED_PART * frames->bytes;
}

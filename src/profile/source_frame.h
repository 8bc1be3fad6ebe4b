/*
 * source_frame.h
 *	  A function that an address is in, as debug information tells it.
 */
#ifndef PLH_SOURCE_FRAME_H
#define PLH_SOURCE_FRAME_H

/* An address is in that many functions at most, by inlining. */
#define PLH_MAX_INLINED 64

/* The texts belong to whoever made the frame. */
typedef struct PlhSourceFrame
{
	const char *function;
	const char *file;			/* path; NULL where not known */
	int			line;			/* 0 where not known */
	bool		inlined;		/* into the next frame */
} PlhSourceFrame;

#endif							/* PLH_SOURCE_FRAME_H */

/*
 * source_frame.h
 *	  A function that an address lies in, as debug information names it.
 */
#pragma once

/* By inlining, an address may lie in several functions, at most this many. */
#define PLH_MAX_INLINED 64

/* The texts belong to the maker of the frame. */
typedef struct PlhSourceFrame
{
	const char *function;
	const char *file;			/* path; NULL if not known */
	int			line;			/* 0 if not known */
	bool		inlined;		/* into the next frame */
} PlhSourceFrame;

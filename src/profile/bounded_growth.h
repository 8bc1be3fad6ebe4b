/*
 * bounded_growth.h
 *	  What roles without privileges may take of a session's profile at once, by having all, or
 *	  many, of their allocations sampled.
 *
 * Never called inside palloc.
 */
#pragma once

/* All that they may take in a session, in records. */
#define PLH_BOUNDED_ROOM (1024 * 1024)

/*
 * Between these calls, which don't nest, the profile grows no further than the room that is left,
 * if "bounded".  "end" gets what "begin" returned.
 */
extern Size plh_bounded_growth_begin(bool bounded);
extern void plh_bounded_growth_end(bool bounded, Size bytes_before);

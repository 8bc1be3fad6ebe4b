/*
 * untouched_buffers.h
 *	  How much of shared_buffers takes no memory yet, as nothing was ever read into it.
 *
 * It will take memory, and no more than that: growth of this kind ends by itself.
 */
#pragma once

/* An estimate; 0 where it is not known, or the buffers are in huge pages, which take it at once. */
extern int64 plh_untouched_buffers_bytes(void);

/*
 * skipped_frames.h
 *	  The innermost frames of a stack, which are ours and the allocator's.
 *
 * This code runs inside palloc, except for what finds the code to skip.
 */
#ifndef PLH_SKIPPED_FRAMES_H
#define PLH_SKIPPED_FRAMES_H

/* At most this many frames are skipped. */
#define PLH_MAX_SKIPPED 12

extern void plh_skipped_frames_start(void);
extern void plh_skipped_frames_add_text_of(const void *address);
extern bool plh_skipped_frames_has(uintptr_t address);
extern int	plh_skipped_frames_count(const uintptr_t *addresses, int count);

#endif							/* PLH_SKIPPED_FRAMES_H */

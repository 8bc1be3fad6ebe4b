/*
 * frame_records.h
 *	  The stack of the running function by the frame records of aarch64.
 *
 * This function may be called inside palloc; it never pallocs, throws or locks.
 */
#ifndef PLH_FRAME_RECORDS_H
#define PLH_FRAME_RECORDS_H

#ifdef __aarch64__
#define PLH_HAVE_FRAME_RECORDS 1
#else
#define PLH_HAVE_FRAME_RECORDS 0
#endif

extern int	plh_frame_records_walk(uintptr_t *addresses, uintptr_t *places, int max_count);

#endif							/* PLH_FRAME_RECORDS_H */

/*
 * trim.h
 *	  Gives back to the kernel what malloc keeps although it was freed.
 *
 * Never called inside palloc.
 */
#pragma once

/* Give it back if somebody has asked for that.  Called after commits. */
extern void plh_trim_if_asked(void);

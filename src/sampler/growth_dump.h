/*
 * growth_dump.h
 *	  Dump files of a process that grows, in case it is killed for growing.
 *
 * These functions may be called inside palloc, except in a critical section; they never palloc or
 * throw.
 */
#pragma once

extern void plh_growth_dump_if_due(void);
extern void plh_growth_dump_forget(void);

/*
 * near_code.h
 *	  Machine code within a jump's reach of the server's.
 *
 * A library lies tens of terabytes from the executable, and some processors take nanoseconds for
 * each jump between them, which is as long as a palloc.  So what each palloc does is written, as
 * machine code, into memory near the server's, with the counter that it counts down.
 *
 * Called when pg_leakhunt is loaded, never inside palloc.  These functions never palloc or throw.
 * Where there is no such code, as the processor is another one or the system refuses new code,
 * plh_near_code_begin returns NULL or plh_near_code_end false.
 */
#pragma once

extern uint64 *plh_near_code_begin(const void *server_code);
extern void *plh_near_code_count_down(void *next, void *over);
extern void *plh_near_code_ask_filter(int argument, const uint8 *filter, void *next, void *found);
extern bool plh_near_code_end(void);

/*
 * look_threads.h
 *	  Stops the threads of another process for a moment, and reads their registers.
 *
 * While they are stopped, no signal but SIGKILL and SIGSTOP reaches this process.  If it ends all
 * the same, the kernel lets them go on.  Nothing is ever written to the other process.
 */
#pragma once

#include <signal.h>

typedef struct PlhLookThread
{
	int			id;
	int			signal;			/* that came meanwhile, and is handed on; 0:
								 * none */
	bool		is_stopped;
} PlhLookThread;

typedef struct PlhLookThreads
{
	int			pid;
	PlhLookThread *list;
	int			count;
	int			room;
	int64		since_us;		/* when the first one was asked to stop */
	sigset_t	blocked_before;
} PlhLookThreads;

/* What the registers of the main thread tell; 0: not known. */
typedef struct PlhLookRegisters
{
	uintptr_t	stack;			/* what lies below is not in use */
	uintptr_t	thread;			/* near the variables of the thread */
} PlhLookRegisters;

/* Take these out of general registers; "thread" is no part of them on ARM. */
extern void plh_look_threads_pointers(PlhLookRegisters *registers, const char *general);

/* The most bytes that the registers of a thread take. */
#define PLH_LOOK_REGISTER_BYTES 16384

/*
 * Stop all threads.  Returns false, with errno set, if that can't be: ETIMEDOUT if one did not stop
 * in time.  They have to be let go in any case.
 */
extern bool plh_look_threads_stop(PlhLookThreads *threads, int pid);

/* Let them go on.  Returns for how many microseconds they stood still. */
extern int64 plh_look_threads_go(PlhLookThreads *threads);

/*
 * Copy the registers of all threads to a room of PLH_LOOK_REGISTER_BYTES for each.  Returns how
 * many bytes they take, all as words; 0, with errno set, if they can't be read.
 */
extern Size plh_look_threads_registers(const PlhLookThreads *threads, char *room,
									   PlhLookRegisters *registers);

/*
 * doorbell.h
 *	  How others have a process answer, whatever it is doing: idle, waiting or at work.
 *
 * plh_doorbell_hang may be called inside palloc; it never pallocs or throws.
 */
#pragma once

/* What rings: a reason of the server's, to be sent by SendProcSignal. */
#define PLH_DOORBELL PROCSIG_PARALLEL_MESSAGE

/* For this process and those that it forks: what is done where the bell is heard. */
extern void plh_doorbell_start(void (*answer) (void));

/* Hang the bell, now or once the server has made its place. */
extern void plh_doorbell_hang(void);

/* Hang it now.  Called outside of palloc. */
extern void plh_doorbell_hang_at_once(void);

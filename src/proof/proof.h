/*
 * proof.h
 *	  Has this process proven by a child, on which it does not wait.
 *
 * Nothing here is called inside palloc.
 */
#pragma once

/* For this process and those that it forks.  The path must stay valid. */
extern void plh_proof_start(const char *directory);

/*
 * Fork the child, unless one is at work.  Returns its pid, or a negative errno.  The moment of the
 * snapshot is later than the call.
 */
extern int64 plh_proof_begin(void);

/* Somebody has asked for a proof, or for a child that has ended to be gone. */
extern void plh_proof_if_asked(void);

/* At exit: nobody waits for a proof any more, and the dump has the last one. */
extern void plh_proof_end_child(void);
extern void plh_proof_remove(void);

/* In a forked child. */
extern void plh_proof_forget(void);

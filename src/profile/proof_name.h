/*
 * proof_name.h
 *	  The file of a process' last proof, beside its profile.
 *
 * Callable inside palloc and at exit.
 */
#pragma once

extern void plh_proof_name_make(char *path, Size bytes, const char *directory, int pid);

/* What it is called until it is complete. */
extern void plh_proof_name_unfinished(char *path, Size bytes, const char *directory, int pid);

/* The pid of the process whose proof has that name; 0: it is none. */
extern int	plh_proof_name_pid(const char *name);

/* Both of them. */
extern void plh_proof_name_unlink(const char *directory, int pid);

/*
 * errors.h
 *	  Runs work on files whose ERRORs must not reach the caller.
 *
 * Never called inside palloc.
 */
#pragma once

/*
 * Call work(arg) in a memory context of its own.  An ERROR becomes a WARNING with "failure" as its
 * message.  Returns false if there was one.
 */
extern bool plh_errors_catch(void (*work) (void *arg), void *arg, const char *failure);

/*
 * The same for work on one file of many, which nobody waits for: an ERROR becomes a line in the
 * log, and one that the file is gone becomes nothing.
 */
extern bool plh_errors_catch_of_file(void (*work) (void *arg), void *arg, const char *failure);

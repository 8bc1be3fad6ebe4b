/*
 * detached_child.h
 *	  A forked process that shares nothing with the server any more, and may die at any time.
 *
 * The symbolizer is one, and so is the process that proves what is lost.
 */
#pragma once

/*
 * Called in the child, whose signals are blocked: cut all ties to the parent but the two standard
 * descriptors that are given, or to none where these are -1.  It has "added_bytes" of memory beyond
 * the parent's.  Ends the process where that fails.
 */
extern void plh_detached_child_begin(pid_t parent, int input_fd, int output_fd,
									 const void *profile, uint64 added_bytes);

/* From here on it may take that much time of a processor. */
extern void plh_detached_child_limit_cpu(int seconds);

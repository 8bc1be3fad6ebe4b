/*
 * whole_io.h
 *	  Reads and writes that go on until all bytes are transferred.
 *
 * These functions may be called inside palloc and in the symbolizer's process: they make only
 * system calls.  A call that a signal interrupts is repeated, so a session that must serve
 * interrupts reads large files in pieces, and polls pipes first.
 */
#pragma once

#include <sys/types.h>

/* This offset stands for the file's own position; pipes have no other. */
#define PLH_FILE_POSITION ((off_t) -1)

extern ssize_t plh_whole_io_read(int fd, void *buffer, Size bytes, off_t offset);
extern bool plh_whole_io_write(int fd, const void *data, Size bytes, off_t offset);

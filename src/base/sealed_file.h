/*
 * sealed_file.h
 *	  Files that processes have mapped, protected from being cut short.
 *
 * Whoever touches a mapped page that a file no longer has gets a SIGBUS, which takes the whole
 * server down.  So such a file is sealed (its mode is u=r), but for the moment in which one of us
 * opens it to write: a redirection, a copy over it or an editor of the same user is refused.
 *
 * Callable inside palloc.  Descriptors are closed on exec.
 */
#pragma once

#include <sys/types.h>

extern int	plh_sealed_file_create(const char *path);
extern int	plh_sealed_file_open(const char *path, ino_t inode);
extern bool plh_sealed_file_seal(int fd);
extern bool plh_sealed_file_reserve(int fd, off_t offset, off_t bytes);

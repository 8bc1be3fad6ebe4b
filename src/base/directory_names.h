/*
 * directory_names.h
 *	  The names in a directory, read without allocating anything.
 *
 * Callable inside palloc: opendir() allocates, and so the directory is read by the system call.
 */
#pragma once

/* The name is valid during the call only. */
typedef void (*PlhNameVisitor) (const char *name, void *arg);

extern int	plh_directory_names_visit(const char *directory, PlhNameVisitor visit, void *arg);

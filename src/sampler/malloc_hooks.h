/*
 * malloc_hooks.h
 *	  What is called when malloc allocates and frees, where pg_leakhunt_malloc.so is preloaded.
 *
 * The functions declared here are called outside malloc, plh_malloc_hooks_reap under the guard.
 */
#pragma once

extern const char *plh_malloc_hooks_install(void);
extern bool plh_malloc_hooks_samples_thread(void);
extern void plh_malloc_hooks_reap(void);
extern void plh_malloc_hooks_forget(void);

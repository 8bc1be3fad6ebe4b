/*
 * method_hooks.h
 *	  The functions that stand in the place of memory context methods.
 *
 * The functions declared here are called outside palloc.
 */
#ifndef PLH_METHOD_HOOKS_H
#define PLH_METHOD_HOOKS_H

extern const char *plh_method_hooks_install(void);

#endif							/* PLH_METHOD_HOOKS_H */

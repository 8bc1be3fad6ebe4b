/*
 * method_hooks.h
 *	  The functions that stand in the place of memory context methods.
 *
 * The functions declared here are called outside palloc.
 */
#ifndef PLH_METHOD_HOOKS_H
#define PLH_METHOD_HOOKS_H

extern const char *plh_method_hooks_install(void);
extern void plh_method_hooks_rearm(void);
extern void plh_method_hooks_call_guarded(void (*function) (void));
extern void plh_method_hooks_track_all(bool on);
extern void plh_method_hooks_forget(void);
extern void plh_method_hooks_stop(void);

#endif							/* PLH_METHOD_HOOKS_H */

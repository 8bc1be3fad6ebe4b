/*
 * method_hooks.h
 *	  The functions that stand in the place of memory context methods.
 *
 * The functions declared here are called outside palloc.
 */
#pragma once

extern const char *plh_method_hooks_install(void);

/*
 * tap.h
 *	  The results of the tests, as TAP.
 */
#ifndef PRELOAD_TAP_H
#define PRELOAD_TAP_H

#include <stdbool.h>

extern void ok(bool passed, const char *format,...) __attribute__((format(printf, 2, 3)));
extern void skip(const char *what, const char *why);

/* For figures: says both where they differ. */
extern void is(long long value, long long expected, const char *name);
extern int	tests_end(void);

#endif							/* PRELOAD_TAP_H */

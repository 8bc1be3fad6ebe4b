/*
 * tap.h
 *	  What all tests share: their results as TAP, and how often they try.
 */
#ifndef TAP_H
#define TAP_H

extern void ok(bool passed, const char *name);

/*
 * For tests of many steps, or that are run many times: keeps in "broken", NULL
 * at first, the first of the conditions that did not hold; ok_unbroken shows it.
 */
#define REQUIRE(broken, condition) \
	((broken) = (broken) == NULL && !(condition) ? #condition : (broken))

extern void ok_unbroken(const char *broken, const char *name);

extern int	rounds(int count);
extern void try_begins(const char *what, uint64 seed, int64 number);
extern int	tests_end(void);

#endif							/* TAP_H */

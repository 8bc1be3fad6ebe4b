/*
 * test_threads.h
 *	  Threads that allocate, reallocate and free each other's blocks.
 */
#ifndef TEST_THREADS_H
#define TEST_THREADS_H

#include <stdbool.h>
#include <stdint.h>

extern void test_threads(void);

/* Other threads begin to, each this number of times; if 0, until they have to end. */
extern void threads_start(long operations);

/* So does this one. */
extern void threads_work_too(long operations);

/* Wait for the others; returns the bytes that they have allocated. */
extern uint64_t threads_end(bool at_once);

extern void threads_free_blocks(void);

#endif							/* TEST_THREADS_H */

/*
 * unit_tests.h
 *	  What the tests share, and where each file's begin.
 */
#ifndef UNIT_TESTS_H
#define UNIT_TESTS_H

#include "tap.h"

/* An address that no chunk has. */
static inline void *
fake_pointer(uint64 i)
{
	return (void *) (uintptr_t) (0x10000 + 16 * i);
}

extern void test_sampling(void);
extern void test_tables(void);
extern void test_lifetimes(void);
extern void test_profiles(void);
extern void test_profile_room(void);
extern void test_recycling(void);
extern void test_census(void);
extern void test_child_messages(void);
extern void test_control(void);
extern void test_countdown(void);
extern void test_clock_of_epochs(void);
extern void test_dump_worth(void);
extern void test_whole_io(void);
extern void test_process_facts(void);
extern void test_near_code(void);
extern void test_read_only_store(void);
extern void test_symbol_protocol(void);
extern void test_server_functions(void);
extern void test_size_units(void);
extern void test_statement_shapes(void);
extern void test_process_suspects(void);
extern void test_memory_course(void);
extern void test_suspects(void);
extern void test_suspect_sums(void);
extern void test_odd_suspects(void);
extern void test_suspect_evidence(void);
extern void test_suspect_list(void);

#endif							/* UNIT_TESTS_H */

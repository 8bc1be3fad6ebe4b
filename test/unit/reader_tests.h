/*
 * reader_tests.h
 *	  Where each file's tests of readers begin.
 */
#ifndef READER_TESTS_H
#define READER_TESTS_H

#include "tap.h"

extern void test_capacity_files(void);
extern void test_hashes(void);
extern void test_images(void);
extern void test_common_causes(void);
extern void test_dump_files(void);
extern void test_damaged_dumps(void);
extern void test_baselines(void);
extern void test_suppression(void);
extern void test_wrapped_texts(void);
extern void test_pictures(void);
extern void test_merges(void);
extern void test_redaction(void);
extern void test_growing_processes(void);
extern void test_json(void);
extern void test_log_readings(void);
extern void test_page_proofs(void);
extern void test_page_sites(void);
extern void test_annotated_plans(void);
extern void test_profile_files(void);
extern void test_reuse(void);
extern void test_followed_parts(void);
extern void test_found_leaks(void);
extern void test_changing_profiles(void);
extern void test_crashed_files(void);
extern void test_heap_texts(void);
extern void test_passing_questions(void);
extern void test_server_accounts(void);
extern void test_statement_lists(void);

#endif							/* READER_TESTS_H */

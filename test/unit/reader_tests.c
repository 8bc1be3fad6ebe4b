/*
 * reader_tests.c
 *	  Tests of what reads: profiles and dumps of other processes, which may be
 *	  damaged in any way, and what is made of them.
 *
 * UNIT_ROUNDS=N tries N times as often what is tried at random.  UNIT_STOP=1 ends
 * the tests at the first that fails.
 */
#include "postgres.h"

#include "base/guard.h"
#include "reader_tests.h"

int
main(void)
{
	/* as owners do, whose functions make the profiles that are read */
	plh_guard_held = true;

	try_begins(NULL, 0, 0);
	test_dump_files();
	test_damaged_dumps();
	test_followed_parts();
	test_found_leaks();
	test_baselines();
	test_profile_files();
	test_reuse();
	test_changing_profiles();
	test_suppression();
	test_wrapped_texts();
	test_pictures();
	test_merges();
	test_redaction();
	test_crashed_files();
	test_heap_texts();
	test_passing_questions();
	test_server_accounts();
	test_statement_lists();
	test_growing_processes();
	test_common_causes();
	test_json();
	test_log_readings();
	test_page_proofs();
	test_page_sites();
	test_annotated_plans();
	/* what takes long: a fault elsewhere is found before */
	test_capacity_files();
	test_hashes();
	test_images();
	return tests_end();
}

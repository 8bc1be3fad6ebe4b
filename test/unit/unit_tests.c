/*
 * unit_tests.c
 *	  Tests of the files that need no server around them.
 */
#include "postgres.h"

#include "base/guard.h"
#include "unit_tests.h"

int
main(void)
{
	/* as the hooks do before they call what is tested */
	plh_guard_held = true;

	test_tables();
	test_heap();
	test_lifetimes();
	test_profile_room();
	test_routines();
	test_routine_readers();
	test_full_profiles();
	test_profile_courses();
	test_census();
	test_context_examples();
	test_census_portals();
	test_child_deaths();
	test_log_turns();
	test_memory_courses();
	test_memory_rooms();
	test_forecast_watch();
	test_watched_processes();
	test_capacity();
	test_session_memory();
	test_countdown();
	test_upkeep();
	test_planned_failure();
	test_process_limit();
	test_clock_of_epochs();
	test_ages();
	test_whole_io();
	test_process_facts();
	test_near_code();
	test_node_bound();
	test_peak_histogram();
	test_plan_nodes();
	test_plan_results();
	test_read_only_store();
	test_symbol_protocol();
	test_allocation_wrappers();
	test_debuginfod();
	test_shared_memory();
	test_size_sentences();
	test_doorbell();
	test_doubts();
	test_size_units();
	test_statement_entries();
	test_statement_shapes();
	test_statement_texts();
	test_process_suspects();
	test_courses();
	test_families();
	test_suspects();
	test_suspect_sums();
	test_odd_suspects();
	test_otel_memory();
	test_proven_suspects();
	test_finding_evidence();
	test_statement_evidence();
	test_finding_advice();
	test_age_texts();
	test_sentences();
	test_told_findings();
	test_findings();
	test_shared_frames();
	test_top_site();
	test_elf_names();
	test_exit_dump();
	test_finding_keys();
	test_forked_child();
	test_limit_report();
	test_server_limit();
	test_statement_peaks();
	test_symbol_cache();
	test_symbol_files();
	test_trim();
	/* what takes long: a fault elsewhere is found before */
	test_sampling();
	test_profiles();
	test_recycling();
	test_control();
	test_dump_retention();
	return tests_end();
}

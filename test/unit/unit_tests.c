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

	test_sampling();
	test_tables();
	test_lifetimes();
	test_profile_room();
	test_profiles();
	test_recycling();
	test_census();
	test_child_messages();
	test_control();
	test_countdown();
	test_clock_of_epochs();
	test_dump_worth();
	test_whole_io();
	test_process_facts();
	test_near_code();
	test_read_only_store();
	test_symbol_protocol();
	test_server_functions();
	test_size_units();
	test_statement_shapes();
	test_process_suspects();
	test_memory_course();
	test_suspects();
	test_suspect_sums();
	test_odd_suspects();
	test_suspect_evidence();
	test_suspect_list();
	return tests_end();
}

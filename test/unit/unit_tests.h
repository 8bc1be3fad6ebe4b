/*
 * unit_tests.h
 *	  What the tests share, and where each file's begin.
 */
#ifndef UNIT_TESTS_H
#define UNIT_TESTS_H

#include "datatype/timestamp.h"

#include "tap.h"

/* An address that no chunk has. */
static inline void *
fake_pointer(uint64 i)
{
	return (void *) (uintptr_t) (0x10000 + 16 * i);
}

/* The clocks of the counters, which go only here. */
extern void pass_time(int64 us);
extern TimestampTz wall_clock(void);
extern void set_wall_clock(int64 change_us);

extern void test_ages(void);
extern void test_age_texts(void);
extern void test_sampling(void);
extern void test_tables(void);
extern void test_heap(void);
extern void test_lifetimes(void);
extern void test_log_turns(void);
extern void test_memory_courses(void);
extern void test_memory_rooms(void);
extern void test_forecast_watch(void);
extern void test_watched_processes(void);
extern void test_profiles(void);
extern void test_profile_room(void);
extern void test_recycling(void);
extern void test_routines(void);
extern void test_routine_readers(void);
extern void test_full_profiles(void);
extern void test_profile_courses(void);
extern void test_census(void);
extern void test_census_portals(void);
extern void test_context_examples(void);
extern void test_child_deaths(void);
extern void test_control(void);
extern void test_countdown(void);
extern void test_upkeep(void);
extern void test_planned_failure(void);
extern void test_process_limit(void);
extern void test_clock_of_epochs(void);
extern void test_dump_retention(void);
extern void test_whole_io(void);
extern void test_process_facts(void);
extern void test_near_code(void);
extern void test_node_bound(void);
extern void test_peak_histogram(void);
extern void test_plan_nodes(void);
extern void test_plan_results(void);
extern void test_read_only_store(void);

/* PROT_ flags, or -1 where there are none or several. */
extern int	protection_of_memory(const void *start, const void *end);
extern void test_symbol_protocol(void);
extern void test_allocation_wrappers(void);
extern void test_debuginfod(void);
extern void test_shared_memory(void);
extern void test_size_sentences(void);
extern void test_doorbell(void);
extern void test_doubts(void);
extern void test_size_units(void);
extern void test_statement_entries(void);
extern void test_statement_evidence(void);
extern void test_statement_shapes(void);
extern void test_statement_texts(void);
extern void test_process_suspects(void);
extern void test_capacity(void);
extern void test_courses(void);
extern void test_families(void);
extern void test_suspects(void);
extern void test_suspect_sums(void);
extern void test_odd_suspects(void);
extern void test_otel_memory(void);
extern void test_proven_suspects(void);
extern void test_finding_advice(void);
extern void test_finding_evidence(void);
extern void test_findings(void);
extern void test_shared_frames(void);
extern void test_top_site(void);
extern void test_elf_names(void);
extern void test_exit_dump(void);
extern void test_finding_keys(void);
extern void test_forked_child(void);
extern void test_limit_report(void);
extern void test_sentences(void);
extern void test_server_limit(void);
extern void test_session_memory(void);
extern void test_told_findings(void);
extern void test_statement_peaks(void);
extern void test_symbol_cache(void);
extern void test_symbol_files(void);
extern void test_trim(void);

#endif							/* UNIT_TESTS_H */

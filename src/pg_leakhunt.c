/*
 * pg_leakhunt.c
 *	  Hunts memory leaks inside a running server: start of the module.
 *
 * The files, in the order in which data flows through them:
 *
 *	settings		the GUCs
 *	method_patch	puts our functions in the place of context methods
 *	chunk_mark, sample_filter	tell sampled chunks from others
 *	method_hooks	these functions: countdown, then record a sample
 *	sampling		gaps, weights and error bounds
 *	unwind			the stack of an allocation
 *	server_functions	the server's functions that mean something in a stack
 *	lifetime		how long its memory context lives
 *	statement		the statement that is running
 *	modules			address -> executable or library
 *	live_samples	sampled chunks, dropped when freed or reset
 *	pointer_table, private_memory	what live_samples is made of
 *	profile, profile_counters	the records and counters of this process
 *	profile_layout, profile_file	their layout, and the file they are in
 *	process			start, fork, publication, exit
 *	control			requests of other processes to start and stop sampling
 *	server_processes	the processes of this server, as the kernel knows them
 *	census			what all contexts and malloc hold, and the history of it
 *	baseline		what processes held when growth was to be counted from
 *	profile_reader	reads profiles of any process
 *	symbols			address -> functions, files and lines
 *	symbol_cache	what a session knows of them
 *	symbolizer		asks a process of its own for more
 *	symbol_server	that process
 *	debug_info, debug_file	what it finds in binaries, with libdw
 *	stack_text		stacks as people read them
 *	dump, dump_directory	dump files: names, retention
 *	dump_writer, dump_addresses, dump_symbols	what is in them
 *	dump_reader, dump_lines, symbol_table	how they become profiles again
 *	growth_dump		dump files of a process that grows
 *	sweep			profiles that a crash has left
 *	site_list		call sites with stacks as text, or the growth of them
 *	top, folded, flamegraph, pprof	what they are turned into
 *	call_tree		what a flame graph is drawn from
 *	suppression		patterns that name known sites
 *	leak_check		what a statement leaves behind
 *	sql_rows, sql_source	what functions of SQL have in common
 *	sql_functions, sql_sites, sql_control, sql_check, sql_dumps, sql_pictures	what
 *					SQL can call
 *
 * README in this directory explains how they work together.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "base/compat.h"
#include "base/modules.h"
#include "base/settings.h"
#include "base/unwind.h"
#include "process/process.h"
#include "process/sweep.h"
#include "sampler/method_hooks.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

/*
 * Module load: by shared_preload_libraries, in the postmaster; else in one
 * session.  Whatever goes wrong, the server must work as without us.
 */
void
_PG_init(void)
{
	const char *refusal;

	plh_settings_define(plh_method_hooks_rearm);
	plh_modules_start();
	plh_unwind_start();

	refusal = plh_process_start();
	if (refusal == NULL)
		refusal = plh_method_hooks_install();
	if (refusal != NULL)
		plh_process_give_up(refusal);
	else
	{
		plh_process_watch_transactions();
		if (plh_process_is_preloaded())
			plh_sweep_start();
	}
}

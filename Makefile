# pg_leakhunt: hunts memory leaks inside a running PostgreSQL server

EXTENSION = pg_leakhunt
MODULE_big = pg_leakhunt
DATA = sql/pg_leakhunt--1.0.sql
SCRIPTS = bin/pg_leakhunt_attach bin/pg_leakhunt_export bin/pg_leakhunt_regress bin/pg_leakhunt_remove

# the version of the extension, which stands in its control file only
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(srcdir)/pg_leakhunt.control)

# what gdb does for pg_leakhunt_attach, which looks for it beside itself
ATTACH_GDB = bin/pg_leakhunt_attach.gdb

# the modules of pg_leakhunt_export, in a folder beside it
EXPORTER = $(wildcard bin/pg_leakhunt_exporter/*.py)

# the same of pg_leakhunt_regress, with what PostgreSQL itself keeps, and the file by
# which the Makefile of another extension calls it
REGRESSION = $(wildcard bin/pg_leakhunt_regression/*.py) bin/pg_leakhunt_regression/core.supp
LEAKCHECK_MK = bin/pg_leakhunt_regression/leakcheck.mk

# The objects by folder.  A file includes files of its own folder and of those
# above it only.
#
# Inside palloc, where nothing may allocate, lock, throw or report:
# what everything stands on; knows nothing of samples
BASE_OBJS = \
	src/base/client_names.o \
	src/base/directory_names.o \
	src/base/guard.o \
	src/base/hash_buckets.o \
	src/base/hash_seed.o \
	src/base/heavy_hitters.o \
	src/base/own_memory.o \
	src/base/pointer_table.o \
	src/base/private_memory.o \
	src/base/process_facts.o \
	src/base/sampling.o \
	src/base/sealed_file.o \
	src/base/settings.o \
	src/base/size_units.o \
	src/base/whole_io.o

# how a stack is taken
STACK_OBJS = \
	src/stack/allocation_wrappers.o \
	src/stack/call_frame_info.o \
	src/stack/compiled_code.o \
	src/stack/frame_records.o \
	src/stack/modules.o \
	src/stack/server_functions.o \
	src/stack/skipped_frames.o \
	src/stack/stack_memo.o \
	src/stack/stack_walk.o \
	src/stack/unwind.o \
	src/stack/unwind_rules.o

# the functions of procedural languages that run
ROUTINE_OBJS = \
	src/routine/known_callbacks.o \
	src/routine/perl_routine.o \
	src/routine/plpgsql_routine.o \
	src/routine/python_routine.o \
	src/routine/routine_text.o \
	src/routine/sql_routine.o

# the format of a profile, its owner's writes, checked access to it
PROFILE_OBJS = \
	src/profile/baseline.o \
	src/profile/bounded_growth.o \
	src/profile/dump_copy.o \
	src/profile/dump_names.o \
	src/profile/maintenance.o \
	src/profile/profile.o \
	src/profile/profile_counters.o \
	src/profile/profile_courses.o \
	src/profile/profile_file.o \
	src/profile/profile_image.o \
	src/profile/profile_records.o \
	src/profile/profile_recycling.o \
	src/profile/profile_room.o \
	src/profile/profile_run.o \
	src/profile/profile_stack.o \
	src/profile/profile_statement.o \
	src/profile/shared_directory.o \
	src/profile/site_ages.o \
	src/profile/site_facts.o \
	src/profile/statement_commands.o \
	src/profile/statement_entries.o \
	src/profile/statement_shape.o \
	src/profile/statement_stack.o \
	src/profile/statement_text.o \
	src/profile/statement_tokens.o \
	src/profile/statements_file.o

# the hooks, and what they keep
SAMPLER_OBJS = \
	src/sampler/census.o \
	src/sampler/census_examples.o \
	src/sampler/context_blocks.o \
	src/sampler/context_ident.o \
	src/sampler/control.o \
	src/sampler/control_file.o \
	src/sampler/countdown.o \
	src/sampler/current_routines.o \
	src/sampler/current_site.o \
	src/sampler/growth_dump.o \
	src/sampler/lifetime.o \
	src/sampler/limit_places.o \
	src/sampler/live_samples.o \
	src/sampler/malloc_hooks.o \
	src/sampler/malloc_samples.o \
	src/sampler/may_fail.o \
	src/sampler/memory_limits.o \
	src/sampler/method_hooks.o \
	src/sampler/method_patch.o \
	src/sampler/near_code.o \
	src/sampler/owner.o \
	src/sampler/plan_nodes.o \
	src/sampler/planned_failure.o \
	src/sampler/process_limit.o \
	src/sampler/publication.o \
	src/sampler/read_only_store.o \
	src/sampler/sample_filter.o \
	src/sampler/statement_peaks.o \
	src/sampler/upkeep.o

# Outside of palloc:
# any process' profile, baseline or dump, as one form in memory
READER_OBJS = \
	src/reader/baseline_file.o \
	src/reader/database_text.o \
	src/reader/dump_reader.o \
	src/reader/frame_names.o \
	src/reader/machine_memory.o \
	src/reader/merged_records.o \
	src/reader/merged_sites.o \
	src/reader/unpublished_part.o \
	src/reader/profile_builder.o \
	src/reader/profile_layouts.o \
	src/reader/profile_merge.o \
	src/reader/profile_reader.o \
	src/reader/redaction.o \
	src/reader/server_activity.o \
	src/reader/server_figures.o \
	src/reader/server_processes.o \
	src/reader/settled_counters.o \
	src/reader/site_owner.o \
	src/reader/session_peaks.o \
	src/reader/statement_list.o

# files of dumps: their texts, and which of them stay
DUMP_OBJS = \
	src/dump/dump_addresses.o \
	src/dump/dump_report.o \
	src/dump/dump_retention.o \
	src/dump/heap_text.o

# load, fork, the ends of transactions, exit
PROCESS_OBJS = \
	src/process/dump_texts.o \
	src/process/errors.o \
	src/process/exit_dump.o \
	src/process/exit_report.o \
	src/process/limit_report.o \
	src/process/log_turns.o \
	src/process/process.o \
	src/process/profile_directory.o \
	src/process/statements_dump.o \
	src/process/report_detail.o \
	src/process/top_site.o \
	src/process/trim.o \
	src/process/unshown_profile.o

# from an address to functions, files and lines
SYMBOLS_OBJS = \
	src/symbols/debug_file.o \
	src/symbols/debug_info.o \
	src/symbols/dwarf_units.o \
	src/symbols/debuginfod.o \
	src/symbols/elf_image.o \
	src/symbols/elf_names.o \
	src/symbols/passing_questions.o \
	src/symbols/shared_memory.o \
	src/symbols/symbol_cache.o \
	src/symbols/symbol_files.o \
	src/symbols/symbol_protocol.o \
	src/symbols/symbol_server.o \
	src/symbols/symbolizer.o \
	src/symbols/symbols.o

# stacks as text, and the pictures and files made of them
REPORT_OBJS = \
	src/report/apt_archives.o \
	src/report/blamed_code.o \
	src/report/call_tree.o \
	src/report/code_part.o \
	src/report/context_examples.o \
	src/report/context_list.o \
	src/report/crash_report.o \
	src/report/death_text.o \
	src/report/debug_packages.o \
	src/report/dump_symbols.o \
	src/report/flamegraph.o \
	src/report/folded.o \
	src/report/listed_site.o \
	src/report/malloc_callers.o \
	src/report/largest_statements.o \
	src/report/one_line.o \
	src/report/routine_frames.o \
	src/report/server_binary.o \
	src/report/site_list.o \
	src/report/stack_text.o \
	src/report/text_numbers.o \
	src/report/top.o \
	src/report/words.o

# profiles in the format of pprof
PPROF_OBJS = \
	src/pprof/pprof.o \
	src/pprof/pprof_samples.o \
	src/pprof/pprof_tables.o \
	src/pprof/protobuf.o

# what counts as a leak
VERDICT_OBJS = \
	src/verdict/account.o \
	src/verdict/age_text.o \
	src/verdict/checked_statement.o \
	src/verdict/core_cache.o \
	src/verdict/course.o \
	src/verdict/doubt.o \
	src/verdict/ending_advice.o \
	src/verdict/explanation.o \
	src/verdict/explanation_json.o \
	src/verdict/family.o \
	src/verdict/family_suspect.o \
	src/verdict/followed_parts.o \
	src/verdict/image_suspects.o \
	src/verdict/largest_site.o \
	src/verdict/check_run.o \
	src/verdict/failing_check.o \
	src/verdict/found_leaks.o \
	src/verdict/leak_check.o \
	src/verdict/leak_snapshot.o \
	src/verdict/malloc_statement.o \
	src/verdict/outside_advice.o \
	src/verdict/parsed_text.o \
	src/verdict/process_kind.o \
	src/verdict/process_suspect.o \
	src/verdict/sentences.o \
	src/verdict/repeated_check.o \
	src/verdict/server_summary.o \
	src/verdict/share_text.o \
	src/verdict/site_family.o \
	src/verdict/site_suspects.o \
	src/verdict/size_sentences.o \
	src/verdict/statement_evidence.o \
	src/verdict/statement_limit.o \
	src/verdict/statement_suspect.o \
	src/verdict/staying_doubt.o \
	src/verdict/suppression.o \
	src/verdict/suppression_table.o \
	src/verdict/suspect.o \
	src/verdict/suspect_advice.o \
	src/verdict/suspect_evidence.o \
	src/verdict/suspect_list.o \
	src/verdict/told_finding.o \
	src/verdict/unwritten.o \
	src/verdict/worst_suspects.o

# the page: what it says, as JSON, and the file of HTML around that
PAGE_OBJS = \
	src/page/page_html.o \
	src/page/page_json.o \
	src/page/page_process.o \
	src/page/page_server.o \
	src/page/page_sites.o \
	src/page/page_statements.o \
	src/page/page_unseen.o \
	src/page/page_zone.o

# what becomes of the profiles of processes that crashed
CRASH_OBJS = \
	src/crash/child_deaths.o \
	src/crash/child_message.o \
	src/crash/crash_dumps.o \
	src/crash/crashed_profiles.o \
	src/crash/sweep.o

# what is done without being asked
WATCH_OBJS = \
	src/watch/finding_key.o \
	src/watch/finding_line.o \
	src/watch/keeper.o \
	src/watch/reporter.o \
	src/watch/server_limit.o \
	src/watch/verdict_watch.o \
	src/watch/watched_processes.o

# what each node of a plan holds, while EXPLAIN runs it
PLAN_OBJS = \
	src/plan/annotated_plan.o \
	src/plan/explain_option.o \
	src/plan/explained_query.o \
	src/plan/plan_result.o \
	src/plan/plan_text.o \
	src/plan/plan_tree.o \
	src/plan/plan_watch.o \
	src/plan/plan_workers.o

# SQL arguments in, rows out
FUNCTIONS_OBJS = \
	src/functions/sql_access.o \
	src/functions/sql_ages.o \
	src/functions/sql_arguments.o \
	src/functions/sql_caches.o \
	src/functions/sql_check.o \
	src/functions/sql_control.o \
	src/functions/sql_dumps.o \
	src/functions/sql_explain.o \
	src/functions/sql_explained.o \
	src/functions/sql_history.o \
	src/functions/sql_metrics.o \
	src/functions/sql_page.o \
	src/functions/sql_pictures.o \
	src/functions/sql_plan.o \
	src/functions/sql_pprof.o \
	src/functions/sql_processes.o \
	src/functions/sql_redaction.o \
	src/functions/sql_rows.o \
	src/functions/sql_site_visits.o \
	src/functions/sql_sites.o \
	src/functions/sql_source.o \
	src/functions/sql_statements.o \
	src/functions/sql_suppressions.o \
	src/functions/sql_suspects.o \
	src/functions/sql_trim.o

OBJS = \
	src/pg_leakhunt.o \
	$(BASE_OBJS) \
	$(STACK_OBJS) \
	$(ROUTINE_OBJS) \
	$(PROFILE_OBJS) \
	$(SAMPLER_OBJS) \
	$(READER_OBJS) \
	$(DUMP_OBJS) \
	$(PROCESS_OBJS) \
	$(SYMBOLS_OBJS) \
	$(REPORT_OBJS) \
	$(PPROF_OBJS) \
	$(VERDICT_OBJS) \
	$(PAGE_OBJS) \
	$(CRASH_OBJS) \
	$(WATCH_OBJS) \
	$(PLAN_OBJS) \
	$(FUNCTIONS_OBJS)

# The library that is preloaded to know of malloc, which is no part of the module, and
# depends on nothing but libc.
MALLOC_OBJS = \
	src/preload/environment.o \
	src/preload/pg_leakhunt_malloc.o

PG_CPPFLAGS = -I$(srcdir)/src -DPLH_EXTENSION_VERSION='"$(EXTVERSION)"'
# -O3, because the code that runs inside palloc consists of loops over some 20 frames.
# Small variables lie together, in front of the large ones (src/base/page_layout.h): a
# forked process gets a copy of each page that it writes to, and writes to a few
# variables of most files.
# Without LTO, with which Ubuntu builds its servers: it leaves out the function of -fini.
PG_CFLAGS = -O3 -fno-lto -fdata-sections -fvisibility=hidden -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers
# Functions are found when the module is loaded, not by each process when it calls them.
# libdw is not linked: the process that reads symbols loads it when it is needed.
SHLIB_LINK = -Wl,--sort-section=name -Wl,-z,now -Wl,-fini=plh_pg_leakhunt_fini -lunwind -lm -ldl

# strings made of files that are not C
GENERATED = \
	src/report/flamegraph_script.h \
	src/report/flamegraph_style.h \
	src/page/page_script.h \
	src/page/page_skeleton.h \
	src/page/page_style.h

# The script of the page, in the order in which its parts need each other.
PAGE_SCRIPT = \
	src/page/start.js \
	src/page/format.js \
	src/page/elements.js \
	src/page/theme.js \
	src/page/state.js \
	src/page/model.js \
	src/page/answers.js \
	src/page/words.js \
	src/page/chart.js \
	src/page/graph.js \
	src/page/tree.js \
	src/page/table.js \
	src/page/treemap.js \
	src/page/detail.js \
	src/page/profile.js \
	src/page/compare.js \
	src/page/process.js \
	src/page/heat.js \
	src/page/server.js \
	src/page/main.js \
	src/page/end.js

REGRESS = \
	functions \
	views \
	privileges \
	settings

EXTRA_CLEAN = $(GENERATED) .built_for_server pg_leakhunt_malloc.so $(MALLOC_OBJS) test/fuzz/replay test/fuzz/fuzz test/unit/run_tests test/unit/run_readers test/unit/run_stacks test/unit/run_plain_stacks test/unit/run_threads test/unit/frames test/unit/cut_stacks test/unit/objects test/unit/*.so test/scenarios/run_scenarios test/scenarios/objects test/preload/run_tests test/preload/race_tests test/preload/named_program test/preload/*.so test/leaker/leaker.so test/leaker/leaker.o test/faults/faults.so test/faults/faults.o

# A PG_CONFIG in the environment counts as one on the command line does.  make hands
# both on to the scripts of OWN_TARGETS, but not this default: without PG_CONFIG they
# look for a server themselves.
PG_CONFIG ?= pg_config

# Plain "make" builds the module, though the targets below come first.
.DEFAULT_GOAL := all

# The scripts of these targets set up what they need, including a server and its
# pg_config, which PGXS would want to have already.
OWN_TARGETS = demo test test-long test-all test-stress test-incidents test-fleet test-faults test-kills test-load test-fuzz test-readers test-pages test-sanitizers test-valgrind test-matrix \
	test-non-pie test-coexistence test-core test-plans test-minors test-random-limit test-contexts test-aarch64 test-published-leaks test-documents test-packages \
	test-indent test-lint test-scan-build test-cppcheck \
	test-planted test-hunt bench dist
.PHONY: $(OWN_TARGETS)
demo:
	test/demo
test:
	test/run
# The other TAP tests; all of what this file has for tests, in parts; and make test again and
# again on a busy machine.
test-long:
	SUITES=long test/run
test-all:
	test/run
	test/part all
test-stress:
	test/stress
# Plays incidents, and asks what pg_leakhunt says of each.
test-incidents:
	test/incidents/run
# Debian's Prometheus and exporters, on a server with leaks, with the files of monitoring/.
test-fleet:
	test/fleet
# Looks for hostile files that the readers fail at, a minute long.
test-fuzz:
	test/fuzz/run 10
# Shows profiles for pprof to other programs that read them, which npm has.
test-readers:
	test/pprof-readers
# Asks axe, which npm has, whether everybody can use the pages.
test-pages:
	test/page-axe
# Tests on the PostgreSQL of other Debian releases, each in a root directory of its
# own, for which the user must be root.
test-matrix:
	test/matrix
# Runs the commands of README, doc/ and monitoring/ in a fresh Debian, as root.
test-documents:
	test/documents
# Debian's package, CloudNativePG's image, the Dockerfile, PGXN's archive and the RPM:
# built and used in fresh roots, as root.
test-packages:
	test/packages/run
# Tests on servers that are no position-independent executables.
test-non-pie:
	test/non-pie
# Tests beside other extensions, allocators and servers.
test-coexistence:
	test/coexistence
# Compares the routines that are found with PG_CONTEXT, in PL/pgSQL's own tests.
test-contexts:
	test/contexts/run
# Runs PostgreSQL's own tests, with every allocation sampled.
test-core:
	test/core-regress
# The same with plans watched, as EXPLAIN (ANALYZE, LEAKHUNT) does.
test-plans:
	test/plans/run
# The oldest and newest minor release of each version with one build, for which the user
# must be root.
test-minors:
	test/minors
# Debian's servers for arm64 under emulation, with a module that is cross-compiled.
test-aarch64:
	test/aarch64
# PostgreSQL's own tests where allocations fail at random, as at a memory limit.
test-random-limit:
	test/random-limit
# Many sessions for ten minutes, with every allocation sampled, of which all is
# accounted for at the end.
test-load:
	test/load
# The tests with a module built for AddressSanitizer and UndefinedBehaviorSanitizer.
test-sanitizers:
	test/sanitizers
# The tests on a server under Valgrind, which knows each chunk of a memory context.
test-valgrind:
	test/valgrind
# The format of the C files, by pgindent of PostgreSQL 17; the walls between the folders,
# and the jobs of CI; clang's analyzer, and cppcheck.
test-indent:
	test/indent --check
test-lint:
	test/lint_all
test-scan-build:
	test/scan-build
test-cppcheck:
	test/cppcheck
# Finds a leak of pg_cron as Debian packages it, and two in a PostgreSQL from source.
test-published-leaks:
	test/published-leaks
# Runs the tests of contrib and of Debian's extensions as leak tests; doc/found.md.
test-hunt:
	test/hunt/run
# All errors of all system calls at all rates, in ten minutes; 500 killed processes,
# in twenty.
test-faults:
	FAULTS=all test/tap 028
test-kills:
	test/kills
# Plants faults of one line into a copy of the tree, and looks whether tests catch each.
test-planted:
	test/planted
bench:
	bench/micro/run
# The archive for PGXN and for packagers, of what is committed.
DISTVERSION = $(shell sed -n 's/^   "version": "\(.*\)",/\1/p' META.json)
# A tag that is to be released is that version's.
dist:
	@case "$${GITHUB_REF_NAME:-}" in v$(DISTVERSION)) ;; v[0-9]*) \
		echo "The tag is $$GITHUB_REF_NAME, but META.json has the version $(DISTVERSION)." >&2; exit 1 ;; esac
	git archive --format=zip --prefix=pg_leakhunt-$(DISTVERSION)/ -o pg_leakhunt-$(DISTVERSION).zip HEAD

ifneq ($(filter-out $(OWN_TARGETS),$(or $(MAKECMDGOALS),all)),)
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
ifneq ($(abspath $(srcdir)),$(abspath .))
$(error pg_leakhunt is built in its own folder: call make there)
endif

# PGXS removes programs by the names of their sources, with the folder.
uninstall: uninstall-programs
.PHONY: uninstall-programs
uninstall-programs:
	rm -f $(addprefix '$(DESTDIR)$(bindir)'/, $(notdir $(SCRIPTS)))

# The parts of programs that are no programs.
install: install-exporter
uninstall: uninstall-exporter
.PHONY: install-exporter uninstall-exporter
install-exporter: installdirs
	$(MKDIR_P) '$(DESTDIR)$(bindir)/pg_leakhunt_exporter'
	$(INSTALL_DATA) $(EXPORTER) '$(DESTDIR)$(bindir)/pg_leakhunt_exporter/'
	$(INSTALL_DATA) $(ATTACH_GDB) '$(DESTDIR)$(bindir)/'
uninstall-exporter:
	rm -f $(addprefix '$(DESTDIR)$(bindir)'/pg_leakhunt_exporter/, $(notdir $(EXPORTER)))
	-rmdir '$(DESTDIR)$(bindir)/pg_leakhunt_exporter'
	rm -f '$(DESTDIR)$(bindir)/$(notdir $(ATTACH_GDB))'

install: install-regression
uninstall: uninstall-regression
.PHONY: install-regression uninstall-regression
install-regression: installdirs
	$(MKDIR_P) '$(DESTDIR)$(bindir)/pg_leakhunt_regression' '$(DESTDIR)$(datadir)/pg_leakhunt'
	$(INSTALL_DATA) $(addprefix $(srcdir)/, $(REGRESSION)) '$(DESTDIR)$(bindir)/pg_leakhunt_regression/'
	$(INSTALL_DATA) '$(srcdir)/$(LEAKCHECK_MK)' '$(DESTDIR)$(datadir)/pg_leakhunt/'
uninstall-regression:
	rm -f $(addprefix '$(DESTDIR)$(bindir)'/pg_leakhunt_regression/, $(notdir $(REGRESSION)))
	-rmdir '$(DESTDIR)$(bindir)/pg_leakhunt_regression'
	rm -f '$(DESTDIR)$(datadir)/pg_leakhunt/$(notdir $(LEAKCHECK_MK))'

# Every malloc goes through this library: so it has no frame pointers, canaries or
# sanitizers, and finds its variables of a thread without a call.  The compiler must
# not know of malloc here, or it would take a function for what it defines.
MALLOC_CFLAGS = -O2 -fPIC -fvisibility=hidden -ftls-model=initial-exec -fomit-frame-pointer \
	-fno-stack-protector -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free \
	-fno-builtin-aligned_alloc -fno-builtin-posix_memalign -fno-lto -fno-sanitize=all
all: pg_leakhunt_malloc.so
$(MALLOC_OBJS): override CFLAGS += $(MALLOC_CFLAGS)
$(MALLOC_OBJS): $(wildcard src/preload/*.h)
# The last of -shared and -no-pie counts, and the server's own flags may have the latter.
pg_leakhunt_malloc.so: $(MALLOC_OBJS)
	$(CC) $(CFLAGS) $(LDFLAGS) $(MALLOC_CFLAGS) -shared -Wl,-z,now -Wl,--as-needed $(MALLOC_OBJS) -o $@ -ldl

install: install-malloc
uninstall: uninstall-malloc
.PHONY: install-malloc uninstall-malloc
install-malloc: pg_leakhunt_malloc.so installdirs
	$(INSTALL_SHLIB) pg_leakhunt_malloc.so '$(DESTDIR)$(pkglibdir)/'
uninstall-malloc:
	rm -f '$(DESTDIR)$(pkglibdir)/pg_leakhunt_malloc.so'

# The files for Prometheus, exporters, Grafana and systemd.
MONITORING = monitoring/README.md $(wildcard monitoring/*.yml) monitoring/grafana-dashboard.json
MONITORING_UNITS = $(wildcard monitoring/systemd/*)
monitoring_folder = $(DESTDIR)$(datadir)/pg_leakhunt/monitoring
install: install-monitoring
uninstall: uninstall-monitoring
.PHONY: install-monitoring uninstall-monitoring
install-monitoring: installdirs
	$(MKDIR_P) '$(monitoring_folder)/systemd'
	$(INSTALL_DATA) $(addprefix $(srcdir)/, $(MONITORING)) '$(monitoring_folder)/'
	$(INSTALL_DATA) $(addprefix $(srcdir)/, $(MONITORING_UNITS)) '$(monitoring_folder)/systemd/'
	# units call the programs where they are installed
	sed -i 's|^\(Exec[A-Za-z]*=\)/usr/lib/postgresql/[0-9]*/bin/|\1$(bindir)/|' '$(monitoring_folder)'/systemd/*.service
uninstall-monitoring:
	rm -f $(addprefix '$(monitoring_folder)'/, $(notdir $(MONITORING)) $(MONITORING_UNITS:monitoring/%=%))
	-rmdir -p --ignore-fail-on-non-empty '$(monitoring_folder)/systemd'

# The man pages of the programs.
MAN_PAGES = $(wildcard doc/man/*.1)
install: install-man
uninstall: uninstall-man
.PHONY: install-man uninstall-man
install-man: installdirs
	$(MKDIR_P) '$(DESTDIR)$(mandir)/man1'
	$(INSTALL_DATA) $(MAN_PAGES) '$(DESTDIR)$(mandir)/man1/'
uninstall-man:
	rm -f $(addprefix '$(DESTDIR)$(mandir)/man1'/, $(notdir $(MAN_PAGES)))

# Runs the TAP tests on the module that is installed, with servers of their own, as any
# user but root: "make installcheck" runs the tests of REGRESS in a server that runs.  What
# needs more than the server and Perl's IPC::Run is left out where that is missing.
PROVE_TESTS ?= test/t/*.pl test/t-long/*.pl
.PHONY: prove_installcheck may-prove test-modules
prove_installcheck: export LEAKER = $(CURDIR)/test/leaker/leaker
prove_installcheck: export TESTDATADIR = $(CURDIR)/tmp_check
prove_installcheck: export NO_NOBODY = test/run makes one, as root
prove_installcheck: export NO_OOM_CGROUP = test/run limits it, as root
prove_installcheck: export PG_CONFIG := $(PG_CONFIG)
prove_installcheck: may-prove test-modules
	$(prove_installcheck)
	@test/skipped '$(CURDIR)/tmp_check/log'

may-prove:
	@[ "$$(id -u)" != 0 ] || { echo "PostgreSQL does not run as root: let another user call make prove_installcheck." >&2; exit 1; }
	@[ -f '$(pkglibdir)/pg_leakhunt.so' ] || { echo "There is no $(pkglibdir)/pg_leakhunt.so: call make install first." >&2; exit 1; }

# the modules and programs that the TAP tests load and run
test-modules: $(GENERATED)
	$(MAKE) -C test/leaker PG_CONFIG='$(PG_CONFIG)' all
	$(MAKE) -C test/faults PG_CONFIG='$(PG_CONFIG)' all
	$(MAKE) -C test/unit PG_CONFIG='$(PG_CONFIG)' frames cut_stacks

# PGXS tracks no headers, so each object depends on all of them, and on the server that
# it was compiled for: it can't be loaded by another.
$(OBJS) $(OBJS:.o=.bc): $(filter-out $(GENERATED),$(wildcard src/*/*.h)) .built_for_server
.PHONY: which-server
.built_for_server: which-server
	@$(PG_CONFIG) --version --configure | cmp -s - $@ || $(PG_CONFIG) --version --configure >$@

# The scripts and styles that flame graphs and pages contain are compiled in as strings.
src/report/flamegraph.o src/report/flamegraph.bc src/page/page_html.o src/page/page_html.bc: $(GENERATED)
src/report/flamegraph_script.h: src/report/flamegraph.js
src/report/flamegraph_style.h: src/report/flamegraph.css
src/page/page_script.h: $(PAGE_SCRIPT)
src/page/page_skeleton.h: src/page/page.html
src/page/page_style.h: src/page/page.css
.PHONY: generated
generated: $(GENERATED)
$(GENERATED):
	(echo 'static const char $(basename $(notdir $@))[] ='; cat $^ | sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/'; echo ';') >$@
endif

# All else works without it.
ifneq ($(includedir_server),)
ifeq ($(wildcard $(includedir_server)/plpgsql.h),)
$(info plpgsql.h is not among the headers of the server: functions in PL/pgSQL will not be named.)
endif
endif

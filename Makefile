# pg_leakhunt: hunts memory leaks inside a running PostgreSQL server

EXTENSION = pg_leakhunt
MODULE_big = pg_leakhunt
DATA = sql/pg_leakhunt--1.0.sql
SCRIPTS = bin/pg_leakhunt_attach bin/pg_leakhunt_attach.gdb bin/pg_leakhunt_export bin/pg_leakhunt_remove

# the modules of pg_leakhunt_export, in a folder beside it
EXPORTER = $(wildcard bin/pg_leakhunt_exporter/*.py)

# The objects by folder.  A file includes files of its own folder and of those
# above it only.
#
# Inside palloc, where nothing may allocate, lock, throw or report:
# what everything stands on; knows nothing of samples
BASE_OBJS = \
	src/base/call_frame_info.o \
	src/base/client_names.o \
	src/base/compiled_code.o \
	src/base/directory_names.o \
	src/base/guard.o \
	src/base/hash_buckets.o \
	src/base/modules.o \
	src/base/pointer_table.o \
	src/base/private_memory.o \
	src/base/process_facts.o \
	src/base/sampling.o \
	src/base/sealed_file.o \
	src/base/server_functions.o \
	src/base/settings.o \
	src/base/size_units.o \
	src/base/stack_memo.o \
	src/base/stack_walk.o \
	src/base/unwind.o \
	src/base/unwind_rules.o \
	src/base/whole_io.o

# the format of a profile, its owner's writes, checked access to it
PROFILE_OBJS = \
	src/profile/baseline.o \
	src/profile/directory_note.o \
	src/profile/profile.o \
	src/profile/profile_counters.o \
	src/profile/profile_file.o \
	src/profile/profile_image.o \
	src/profile/profile_records.o \
	src/profile/profile_recycling.o \
	src/profile/profile_room.o \
	src/profile/shared_directory.o \
	src/profile/site_facts.o \
	src/profile/statement_shape.o

# heap files: how they are written
DUMP_OBJS = \
	src/dump/dump.o \
	src/dump/dump_addresses.o \
	src/dump/dump_directory.o \
	src/dump/dump_format.o \
	src/dump/dump_sites.o \
	src/dump/dump_text.o \
	src/dump/dump_writer.o \
	src/dump/growth_dump.o

# the hooks, and what they keep
SAMPLER_OBJS = \
	src/sampler/census.o \
	src/sampler/context_blocks.o \
	src/sampler/control.o \
	src/sampler/control_file.o \
	src/sampler/countdown.o \
	src/sampler/lifetime.o \
	src/sampler/live_samples.o \
	src/sampler/malloc_hooks.o \
	src/sampler/malloc_samples.o \
	src/sampler/method_hooks.o \
	src/sampler/method_patch.o \
	src/sampler/near_code.o \
	src/sampler/owner.o \
	src/sampler/read_only_store.o \
	src/sampler/sample_filter.o \
	src/sampler/statement.o

# Outside of palloc:
# any process' profile, baseline or dump, as one form in memory
READER_OBJS = \
	src/reader/baseline_file.o \
	src/reader/database_text.o \
	src/reader/dump_header.o \
	src/reader/dump_lines.o \
	src/reader/dump_modules.o \
	src/reader/dump_reader.o \
	src/reader/machine_memory.o \
	src/reader/merged_records.o \
	src/reader/merged_sites.o \
	src/reader/private_part.o \
	src/reader/profile_builder.o \
	src/reader/profile_merge.o \
	src/reader/profile_reader.o \
	src/reader/record_numbers.o \
	src/reader/server_activity.o \
	src/reader/server_figures.o \
	src/reader/server_processes.o \
	src/reader/site_owner.o \
	src/reader/symbol_table.o

# load, fork, the ends of transactions, exit, crash
PROCESS_OBJS = \
	src/process/child_deaths.o \
	src/process/child_message.o \
	src/process/crash_dumps.o \
	src/process/crashed_profiles.o \
	src/process/dump_report.o \
	src/process/errors.o \
	src/process/exit_dump.o \
	src/process/exit_report.o \
	src/process/identity.o \
	src/process/keeper.o \
	src/process/process.o \
	src/process/profile_directory.o \
	src/process/sweep.o \
	src/process/top_site.o

# from an address to functions, files and lines
SYMBOLS_OBJS = \
	src/symbols/debug_file.o \
	src/symbols/debug_info.o \
	src/symbols/passing_questions.o \
	src/symbols/symbol_cache.o \
	src/symbols/symbol_protocol.o \
	src/symbols/symbol_server.o \
	src/symbols/symbolizer.o \
	src/symbols/symbols.o

# stacks as text, and the pictures and files made of them
REPORT_OBJS = \
	src/report/build_id_text.o \
	src/report/call_tree.o \
	src/report/context_list.o \
	src/report/crash_report.o \
	src/report/death_text.o \
	src/report/dump_symbols.o \
	src/report/flamegraph.o \
	src/report/folded.o \
	src/report/interval_text.o \
	src/report/listed_site.o \
	src/report/malloc_callers.o \
	src/report/pprof.o \
	src/report/pprof_labels.o \
	src/report/pprof_samples.o \
	src/report/pprof_tables.o \
	src/report/pprof_values.o \
	src/report/protobuf.o \
	src/report/server_binary.o \
	src/report/site_list.o \
	src/report/size_text.o \
	src/report/stack_text.o \
	src/report/text_numbers.o \
	src/report/top.o \
	src/report/wrapped_text.o

# what counts as a leak
VERDICT_OBJS = \
	src/verdict/checked_statement.o \
	src/verdict/doubt.o \
	src/verdict/explanation.o \
	src/verdict/image_suspects.o \
	src/verdict/leak_check.o \
	src/verdict/leak_snapshot.o \
	src/verdict/malloc_gain.o \
	src/verdict/memory_course.o \
	src/verdict/process_suspect.o \
	src/verdict/statement_limit.o \
	src/verdict/suppression.o \
	src/verdict/suspect.o \
	src/verdict/suspect_evidence.o \
	src/verdict/suspect_list.o \
	src/verdict/worst_suspects.o

# SQL arguments in, rows out
FUNCTIONS_OBJS = \
	src/functions/sql_all.o \
	src/functions/sql_arguments.o \
	src/functions/sql_check.o \
	src/functions/sql_contexts.o \
	src/functions/sql_control.o \
	src/functions/sql_dumps.o \
	src/functions/sql_explain.o \
	src/functions/sql_metrics.o \
	src/functions/sql_pictures.o \
	src/functions/sql_pprof.o \
	src/functions/sql_processes.o \
	src/functions/sql_rows.o \
	src/functions/sql_sites.o \
	src/functions/sql_source.o \
	src/functions/sql_suppressions.o \
	src/functions/sql_suspects.o

OBJS = \
	src/pg_leakhunt.o \
	$(BASE_OBJS) \
	$(PROFILE_OBJS) \
	$(DUMP_OBJS) \
	$(SAMPLER_OBJS) \
	$(READER_OBJS) \
	$(PROCESS_OBJS) \
	$(SYMBOLS_OBJS) \
	$(REPORT_OBJS) \
	$(VERDICT_OBJS) \
	$(FUNCTIONS_OBJS)

# The library that is preloaded to know of malloc, which is no part of the module, and
# depends on nothing but libc.
MALLOC_OBJS = \
	src/preload/environment.o \
	src/preload/pg_leakhunt_malloc.o

PG_CPPFLAGS = -I$(srcdir)/src
# -O3, because the code that runs inside palloc consists of loops over some 20 frames.
# Small variables lie together, in front of the large ones (src/base/page_layout.h): a
# forked process gets a copy of each page that it writes to, and writes to a few
# variables of most files.
PG_CFLAGS = -O3 -fdata-sections -fvisibility=hidden -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers
# Functions are found when the module is loaded, not by each process when it calls them.
# libdw is not linked: the process that reads symbols loads it when it is needed.
SHLIB_LINK = -Wl,--sort-section=name -Wl,-z,now -Wl,-fini=plh_pg_leakhunt_fini -lunwind -lm -ldl

# strings made of files that are not C
GENERATED = src/report/flamegraph_script.h src/report/flamegraph_style.h

REGRESS = \
	views \
	privileges \
	settings

EXTRA_CLEAN = $(GENERATED) pg_leakhunt_malloc.so $(MALLOC_OBJS) test/fuzz/replay test/fuzz/fuzz test/unit/run_tests test/unit/run_readers test/unit/run_stacks test/unit/run_plain_stacks test/unit/run_threads test/unit/frames test/unit/cut_stacks test/unit/*.so test/preload/run_tests test/preload/race_tests test/preload/named_program test/preload/*.so test/leaker/leaker.so test/leaker/leaker.o test/faults/faults.so test/faults/faults.o

# A PG_CONFIG in the environment counts as one on the command line does.  make hands
# both on to the scripts of OWN_TARGETS, but not this default: without PG_CONFIG they
# look for a server themselves.
PG_CONFIG ?= pg_config

# Plain "make" builds the module, though the targets below come first.
.DEFAULT_GOAL := all

# The scripts of these targets set up what they need, including a server and its
# pg_config, which PGXS would want to have already.
OWN_TARGETS = demo test test-incidents test-fleet test-faults test-kills test-load test-fuzz test-readers test-sanitizers test-valgrind test-matrix \
	test-non-pie test-coexistence test-core test-published-leaks bench
.PHONY: $(OWN_TARGETS)
demo:
	test/demo
test:
	test/run
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
# Tests on the PostgreSQL of other Debian releases, each in a root directory of its
# own, for which the user must be root.
test-matrix:
	test/matrix
# Tests on servers that are no position-independent executables.
test-non-pie:
	test/non-pie
# Tests beside other extensions, allocators and servers.
test-coexistence:
	test/coexistence
# Runs PostgreSQL's own tests, with every allocation sampled.
test-core:
	test/core-regress
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
# Finds a leak of pg_cron as Debian packages it, and two in a PostgreSQL from source.
test-published-leaks:
	test/published-leaks
# All errors of all system calls at all rates, in ten minutes; 500 killed processes,
# in twenty.
test-faults:
	FAULTS=all test/tap 028
test-kills:
	test/kills
bench:
	bench/micro/run

ifeq ($(filter $(OWN_TARGETS),$(MAKECMDGOALS)),)
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS removes programs by the names of their sources, with the folder.
uninstall: uninstall-programs
.PHONY: uninstall-programs
uninstall-programs:
	rm -f $(addprefix '$(DESTDIR)$(bindir)'/, $(notdir $(SCRIPTS)))

install: install-exporter
uninstall: uninstall-exporter
.PHONY: install-exporter uninstall-exporter
install-exporter: installdirs
	$(MKDIR_P) '$(DESTDIR)$(bindir)/pg_leakhunt_exporter'
	$(INSTALL_DATA) $(EXPORTER) '$(DESTDIR)$(bindir)/pg_leakhunt_exporter/'
uninstall-exporter:
	rm -f $(addprefix '$(DESTDIR)$(bindir)'/pg_leakhunt_exporter/, $(notdir $(EXPORTER)))
	-rmdir '$(DESTDIR)$(bindir)/pg_leakhunt_exporter'

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
	$(CC) $(CFLAGS) $(MALLOC_CFLAGS) -shared -Wl,-z,now -Wl,--as-needed $(MALLOC_OBJS) -o $@ -ldl

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
uninstall-monitoring:
	rm -f $(addprefix '$(monitoring_folder)'/, $(notdir $(MONITORING)) $(MONITORING_UNITS:monitoring/%=%))
	-rmdir -p --ignore-fail-on-non-empty '$(monitoring_folder)/systemd'

# PGXS tracks no headers, so each object depends on all of them.
$(OBJS) $(OBJS:.o=.bc): $(filter-out $(GENERATED),$(wildcard src/*/*.h))

# The script and the style that flame graphs contain are compiled in as strings.
src/report/flamegraph.o src/report/flamegraph.bc: $(GENERATED)
src/report/flamegraph_script.h: src/report/flamegraph.js
src/report/flamegraph_style.h: src/report/flamegraph.css
$(GENERATED):
	(echo 'static const char $(basename $(notdir $@))[] ='; sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/' $<; echo ';') >$@
endif

# pg_leakhunt: hunts memory leaks inside a running PostgreSQL server

EXTENSION = pg_leakhunt
MODULE_big = pg_leakhunt
DATA = sql/pg_leakhunt--1.0.sql
SCRIPTS = bin/pg_leakhunt_attach bin/pg_leakhunt_attach.gdb
PGFILEDESC = "pg_leakhunt - hunt memory leaks inside a running server"

OBJS = \
	$(WIN32RES) \
	src/baseline.o \
	src/call_tree.o \
	src/census.o \
	src/control.o \
	src/database_text.o \
	src/debug_file.o \
	src/debug_info.o \
	src/dump.o \
	src/dump_addresses.o \
	src/dump_directory.o \
	src/dump_lines.o \
	src/dump_reader.o \
	src/dump_symbols.o \
	src/dump_writer.o \
	src/flamegraph.o \
	src/folded.o \
	src/growth_dump.o \
	src/leak_check.o \
	src/lifetime.o \
	src/live_samples.o \
	src/method_hooks.o \
	src/method_patch.o \
	src/modules.o \
	src/pg_leakhunt.o \
	src/pointer_table.o \
	src/pprof.o \
	src/private_memory.o \
	src/process.o \
	src/profile.o \
	src/profile_counters.o \
	src/profile_file.o \
	src/profile_reader.o \
	src/sample_filter.o \
	src/sampling.o \
	src/server_processes.o \
	src/settings.o \
	src/site_list.o \
	src/sql_check.o \
	src/sql_control.o \
	src/sql_dumps.o \
	src/sql_functions.o \
	src/sql_pictures.o \
	src/sql_rows.o \
	src/sql_sites.o \
	src/sql_source.o \
	src/stack_text.o \
	src/statement.o \
	src/suppression.o \
	src/sweep.o \
	src/symbol_cache.o \
	src/symbol_server.o \
	src/symbol_table.o \
	src/symbolizer.o \
	src/symbols.o \
	src/top.o \
	src/unwind.o

# -O3, because the code that runs inside palloc consists of loops over some 20 frames.
PG_CFLAGS = -O3 -fvisibility=hidden -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers
# libdw is not linked: the process that reads symbols loads it when it is needed.
SHLIB_LINK = -lunwind -lm -ldl

REGRESS = \
	views \
	privileges \
	settings

EXTRA_CLEAN = src/flamegraph_script.h test/unit/run test/leaker/leaker.so test/leaker/leaker.o

# A PG_CONFIG in the environment counts as one on the command line does.  make hands
# both on to the scripts of OWN_TARGETS, but not this default: without PG_CONFIG they
# look for a server themselves.
PG_CONFIG ?= pg_config

# Plain "make" builds the module, though the targets below come first.
.DEFAULT_GOAL := all

# The scripts of these targets set up what they need, including a server and its
# pg_config, which PGXS would want to have already.
OWN_TARGETS = demo test test-matrix test-core test-published-leaks bench
.PHONY: $(OWN_TARGETS)
demo:
	test/demo
test:
	test/run
# Tests on the PostgreSQL of other Debian releases, each in a root directory of its
# own, for which the user must be root.
test-matrix:
	test/matrix
# Runs PostgreSQL's own tests, with every allocation sampled.
test-core:
	test/core-regress
test-published-leaks:
	test/published-leaks
bench:
	bench/micro/run

ifeq ($(filter $(OWN_TARGETS),$(MAKECMDGOALS)),)
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS tracks no headers, so each object depends on all of them.
$(OBJS) $(OBJS:.o=.bc): $(filter-out src/flamegraph_script.h,$(wildcard src/*.h))

# The script that flame graphs contain is compiled in as a string.
src/flamegraph.o src/flamegraph.bc: src/flamegraph_script.h
src/flamegraph_script.h: src/flamegraph.js
	(echo 'static const char flamegraph_script[] ='; sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/' $<; echo ';') >$@
endif

# pg_leakhunt: hunts memory leaks inside a running PostgreSQL server

EXTENSION = pg_leakhunt
MODULE_big = pg_leakhunt
DATA = sql/pg_leakhunt--1.0.sql
SCRIPTS = bin/pg_leakhunt_attach bin/pg_leakhunt_demo bin/pg_leakhunt_export bin/pg_leakhunt_regress bin/pg_leakhunt_remove

# the version of the extension, which stands in its control file only
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(or $(srcdir),.)/pg_leakhunt.control)

# what gdb does for pg_leakhunt_attach, which looks for it beside itself
ATTACH_GDB = bin/pg_leakhunt_attach.gdb

# the modules of pg_leakhunt_export, in a folder beside it
EXPORTER = $(wildcard bin/pg_leakhunt_exporter/*.py)

# the same of pg_leakhunt_regress, with what PostgreSQL itself keeps, and the file by
# which the Makefile of another extension calls it
REGRESSION = $(wildcard bin/pg_leakhunt_regression/*.py) bin/pg_leakhunt_regression/core.supp
LEAKCHECK_MK = bin/pg_leakhunt_regression/leakcheck.mk

# what lets bash complete options of all programs
COMPLETION = bin/pg_leakhunt.bash

# The folders of src.  A file includes files of its own folder and of those before it
# only (src/README says what each is for).  Code of the first five runs inside palloc.
FOLDERS = base stack routine profile sampler heap proof \
	reader judge dump process symbols report pprof crash telling statistics check page watch plan functions

OBJS = \
	src/pg_leakhunt.o \
	$(patsubst %.c,%.o,$(foreach folder,$(FOLDERS),$(sort $(wildcard src/$(folder)/*.c))))

# The library that is preloaded to know of malloc, which is no part of the module, and
# depends on nothing but libc.
MALLOC_OBJS = \
	src/preload/environment.o \
	src/preload/pg_leakhunt_malloc.o

# The program that looks at processes and logs, of the files that it takes from the module, and
# which needs no server: its own folder has what these files need of one.  The first are those that
# read texts, which the page doc/look.html has, too.
LOOK_TEXT_SOURCES = $(wildcard src/statistics/*.c) \
	src/base/size_units.c \
	src/judge/account.c \
	src/judge/family.c \
	src/look/without_server.c \
	src/profile/profile_image.c \
	src/profile/proof_image.c \
	src/profile/statement_tokens.c \
	src/reader/database_text.c \
	src/reader/profile_builder.c \
	src/reader/redaction.c \
	src/report/context_list.c \
	src/report/json.c \
	src/report/one_line.c \
	src/report/words.c \
	src/telling/contexts_evidence.c \
	src/telling/sentences.c \
	src/telling/size_sentences.c
LOOK_SOURCES = $(sort $(LOOK_TEXT_SOURCES) $(wildcard src/look/*.c)) $(wildcard src/heap/*.c) \
	src/base/mappings.c \
	src/base/process_facts.c \
	src/base/sampling.c \
	src/base/whole_io.c \
	src/page/page_contexts.c \
	src/page/page_html.c \
	src/page/page_proof.c \
	src/profile/baseline.c \
	src/profile/site_facts.c \
	src/proof/node_name.c \
	src/proof/proof_groups.c \
	src/proof/proof_holdings.c \
	src/proof/proof_texts.c \
	src/proof/proof_told.c \
	src/proof/proof_words.c
LOOK_OBJS = $(LOOK_SOURCES:src/%.c=src/look/objects/%.o)

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
GENERATED_STRINGS = \
	src/report/flamegraph_script.h \
	src/report/flamegraph_style.h \
	src/page/page_script.h \
	src/page/page_skeleton.h \
	src/page/page_style.h

GENERATED = $(GENERATED_STRINGS) src/page/page_hashes.h src/proof/node_names.h

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
	src/page/holders.js \
	src/page/detail.js \
	src/page/profile.js \
	src/page/compare.js \
	src/page/process.js \
	src/page/looked.js \
	src/page/heat.js \
	src/page/memory.js \
	src/page/server.js \
	src/page/main.js \
	src/page/end.js

REGRESS = \
	functions \
	views \
	privileges \
	settings \
	estimate

EXTRA_CLEAN = $(GENERATED) .built_for_server pg_leakhunt_malloc.so $(MALLOC_OBJS) pg_leakhunt_look src/look/objects test/fuzz/replay test/fuzz/fuzz test/unit/run_tests test/unit/run_readers test/unit/run_stacks test/unit/run_plain_stacks test/unit/run_threads test/unit/run_malloc_blocks test/unit/frames test/unit/cut_stacks test/unit/objects test/unit/*.so test/scenarios/run_scenarios test/scenarios/objects test/preload/run_tests test/preload/race_tests test/preload/named_program test/preload/*.so test/leaker/leaker.so test/leaker/leaker.o test/faults/faults.so test/faults/faults.o

# A PG_CONFIG in the environment counts as one on the command line does.  make hands
# both on to the scripts of OWN_TARGETS, but not this default: without PG_CONFIG they
# look for a server themselves.
PG_CONFIG ?= pg_config

# Plain "make" builds the module, though the targets below come first.
.DEFAULT_GOAL := all

# The scripts of these targets set up what they need, including a server and its
# pg_config, which PGXS would want to have already.
OWN_TARGETS = demo test test-long test-all test-stress test-incidents test-fleet test-zabbix test-faults test-kills test-load test-fuzz test-readers test-pages test-listeners test-sanitizers test-valgrind test-matrix \
	test-outside test-non-pie test-upstream test-coexistence test-core test-plans test-minors test-random-limit test-contexts test-aarch64 test-published-leaks test-documents test-first-answer test-packages \
	test-indent test-lint test-scan-build test-cppcheck \
	test-planted test-hunt test-lost test-reports test-year bench dist
.PHONY: $(OWN_TARGETS)
demo:
	@test/demo
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
test-listeners:
	test/listeners
# Debian's Zabbix, on a server with leaks, with its template in monitoring/.
test-zabbix:
	test/zabbix
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
# README's own commands in fresh Debians: from nothing to the first answer, as root.
test-first-answer:
	test/first_answer
# Debian's package, CloudNativePG's image, the Dockerfile, PGXN's archive and the RPM:
# built and used in fresh roots, as root.
test-packages:
	test/packages/run
# Tests on servers that are no position-independent executables.
test-non-pie:
	test/non-pie
# Tests a PostgreSQL 19 with contrib/postgresql-19-method-hook.patch; doc/upstream.md.
test-upstream:
	test/upstream
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
# Looks from outside at servers of 13 to 18 that have loaded nothing.
test-outside:
	test/outside
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
# What a server sees in a year, in an hour.
test-year:
	test/year/run
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
# Shows that the reports of doc/reports are true, and that their patches mend what they report.
test-reports:
	test/reports/run
# Proves the sessions that run PostgreSQL's own tests: what they lose is in doc/found.md.
test-lost:
	test/lost/run
	test/lost/moments
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
# The archive for PGXN and for packagers, of what is committed: the same wherever it is made.
DISTVERSION = $(shell sed -n 's/^   "version": "\(.*\)",/\1/p' META.json)
# A tag that is to be released is that version's.
dist:
	@case "$${GITHUB_REF_NAME:-}" in v$(EXTVERSION)) ;; v[0-9]*) \
		echo "The tag is $$GITHUB_REF_NAME, but the control file has the version $(EXTVERSION)." >&2; exit 1 ;; esac
	TZ=UTC git archive --format=zip --prefix=pg_leakhunt-$(DISTVERSION)/ -o pg_leakhunt-$(DISTVERSION).zip HEAD

# Bitcode for the server's JIT compiler takes two thirds as long as the module, and makes no query
# faster: "make with_llvm=yes" makes it.
ifeq ($(origin with_llvm),undefined)
override with_llvm = no
endif

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

install: install-completion
uninstall: uninstall-completion
.PHONY: install-completion uninstall-completion
install-completion: installdirs
	$(MKDIR_P) '$(DESTDIR)$(datadir)/pg_leakhunt'
	$(INSTALL_DATA) '$(srcdir)/$(COMPLETION)' '$(DESTDIR)$(datadir)/pg_leakhunt/'
uninstall-completion:
	rm -f '$(DESTDIR)$(datadir)/pg_leakhunt/$(notdir $(COMPLETION))'

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

# Functions that are not called are left out, with what they call in turn: so the program has
# nothing of the server but its libraries for programs, and these are linked into it.
LOOK_FLAGS = -O2 -ffunction-sections -fno-lto
all: pg_leakhunt_look
$(LOOK_OBJS): src/look/objects/%.o: src/%.c $(filter-out $(GENERATED),$(wildcard src/*/*.h)) .built_for_server
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LOOK_FLAGS) $(CPPFLAGS) -c -o $@ $<
pg_leakhunt_look: $(LOOK_OBJS)
	$(CC) $(CFLAGS) $(LOOK_FLAGS) $(LOOK_OBJS) -Wl,--gc-sections $(LDFLAGS) $(LDFLAGS_EX) -L$(pkglibdir) -L$(libdir) -lpgcommon -lpgport -lm -o $@

# The page that says of texts what the program says; it is in the repository, as few have what
# makes it.
.PHONY: look-page print-look-texts
look-page:
	src/browser/build
print-look-texts:
	@echo $(LOOK_TEXT_SOURCES)

install: install-look
uninstall: uninstall-look
.PHONY: install-look uninstall-look
install-look: pg_leakhunt_look installdirs
	$(INSTALL_PROGRAM) pg_leakhunt_look '$(DESTDIR)$(bindir)/'
uninstall-look:
	rm -f '$(DESTDIR)$(bindir)/pg_leakhunt_look'

# The files for Prometheus, exporters, Grafana and systemd.
MONITORING = monitoring/README.md monitoring/grafana-dashboard.json \
	$(wildcard monitoring/*.yml monitoring/*.sql monitoring/*.conf)
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
$(filter src/functions/%,$(OBJS) $(OBJS:.o=.bc)): $(wildcard src/functions/columns/*.def)
.PHONY: which-server
.built_for_server: which-server
	@$(PG_CONFIG) --version --configure | cmp -s - $@ || $(PG_CONFIG) --version --configure >$@

# The scripts and styles that flame graphs and pages contain are compiled in as strings.
src/report/flamegraph.o src/report/flamegraph.bc src/page/page_html.o src/page/page_html.bc src/look/objects/page/page_html.o: $(GENERATED_STRINGS) src/page/page_hashes.h
src/report/flamegraph_script.h: src/report/flamegraph.js
src/report/flamegraph_style.h: src/report/flamegraph.css
src/page/page_script.h: $(PAGE_SCRIPT)
src/page/page_skeleton.h: src/page/page.html
src/page/page_style.h: src/page/page.css
.PHONY: generated
generated: $(GENERATED)
$(GENERATED_STRINGS):
	(echo 'static const char $(basename $(notdir $@))[] ='; cat $^ | sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/'; echo ';') >$@

# By these a page lets its own script and style pass, and nothing else.
hash_of = $$(cat $(1) | sha256sum | cut -c 1-64 | tr a-f A-F | basenc --base16 -d | base64)
src/page/page_hashes.h: $(PAGE_SCRIPT) src/page/page.css
	(echo '#define PAGE_SCRIPT_HASH "sha256-'"$(call hash_of,$(PAGE_SCRIPT))"'"'; \
		echo '#define PAGE_STYLE_HASH "sha256-'"$(call hash_of,src/page/page.css)"'"') >$@
	@[ "$$(grep -cE 'sha256-[A-Za-z0-9+/]{43}="' $@)" = 2 ] || \
		{ rm $@; echo "The hashes of a page could not be made: basenc of coreutils 8.31 or later does that." >&2; exit 1; }

# The names of the server's node types, which are in one file or in the other.
src/proof/node_name.o src/proof/node_name.bc src/look/objects/proof/node_name.o: src/proof/node_names.h
src/proof/node_names.h: .built_for_server
	cat $(wildcard $(includedir_server)/nodes/nodes.h $(includedir_server)/nodes/nodetags.h) | \
		sed -n 's/^\tT_\([A-Za-z0-9_]*\).*/NODE_NAME(\1)/p' | grep -v '(Invalid)' >$@
endif

# All else works without it.
ifneq ($(includedir_server),)
ifeq ($(wildcard $(includedir_server)/plpgsql.h),)
$(info plpgsql.h is not among the headers of the server: functions in PL/pgSQL will not be named.)
endif
endif

# The target "leakcheck" for the Makefile of an extension, which includes this behind PGXS:
#
#   PGXS := $(shell $(PG_CONFIG) --pgxs)
#   include $(PGXS)
#   -include $(datadir)/pg_leakhunt/leakcheck.mk
#
# "make leakcheck" runs the tests of REGRESS, on what "make install" has installed, in a
# server of its own.  LEAKCHECK_OPTS are further options of pg_leakhunt_regress;
# LEAKCHECK_INSTANCE is empty to use a server that runs.

LEAKCHECK_INSTANCE ?= --temp-instance=tmp_leakcheck
LEAKCHECK_OPTS ?=

.PHONY: leakcheck clean-leakcheck
leakcheck:
	'$(bindir)/pg_leakhunt_regress' --bindir='$(bindir)' --inputdir='$(srcdir)' --outputdir=output_leakcheck $(LEAKCHECK_INSTANCE) $(REGRESS_OPTS) $(LEAKCHECK_OPTS) $(REGRESS)

clean: clean-leakcheck
clean-leakcheck:
	rm -rf tmp_leakcheck output_leakcheck

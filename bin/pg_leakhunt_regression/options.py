"""The command line: options of pg_regress, those of our own, and the tests they name."""

import argparse
import os
import re

from . import VERSION
from .errors import CannotRun

DESCRIPTION = """Runs an extension's regression tests as a leak test. Call sites are listed whose
memory is lost after a file: nothing points to it any more. With --runs, each file is run
several times in one session; between two runs the database is put back and the session's caches
are reset. Then call sites that hold more after every run are listed, too."""

EPILOGUE = """Exit status: 0 if nothing leaks, 1 if something does, 2 if the tests could not be
run."""

# Fewer runs than these show no growth.
LEAST_RUNS = 5

# Databases whose names say that they are for tests: "regression", "contrib_regression_x".
_FOR_TESTS = re.compile(r"(^|_)regress(ion)?(_|$)")

# Options of pg_regress that make no difference here.
IGNORED_WITH_VALUE = ("--max-connections", "--max-concurrent-tests", "--launcher")


def _add_pg_regress_options(parser):
    group = parser.add_argument_group("options of pg_regress")
    group.add_argument("--inputdir", default=".", metavar="DIR",
                       help="take the tests from DIR/sql (default: .)")
    group.add_argument("--outputdir", default=".", metavar="DIR",
                       help="write the output of the first run to DIR/results (default: .)")
    group.add_argument("--expecteddir", metavar="DIR",
                       help="compare that with DIR/expected (default: as --inputdir)")
    group.add_argument("--dbname", default="regression", metavar="DB",
                       help="database that is dropped and made (default: regression)")
    group.add_argument("--use-existing", action="store_true",
                       help="use that database, whose name must have \"regress\" or "
                       "\"regression\", as what appears there meanwhile is dropped")
    group.add_argument("--load-extension", action="append", default=[], metavar="EXT",
                       help="create this extension before the tests; may be repeated")
    group.add_argument("--create-role", action="append", default=[], metavar="ROLE",
                       help="create this role before the tests; may be repeated")
    group.add_argument("--schedule", action="append", default=[], metavar="FILE",
                       help="take names of tests from FILE; may be repeated")
    group.add_argument("--bindir", metavar="DIR", help="programs of PostgreSQL (default: by PATH)")
    group.add_argument("--dlpath", metavar="DIR", help="value of PG_LIBDIR for the tests")
    group.add_argument("--encoding", metavar="ENC", help="encoding of the database and of psql")
    group.add_argument("--no-locale", action="store_true", help="use the locale C")
    group.add_argument("--temp-instance", metavar="DIR",
                       help="make a server in DIR, which is removed at the end")
    group.add_argument("--temp-config", action="append", default=[], metavar="FILE",
                       help="append FILE to the settings of that server; may be repeated")
    group.add_argument("--host", help="host or socket directory of the server")
    group.add_argument("--port", type=int, help="port of the server")
    group.add_argument("--user", help="superuser to connect as")
    for option in IGNORED_WITH_VALUE:
        group.add_argument(option, help=argparse.SUPPRESS)
    group.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)


def _add_own_options(parser):
    group = parser.add_argument_group("options of the leak test")
    group.add_argument("--runs", type=int, default=1, metavar="N",
                       help="run each file N times, at least 5, of which the first two are a warm-up, "
                       "and list what grows, too (default: 1, which shows what is lost)")
    group.add_argument("--suppressions", action="append", default=[], metavar="FILE",
                       help="leave out sites that match patterns of FILE; may be repeated")
    group.add_argument("--all", action="store_true",
                       help="list what PostgreSQL itself keeps, too")
    group.add_argument("--list-suppressions", action="store_true",
                       help="show the patterns that count on this server, and exit")
    group.add_argument("--junit", metavar="FILE", help="write the results to FILE, as JUnit's XML")
    group.add_argument("--no-malloc", dest="malloc", action="store_false",
                       help="do not preload pg_leakhunt_malloc.so into the temporary server")
    group.add_argument("--no-confirm", dest="confirm", action="store_false",
                       help="do not repeat the statements of what leaks")
    group.add_argument("--keep", action="store_true",
                       help="keep the temporary server's directory, and the databases")


def parse(arguments):
    """Returns the options of that command line, with the tests in order."""
    parser = argparse.ArgumentParser(prog="pg_leakhunt_regress", description=DESCRIPTION,
                                     epilog=EPILOGUE)
    parser.add_argument("--version", action="version", version=f"pg_leakhunt_regress {VERSION}",
                        help="show the version, and exit")
    parser.add_argument("tests", nargs="*", metavar="TEST",
                        help="name of a file in sql/, without .sql")
    _add_pg_regress_options(parser)
    _add_own_options(parser)
    options = parser.parse_args(arguments)
    if options.runs != 1 and options.runs < LEAST_RUNS:
        parser.error("--runs must be 1, or at least 5: the first two runs are a warm-up, and what "
                     "grew once or twice may be a cache")
    options.dbname = options.dbname.split(",")[0]
    if options.use_existing and not _FOR_TESTS.search(options.dbname):
        parser.error("--use-existing drops what appears in the database while the tests run, "
                     "whoever made it: it takes only a database whose name says that it is "
                     f"for tests, such as regression or {options.dbname}_regression")
    options.expecteddir = options.expecteddir or options.inputdir
    for name in ("load_extension", "create_role"):
        setattr(options, name, [part for given in getattr(options, name)
                                for part in given.split(",")])
    options.tests = [name for path in options.schedule
                     for name in read_schedule(path)] + options.tests
    if not options.tests and not options.list_suppressions:
        parser.error("no tests: name files of sql/, without .sql, or give --schedule")
    return options


def read_schedule(path):
    """Returns the tests that a schedule of pg_regress names, one after the other."""
    tests = []
    try:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                kind, colon, names = line.partition(":")
                if kind.strip() == "test" and colon:
                    tests += names.split()
                # "ignore:" is of pg_regress before 16
                elif line.strip() and not line.startswith(("#", "ignore:")):
                    raise CannotRun(f"{path}:{number}: this is no line of a schedule, which "
                                    f"begins with \"test:\" or \"#\": {line.strip()}")
    except (OSError, UnicodeError) as error:
        raise CannotRun(f"could not read the schedule {path}: {error}") from error
    return tests


def file_of(options, test):
    """Returns the absolute path of a test's file: of the output directory, as pg_regress
    prefers it, or of the input directory."""
    if os.path.isabs(test) or ".." in test.split("/"):
        raise CannotRun(f"a test is named by its file in sql/, without .sql: {test}")
    if not test.isprintable():
        raise CannotRun(f"a test's name must be printable text in UTF-8: {test!r}")
    for directory in (options.outputdir, options.inputdir):
        path = os.path.join(os.path.abspath(directory), "sql", test + ".sql")
        if os.path.isfile(path):
            return path
    raise CannotRun(f"there is no {os.path.join(options.inputdir, 'sql', test)}.sql")

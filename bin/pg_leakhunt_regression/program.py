"""The program: a server, its databases, the runs of each file, and what they show."""

import contextlib
import os
import signal
import sys

from . import instance, options as command_line, output, suppressions
from .errors import CannotRun, QueryFailed, SessionEnded
from .measuring import Runner
from .psql import Server, without_connection
from .scratch import Scratch

NOTHING_LEAKS, SOMETHING_LEAKS, COULD_NOT_RUN = 0, 1, 2

# Of the session that is measured: every allocation that lives as long as it does.
# JIT would compile anew for each execution, to other addresses, so that no stack comes twice;
# and LLVM keeps much of what it has compiled.
_MEASURED = {"pg_leakhunt.sample_interval": "1", "pg_leakhunt.scope": "long_lived",
             "jit": "off"}

_OLDEST_VERSION = 15

_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class _Interrupted(BaseException):
    """A signal has ended the program."""


def main(arguments=None):
    """Returns the exit status."""
    _open_standard_files()
    for number in _ENDING_SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:      # as nohup wants it
            signal.signal(number, _interrupt)
    try:
        return _run(command_line.parse(arguments))
    except (CannotRun, QueryFailed, SessionEnded, OSError, UnicodeError) as error:
        return _could_not_run(error)
    except _Interrupted as error:
        return _could_not_run(f"interrupted by {error}")


def _open_standard_files():
    """A file that is closed would be taken by the next one that is opened."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")
    sys.stderr = sys.stderr or sys.stdout
    for file in (sys.stdout, sys.stderr):
        if hasattr(file, "reconfigure"):
            file.reconfigure(errors="backslashreplace")


def _could_not_run(why):
    # standard error may be what is gone
    with contextlib.suppress(OSError):
        print(f"pg_leakhunt_regress: {why}", file=sys.stderr)
    # and standard output, which is flushed at exit
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return COULD_NOT_RUN


def _interrupt(number, _):
    """Ends the program; further signals would only keep it from removing what it has made."""
    for other in _ENDING_SIGNALS:
        signal.signal(other, lambda *_: None)
    raise _Interrupted(signal.Signals(number).name)


def _run(options):
    paths = [command_line.file_of(options, test) for test in options.tests]
    if options.junit:
        output.expect_writable(options.junit)
    with contextlib.ExitStack() as stack:
        variables, connection, own = dict(os.environ), _given_connection(options), None
        if options.temp_instance:
            own = stack.enter_context(instance.Instance(options))
            variables, connection = without_connection(variables), own.connection()
        elif connection:
            # they would count more than what was given
            for name in ("PGSERVICE", "PGHOSTADDR"):
                variables.pop(name, None)
        server = Server(instance.program(options, "psql"), variables, connection,
                        _for_tests(options))
        version, settings = _ask_server(server, own)
        known = _known(options, version)
        if options.list_suppressions:
            _list(known)
            return NOTHING_LEAKS
        return _test(options, server, paths, settings, known)


def _test(options, server, paths, settings, known):
    progress = output.Progress()
    scratch = Scratch(server, options, paths)
    tap = output.Tap(options.all)
    results = []
    try:
        scratch.create()
        runner = Runner(server, scratch, options, settings, known, progress)
        for index, (test, path) in enumerate(zip(options.tests, paths)):
            result = runner.run(index, test, path, index == len(paths) - 1)
            progress.clear()
            tap.say(result, _passed(result, options))
            results.append(result)
        runner.close()
        scratch.check_out()
    finally:
        scratch.remove()
    tap.end(results, sum(bool(result.listed(options.all)) for result in results))
    if options.junit:
        output.write_junit(options.junit, results, options.all,
                           lambda result: _passed(result, options))
    return _status(results, options)


def _passed(result, options):
    return not result.failure and not result.listed(options.all)


def _status(results, options):
    if any(result.failure for result in results):
        return COULD_NOT_RUN
    return NOTHING_LEAKS if all(_passed(result, options) for result in results) \
        else SOMETHING_LEAKS


def _given_connection(options):
    given = {"PGHOST": options.host, "PGPORT": options.port, "PGUSER": options.user}
    return {name: str(value) for name, value in given.items() if value is not None}


def _for_tests(options):
    """Returns the variables that pg_regress gives to tests."""
    variables = {
        "PG_ABS_SRCDIR": os.path.abspath(options.inputdir),
        "PG_ABS_BUILDDIR": os.path.abspath(options.outputdir),
        "PG_LIBDIR": os.path.abspath(options.dlpath or instance.library_directory(options)),
        "PG_DLSUFFIX": ".so",
        "PGTZ": "America/Los_Angeles",
        "PGDATESTYLE": "Postgres, MDY",
    }
    if options.encoding:
        variables["PGCLIENTENCODING"] = options.encoding
    if options.no_locale:
        variables["LANG"] = "C"
    return variables


def _ask_server(server, own):
    """Returns the server's major version, and the settings of a session that is measured."""
    try:
        version, is_superuser = server.query(
            "postgres", "SELECT current_setting('server_version_num')::int / 10000, "
                        "current_setting('is_superuser')").split("|")
        if is_superuser != "on":
            raise CannotRun("a role that is no superuser cannot sample every allocation: "
                            "connect as a superuser (--user)")
        preloaded, directory = server.query(
            "postgres", "SELECT current_setting('shared_preload_libraries'), "
                        "current_setting('data_directory')").split("|", 1)
    except (OSError, QueryFailed) as error:
        raise CannotRun(f"could not ask the server: {error}") from error
    if own is not None and not own.holds(directory):
        raise CannotRun(f"psql has reached another server, of {directory}, than the temporary "
                        "one: nothing was done there")
    if int(version) < _OLDEST_VERSION:
        raise CannotRun(f"pg_leakhunt works with PostgreSQL {_OLDEST_VERSION} and later; "
                        f"this is {version}")
    settings = {"intervalstyle": "postgres_verbose", **_MEASURED}
    if "pg_leakhunt" not in preloaded:
        settings["session_preload_libraries"] = "pg_leakhunt"
    return int(version), settings


def _known(options, version):
    known = [suppression for path in options.suppressions
             for suppression in suppressions.read(path)]
    known += suppressions.read(suppressions.core_file(), of_core=True)
    return suppressions.of_version(known, version)


def _list(known):
    for suppression in known:
        print(f"{suppression.text()}\n    {suppression.reason or 'no reason given'}")

"""Sessions of psql: one that lasts, and questions with one answer."""

import itertools
import json
import os
import re
import subprocess

from .errors import QueryFailed, SessionEnded

# libpq's variables that would change what a test prints; pg_regress removes them, too.
_NOT_FOR_TESTS = ("LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
                  "LANG", "LANGUAGE", "PGCLIENTENCODING", "PGDATABASE", "PGOPTIONS", "PGTZ")

# libpq's variables, all of which would lead to another server than a temporary one, or to
# another database of it.
_OF_LIBPQ = re.compile(r"^PG[A-Z0-9]+$")

# What sessions of tests are called, with the name of the test behind it, as pg_regress does.
APPLICATION = "pg_regress/"

# What a file may have set in psql, as pg_regress starts it.
_PSQL_RESET = r"""
\set ECHO none
\o
\set AUTOCOMMIT on
\set ON_ERROR_STOP off
\set ON_ERROR_ROLLBACK off
\set FETCH_COUNT 0
\set SINGLELINE off
\set QUIET on
\set VERBOSITY default
\set SHOW_CONTEXT errors
\set HIDE_TABLEAM on
\set HIDE_TOAST_COMPRESSION on
\timing off
\pset format aligned
\pset border 1
\pset expanded off
\pset fieldsep '|'
\pset footer on
\pset linestyle ascii
\pset null ''
\pset numericlocale off
\pset pager off
\pset recordsep '\n'
\pset title
\pset tuples_only off
"""

# Seconds that a psql has to end once its commands have ended.
_PATIENCE = 5

# What psql prints, with a number, when it has come to the end of some commands.
_MARK = "pg_leakhunt_regress: done"

# In a session that is to be as new: a transaction that the file left open would keep
# DISCARD ALL from running.
_SESSION_RESET = "ROLLBACK;\nDISCARD ALL;\n"


def without_connection(variables):
    """Returns environment variables without those by which libpq finds a server."""
    return {name: value for name, value in variables.items() if not _OF_LIBPQ.match(name)}


def _to_database(name):
    """Returns options of psql; a name may have what else would begin a connection string."""
    quoted = name.replace("\\", "\\\\").replace("'", "\\'")
    return ["-d", f"dbname='{quoted}'"]


class Server:
    """How to reach a server with psql, as one role, with pg_regress' environment."""

    def __init__(self, psql, variables, connection, for_tests):
        self.psql = psql
        self._variables = variables         # the program's own, or some of them
        self._connection = connection       # PGHOST and the like
        self._for_tests = for_tests         # what tests see beside

    def environment(self, settings=None, test=None):
        environment = {name: value for name, value in self._variables.items()
                       if name not in _NOT_FOR_TESTS}
        environment.update(self._connection)
        environment.update(LC_MESSAGES="C", PGAPPNAME="pg_leakhunt_regress")
        if test is not None:
            environment.update(self._for_tests)
            environment["PGAPPNAME"] = APPLICATION + test
        environment["PGOPTIONS"] = " ".join(f"-c {name}={value}"
                                            for name, value in (settings or {}).items())
        return environment

    def query(self, database, sql, settings=None):
        """Returns what these statements print, in one session of their own."""
        done = subprocess.run(
            [self.psql, "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", *_to_database(database)],
            input=sql.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment({"client_min_messages": "warning", "client_encoding": "UTF8",
                                  **(settings or {})}), check=False)
        if done.returncode != 0:
            raise QueryFailed(done.stderr.decode(errors="replace").strip())
        return done.stdout.decode(errors="replace").strip()

    def rows(self, database, sql, settings=None):
        """Returns the rows of a query, as dictionaries."""
        text = self.query(database, f"SELECT json_agg(r) FROM ({sql}) r", settings)
        return json.loads(text, strict=False) if text else []

    def run_file(self, database, path, test):
        """Runs a file as pg_regress does, in a session that ends with it."""
        with open(path, "rb") as source:
            subprocess.run(self._test_command(database), stdin=source,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env=self.environment(test=test), check=False)

    def open_questions(self, database):
        """Returns a session that lasts, for questions: what the server caches of the names
        of functions is kept between them."""
        return Questions([self.psql, "-X", "-A", "-t", "-q", *_to_database(database)],
                         self.environment({"client_min_messages": "error",
                                           "client_encoding": "UTF8"}))

    def open_session(self, database, settings, test):
        return Session(self._test_command(database), self.environment(settings, test))

    def _test_command(self, database):
        return [self.psql, "-X", "-a", "-q", *_to_database(database),
                "-v", "HIDE_TABLEAM=on", "-v", "HIDE_TOAST_COMPRESSION=on"]


class _Psql:
    """A psql that is told what to do as long as it lasts.  It reads commands from a pipe of
    its own, as a file may have it read its standard input."""

    def __init__(self, command, environment):
        self._numbers = itertools.count()
        read, write = os.pipe()
        self._commands = open(write, "wb")
        try:
            self._process = subprocess.Popen([*command, "-f", f"/dev/fd/{read}"], env=environment,
                                             pass_fds=(read,), stdin=subprocess.DEVNULL,
                                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        finally:
            os.close(read)

    def close(self):
        try:
            self._commands.close()
        except OSError:
            pass
        self._process.stdout.close()
        for end in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(_PATIENCE)
                return
            except subprocess.TimeoutExpired:
                end()       # it waits for a statement
        self._process.wait()

    def _send(self, commands):
        """Returns what psql prints until it has come to the end of these commands."""
        mark = f"{_MARK} {next(self._numbers)}"
        try:
            self._commands.write(f"{commands}\n\\echo {mark}\n".encode(errors="surrogateescape"))
            self._commands.flush()
        except OSError as error:
            raise SessionEnded(self._read_until(None)) from error
        return self._read_until(mark)

    def _read_until(self, mark):
        lines = []
        for line in self._process.stdout:
            text = line.decode(errors="replace").rstrip("\n")
            if text.startswith(f"\\echo {_MARK} "):
                continue
            if mark is not None and text.endswith(mark):
                # what stands before it on the line had no end of its own
                before = text[:-len(mark)]
                return "\n".join(lines + [before] if before else lines)
            lines.append(text)
        if mark is None:
            return _last(lines)
        raise SessionEnded(_last(lines))


def _last(lines):
    return "\n".join(lines[-5:]) or "psql has ended without a word"


class Questions(_Psql):
    """A session that is asked for rows."""

    def rows(self, sql):
        text = self._send(f"SELECT json_agg(r) FROM ({sql}) r;").strip()
        try:
            return json.loads(text, strict=False) if text else []
        except ValueError as error:
            raise QueryFailed(text) from error


class Session(_Psql):
    """One psql, which runs a file again and again in one session of the server."""

    def __init__(self, command, environment):
        super().__init__(command, environment)
        self._send("\\set ECHO none")
        self.pid = self._backend_pid()

    def run_file(self, path):
        """Runs a file, and returns what psql printed, as pg_regress would have it."""
        quoted = path.replace("\\", "\\\\").replace("'", "\\'")
        text = self._send(f"\\set ECHO all\n\\i '{quoted}'\n{_PSQL_RESET}")
        lines = text.split("\n")
        # of these commands psql echoes the one that includes and the first that resets
        if lines[0].startswith("\\i "):
            lines.pop(0)
        while lines and lines[-1] in ("", "\\set ECHO none"):
            lines.pop()
        # psql names the file and line in front of a message where the file is included
        return re.sub(rf"^psql:{re.escape(path)}:\d+: ", "", "\n".join(lines) + "\n",
                      flags=re.MULTILINE)

    def reset(self):
        """Makes the session as new, as far as the server can."""
        self._send(_SESSION_RESET)

    def query(self, sql):
        return self._send(f"\\pset tuples_only on\n\\pset format unaligned\n{sql};\n"
                          "\\pset tuples_only off\n\\pset format aligned").strip()

    def is_same_backend(self):
        return self._backend_pid() == self.pid

    def _backend_pid(self):
        return int(self.query("SELECT pg_catalog.pg_backend_pid()").split("\n")[-1])

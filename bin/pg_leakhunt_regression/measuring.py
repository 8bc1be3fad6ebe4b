"""The runs of one file, in one session, and what they show."""

import os
import re
import time
from dataclasses import dataclass, field
from itertools import zip_longest

from . import growth, losses, psql, statements, suppressions
from . import options as command_line
from .errors import CannotRun, QueryFailed, SessionEnded
from .output import shortened
from .scratch import RESET_CACHES


# A process counts its contexts at a commit, if it has not done so for 250 ms.
_COUNT_CONTEXTS = "SELECT pg_catalog.pg_sleep(0.3)"

# What PostgreSQL says of an extension or a library that is not installed.
_NOT_INSTALLED = re.compile(r'^ERROR:  (?:extension ".*" is not available$|could not open extension '
                            r'control file .*|could not access file "\$libdir/.*)', re.MULTILINE)

# The longest that a server may take to recover from a crash, and to answer again that it
# does so, in seconds.
_RECOVERY = 300
_RESTART = 10

# Sessions of tests.  A server that has not noticed yet that the process of one was killed
# has that still, and answers; then it lets nobody in until it has recovered.
_SESSIONS = ("SELECT pid FROM pg_catalog.pg_stat_activity WHERE datname = '%s' "
             f"AND application_name LIKE '{psql.APPLICATION}%%'")

# The longest, in seconds, that it may take to notice that; another session may go on with
# its statement, though its psql has ended.
_NOTICE = 60

_CONNECTS_ANEW = "it connects anew, and a session that ends keeps nothing"


@dataclass
class Result:
    """What the runs of a file show."""
    test: str
    path: str
    findings: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    skipped: str = None         # why it could not be measured
    failure: str = None         # why its runs ended
    seconds: float = 0.0
    output: str = None          # of the first run
    changed: bool = False       # that of a further run differs
    unsteady: bool = False      # and did so again, though all had been put back
    difference: str = None      # where that output leaves the first one

    def source(self):
        with open(self.path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()

    def listed(self, with_core):
        """Returns the findings that count."""
        return [finding for finding in self.findings
                if finding.suppression is None or
                (with_core and finding.suppression.of_core)]

    def left_out(self, with_core):
        """Returns how many of PostgreSQL's own, and of others, do not count."""
        left = [finding.suppression for finding in self.findings if finding.suppression]
        of_core = sum(suppression.of_core for suppression in left)
        return (0 if with_core else of_core), len(left) - of_core


class Runner:
    """Runs files, and measures the session in which it does."""

    def __init__(self, server, scratch, options, settings, known, progress):
        self._server = server
        self._questions = None              # as soon as one is asked
        self._scratch = scratch
        self._options = options
        self._settings = settings           # of a session that is measured
        self._confirmation = statements.Confirmation(server, scratch, settings,
                                                     self._wait_for_server)
        self._known = known                 # suppressions
        self._progress = progress
        self._gone = None                   # why the server takes no connections any more

    def close(self):
        if self._questions is not None:
            self._questions.close()
            self._questions = None

    def run(self, index, test, path, is_last):
        """Returns what the runs of a file show, and leaves the database as after one."""
        if self._gone:
            raise CannotRun(f"the server takes no connections any more: {self._gone}")
        began = time.monotonic()
        result = Result(test, path)
        session = None
        try:
            session = self._server.open_session(self._scratch.database, self._settings, test)
            result.findings = self._measure(session, index, result)
        except SessionEnded as error:
            # psql ends if it can't, as for a role that may not set how to sample
            if "error: \\connect:" in str(error):
                result.skipped = _CONNECTS_ANEW
            else:
                result.failure = f"the session ended: {error}"
                self._scratch.leave_out(index)
                self._wait_for_server()
        finally:
            if session is not None:
                session.close()
        suppressions.apply(self._known, result.findings)
        self._finish(index, result, is_last)
        result.seconds = time.monotonic() - began
        return result

    def _wait_for_server(self):
        """After a crash, which ends all sessions: the next test is to be measured."""
        self.close()
        sessions = _SESSIONS % self._scratch.database.replace("'", "''")
        for second in range(_RECOVERY):
            try:
                if not self._server.query("postgres", sessions) or second >= _NOTICE:
                    return
            except QueryFailed as error:
                if second == _RECOVERY - 1 or (second >= _RESTART and "FATAL" not in str(error)):
                    self._gone = str(error)
                    return
            time.sleep(1)

    def _measure(self, session, index, result):
        """Returns what the runs have lost, and what grew in each of them, until nothing did;
        nothing if they were not all in one session."""
        if self._questions is None:
            self._questions = self._server.open_questions(self._scratch.asked)
        before = self._prove(session, result)
        self._progress.show(f"{result.test}: run 1 of {self._options.runs}")
        self._run_once(session, index, result)
        if not session.is_same_backend():
            result.skipped = _CONNECTS_ANEW
            return []
        after = self._prove(session, result)
        lost = losses.find(before, after) if None not in (before, after) else []
        growth.describe(self._questions, session.pid, lost)
        if self._options.runs == 1:
            self._note(result, [growth.measure(self._questions, session.pid)])
            return lost
        grown = self._grow(session, index, result, {finding.key for finding in lost})
        return [] if result.skipped else lost + grown

    def _prove(self, session, result):
        """Returns what the session has lost.  Where nothing can be proven, that is a failure
        unless growth is looked at, too."""
        lost = losses.prove(self._questions, session.pid)
        if lost is None:
            told = "the session could not be proven, so that what it has lost is not known"
            if self._options.runs == 1:
                result.failure = f"{told}: --runs={command_line.LEAST_RUNS} shows what grows"
            elif told not in result.notes:
                result.notes.append(told)
        return lost

    def _grow(self, session, index, result, lost):
        """Repeats a file that has run once; returns what grew in each run beside what is lost."""
        measurements = []
        findings = []
        for number in range(1, self._options.runs + 1):
            if number > 1:
                self._progress.show(f"{result.test}: run {number} of {self._options.runs}")
                self._run_once(session, index, result)
            if not session.is_same_backend():
                result.skipped = _CONNECTS_ANEW
                return []
            self._scratch.put_back(index, result.changed)
            _reset_caches(session)
            # from the first run on: what this takes is no growth of a later one
            session.query(_COUNT_CONTEXTS)
            if number < growth.WARM_UP:
                continue
            measurements.append(growth.measure(self._questions, session.pid))
            if number > growth.WARM_UP:
                findings = [finding for finding in growth.find(measurements)
                            if finding.key not in lost]
                if not findings:
                    break
        growth.describe(self._questions, session.pid, findings)
        self._note(result, measurements)
        return findings

    def _run_once(self, session, index, result):
        """Runs the file, and makes the session as new."""
        output = session.run_file(result.path)
        if result.output is None:
            result.output = output
            self._compare_with_expected(result, output)
        difference = _difference(result.output, output)
        if difference is not None:
            # more had changed than the list of objects tells; or this helps no more
            result.unsteady, result.difference = result.changed, difference
            result.changed = True
        session.reset()

    def _note(self, result, measurements):
        if result.unsteady:
            result.notes.append("The output of a further run was not that of the first: "
                                f"{result.difference}")
        missed = measurements[-1].lost - (measurements[0].lost if len(measurements) > 1 else 0)
        if missed > 0:
            result.notes.append(
                f"{missed} allocations could not be followed: raise pg_leakhunt.max_profile_size "
                "and pg_leakhunt.max_live_samples.")
        if not measurements[-1].held:
            result.failure = ("no allocation was followed: pg_leakhunt takes no samples in this "
                              "session, or /dev/shm is full")

    def _compare_with_expected(self, result, output):
        """Notes where a file does not do what it should: it may not test what it is for."""
        directory = os.path.join(self._options.outputdir, "results")
        written = os.path.join(directory, result.test + ".out")
        try:
            os.makedirs(os.path.dirname(written), exist_ok=True)
            with open(written, "w", encoding="utf-8", errors="surrogateescape") as results:
                results.write(output)
        except OSError as error:
            raise CannotRun(f"could not write the output of a test: {error}") from error
        expected = _expected(self._options.expecteddir, result.test)
        not_installed = _NOT_INSTALLED.search(output)
        if not_installed and not any(not_installed.group(0) in text for text in expected):
            result.failure = f"what it tests is not installed: {not_installed.group(0)}"
        elif not expected:
            result.notes.append(f"There is no {os.path.join('expected', result.test)}.out to "
                                "compare its output with.")
        elif _words(output) not in map(_words, expected):
            result.notes.append(f"The output of the first run, {written}, is not the expected one.")

    def _finish(self, index, result, is_last):
        """Repeats the statements of what counts, and leaves the database as after the file."""
        if self._gone:
            return
        listed = result.listed(self._options.all)
        as_after = self._options.runs == 1 and not result.failure
        try:
            if listed and self._options.confirm:
                self._progress.show(f"{result.test}: its statements")
                self._confirmation.confirm(index, result.test, result.source(), listed)
                as_after = False
            if as_after:
                self._scratch.accept()
            elif not is_last:
                self._scratch.put_back(index)
                self._scratch.advance(index)
                self._scratch.accept()
        except QueryFailed as error:
            result.notes.append(f"The database could not be put back: {error}")


def _reset_caches(session):
    message = session.query(f"SELECT {RESET_CACHES}")
    if message:
        raise CannotRun(f"could not reset the caches of the session: {message}")


def _expected(directory, test):
    """Returns the texts of all files of a test's expected output."""
    texts = []
    for suffix in [""] + [f"_{number}" for number in range(10)]:
        path = os.path.join(directory, "expected", f"{test}{suffix}.out")
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as expected:
                texts.append(expected.read())
    return texts


def _words(text):
    return re.sub(r"\s+", "", text)


def _difference(first, further):
    """Returns where the output of a further run leaves that of the first, or None.  Numbers,
    such as OIDs, differ from run to run."""
    lines = further.rstrip("\n").split("\n")
    pairs = zip_longest(map(_without_numbers, first.rstrip("\n").split("\n")),
                        map(_without_numbers, lines))
    for number, (expected, line) in enumerate(pairs):
        if line is None:
            return f"it ends after line {number}"
        if line != expected:
            return f"line {number + 1} is: {shortened(lines[number])}"
    return None


def _without_numbers(line):
    return re.sub(r"\d+", "", line)

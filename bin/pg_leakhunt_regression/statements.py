"""Which statement of a file made a site grow, and whether it does so alone."""

import json
import re
import tempfile
from dataclasses import dataclass

from .errors import QueryFailed, SessionEnded

# The profile keeps as much of a statement.
_KEPT_BYTES = 1024

# What stands for the rest of one that may hold a password.
_WITHHELD = re.compile(r" \.\.\.;?$")

_CHECKS_PER_FILE = 5

_PREPARE = """
CREATE SCHEMA leakhunt_regress;
CREATE EXTENSION pg_leakhunt SCHEMA leakhunt_regress;
GRANT USAGE ON SCHEMA leakhunt_regress TO PUBLIC;
GRANT EXECUTE ON FUNCTION leakhunt_regress.pg_leakhunt_check TO PUBLIC
"""

_CHECK = """SET client_min_messages = error;
SET statement_timeout = '60s';
SET standard_conforming_strings = on;
SELECT json_agg(r)::jsonb FROM leakhunt_regress.pg_leakhunt_check(%s, 10, 3%s) r"""

_RAISES = ", fail => 'statement'"


@dataclass
class Answer:
    """What repeating a statement has shown: the rows of a check, or none."""
    rows: list
    error: str = None           # that it raised each time
    why_not: str = None         # it could not be repeated


def line_of(source, statement):
    """Returns the line of a file where a statement begins, or None."""
    words = _kept_part(statement).split()
    found = list(re.finditer(r"\s+".join(map(re.escape, words)), source)) if words else []
    # a part may be that of several
    if not found or (len(found) > 1 and _is_part(statement)):
        return None
    return source.count("\n", 0, found[0].start()) + 1


def _is_part(statement):
    """Is this not the whole text?  Of what may hold a password only the first words are
    kept."""
    return len(statement.encode()) >= _KEPT_BYTES or _WITHHELD.search(statement)


def _kept_part(statement):
    return _WITHHELD.sub("", statement)


class Confirmation:
    """Repeats statements of a file by themselves, each in a new session that has run the
    file up to there."""

    def __init__(self, server, scratch, settings, recover):
        self._server = server
        self._recover = recover             # waits for the server when a session has ended
        self._scratch = scratch
        self._settings = settings

    def confirm(self, index, test, source, findings):
        """Notes with each finding what repeating its statement shows."""
        answers = {}
        for finding in findings:
            if not finding.statements:
                continue
            statement = finding.statements[0]
            if statement not in answers and len(answers) < _CHECKS_PER_FILE:
                answers[statement] = self._check(index, test, source, statement)
            finding.confirmed = _answer_for(answers.get(statement), finding.site)

    def _check(self, index, test, source, statement):
        """Returns what repeating a statement shows; one that raises an error is repeated
        within subtransactions."""
        if _is_part(statement):
            return Answer([], why_not="its text is not kept as a whole")
        source, raised = _up_to(source, statement), None
        try:
            try:
                return Answer(self._rows(index, test, source, statement, ""))
            except QueryFailed as error:
                raised = _first_error(str(error))
            return Answer(self._rows(index, test, source, statement, _RAISES), raised)
        except SessionEnded as error:
            self._recover()
            return Answer([], why_not=f"its session ended: {_first_error(str(error))}")
        except QueryFailed as error:
            return Answer([], why_not=raised or _first_error(str(error)))

    def _rows(self, index, test, source, statement, fail):
        self._scratch.put_back(index)
        self._server.query(self._scratch.database, _PREPARE)
        return _rows(self._run(test, source, statement, fail))

    def _run(self, test, source, statement, fail):
        quoted = "'" + statement.replace("'", "''") + "'"
        session = self._server.open_session(self._scratch.database, self._settings, test)
        try:
            with tempfile.NamedTemporaryFile("w", suffix=".sql", errors="surrogateescape") as part:
                part.write(source)
                part.flush()
                session.run_file(part.name)
            return session.query(_CHECK % (quoted, fail))
        finally:
            session.close()


def _up_to(source, statement):
    """Returns the lines of a file before a statement; all of them if it is not found."""
    line = line_of(source, statement)
    return source if line is None else "".join(source.splitlines(True)[:line - 1])


def _rows(text):
    """Returns the rows of a check, which are the last line; messages that the statement
    sends its client may stand before."""
    if re.search(r"(?:ERROR|FATAL): ", text):
        raise QueryFailed(text)
    last = text.splitlines()[-1] if text else ""
    return json.loads(last, strict=False) if last.startswith("[") else []


def _answer_for(answer, site):
    if answer is None:
        return None
    if answer.why_not:
        return f"could not be repeated by itself: {answer.why_not}"
    raising = f"; each call raises an error: {answer.error}" if answer.error else ""
    for row in answer.rows:
        if row["site"] == site.function and row["context_name"] == site.context:
            return f"{_per_call(row)}, when repeated by itself{raising}"
    return f"leaves nothing here when repeated by itself{raising}"


def _per_call(row):
    """Says what a call leaves; a cache that is built anew now and then leaves something
    when it is."""
    if row["objects_per_iteration"] % 1 == 0:
        return f"{row['bytes_per_iteration']:g} bytes per call"
    return f"{row['bytes_per_iteration']:g} bytes per call on average, but not in each"


def _first_error(message):
    """Returns the message of the first error of psql's output, or its first line."""
    found = re.search(r"(?:ERROR|FATAL): *(.*)", message)
    return found.group(1) if found else (message.splitlines() or ["psql failed"])[0]

"""Which statement of a file made a site grow, and whether it does so alone."""

import json
import re
import tempfile

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
SELECT json_agg(r)::jsonb FROM leakhunt_regress.pg_leakhunt_check(%s, 10, 3) r"""


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

    def __init__(self, server, scratch, settings):
        self._server = server
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
        """Returns the rows of a check, or a text that says why there are none."""
        if _is_part(statement):
            return "could not be repeated by itself: its text is not kept as a whole"
        try:
            self._scratch.put_back(index)
            self._server.query(self._scratch.database, _PREPARE)
            return _rows(self._run(test, _up_to(source, statement), statement))
        except (QueryFailed, SessionEnded) as error:
            return f"could not be repeated by itself: {_first_error(str(error))}"

    def _run(self, test, source, statement):
        quoted = "'" + statement.replace("'", "''") + "'"
        session = self._server.open_session(self._scratch.database, self._settings, test)
        try:
            with tempfile.NamedTemporaryFile("w", suffix=".sql", errors="surrogateescape") as part:
                part.write(source)
                part.flush()
                session.run_file(part.name)
            return session.query(_CHECK % quoted)
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
    if answer is None or isinstance(answer, str):
        return answer
    for row in answer:
        if row["site"] == site.function and row["context_name"] == site.context:
            return f"{row['bytes_per_iteration']:g} bytes per call, when repeated by itself"
    return "leaves nothing here when repeated by itself"


def _first_error(message):
    """Returns the message of the first error of psql's output, or its first line."""
    found = re.search(r"(?:ERROR|FATAL): *(.*)", message)
    return found.group(1) if found else (message.splitlines() or ["psql failed"])[0]

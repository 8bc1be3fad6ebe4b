"""Which statement of a file made a site grow, and whether it does so alone."""

import json
import re

from .errors import QueryFailed

# The profile keeps as much of a statement.
_KEPT_BYTES = 1024

# What stands for the rest of one that may hold a password.
_WITHHELD = re.compile(r" \.\.\.;?$")

_CHECKS_PER_FILE = 10

_CHECK = """
SET statement_timeout = '30s';
BEGIN;
CREATE SCHEMA leakhunt_regress;
CREATE EXTENSION pg_leakhunt SCHEMA leakhunt_regress;
SELECT json_agg(r) FROM leakhunt_regress.pg_leakhunt_check(%s, 10, 3) r;
ROLLBACK;
"""


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


def confirm(server, database, findings, settings):
    """Repeats the statement of each finding by itself, and notes what that shows.  The
    database is as it is after the file; what a check does is rolled back."""
    answers = {}
    for finding in findings:
        if not finding.statements:
            continue
        statement = finding.statements[0]
        if statement not in answers and len(answers) < _CHECKS_PER_FILE:
            answers[statement] = _check(server, database, statement, settings)
        finding.confirmed = _answer_for(answers.get(statement), finding.site)


def _check(server, database, statement, settings):
    """Returns the rows of a check, or a text that says why there are none."""
    if _is_part(statement):
        return "could not be repeated by itself: its text is not kept as a whole"
    quoted = "'" + statement.replace("'", "''") + "'"
    try:
        text = server.query(database, "SET standard_conforming_strings = on;" + _CHECK % quoted,
                            settings)
    except QueryFailed as error:
        return f"could not be repeated by itself: {_first_line(str(error))}"
    return json.loads(text, strict=False) if text else []


def _answer_for(answer, site):
    if answer is None or isinstance(answer, str):
        return answer
    for row in answer:
        if row["site"] == site.function and row["context_name"] == site.context:
            return f"{row['bytes_per_iteration']:g} bytes per call, when repeated by itself"
    return "leaves nothing here when repeated by itself"


def _first_line(message):
    line = message.splitlines()[0] if message else "psql failed"
    return re.sub(r"^(psql:.*?)?(ERROR|FATAL): *", "", line)

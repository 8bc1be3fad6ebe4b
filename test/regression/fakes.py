"""A server and sessions that are none: what is sent to them is noted, and what they answer
is what a test has said."""

import os
import stat

from pg_leakhunt_regression.errors import QueryFailed

# Beginnings of questions, by which answers are chosen.
LOST = "SELECT samples_dropped"
CONTEXTS = "SELECT context_name AS context, lifetime, instances"
PROOF = "FROM pg_leakhunt_proof("


class Server:
    """Notes what it is asked to do, in order, as (kind, database, text).  "answers" has for
    a part of a query what it returns, or an exception, or a function of that query."""

    def __init__(self, answers=None, sessions=()):
        self.done = []
        self.answers = answers or {}
        self.sessions = list(sessions)
        self.questions = None

    def query(self, database, sql, _settings=None):
        self.done.append(("query", database, sql))
        for part, answer in self.answers.items():
            if part in sql:
                if callable(answer):
                    answer = answer(sql)
                if isinstance(answer, Exception):
                    raise answer
                return answer
        return ""

    def run_file(self, database, path, test):
        self.done.append(("file", database, (path, test)))

    def open_session(self, database, _settings, test):
        self.done.append(("session", database, test))
        return self.sessions.pop(0)

    def open_questions(self, _database):
        return self.questions

    def queries(self, part=""):
        """Returns the queries that have that part."""
        return [sql for kind, _, sql in self.done if kind == "query" and part in sql]


class Session:
    """Prints one output after the other, the last again and again; an exception is raised."""

    def __init__(self, *outputs, answers=None, anew_after=None):
        self.pid = 100
        self.log = []
        self.files = []
        self.runs = 0
        self.closed = False
        self._outputs = outputs or ("",)
        self._answers = answers or {}
        self._anew_after = anew_after       # runs after which it is another session

    def run_file(self, path):
        with open(path, encoding="utf-8") as file:
            self.files.append(file.read())
        self.log.append("file")
        output = self._outputs[min(self.runs, len(self._outputs) - 1)]
        self.runs += 1
        if isinstance(output, Exception):
            raise output
        return output

    def reset(self):
        self.log.append("reset")

    def query(self, sql):
        self.log.append(sql)
        for part, answer in self._answers.items():
            if part in sql:
                return answer.pop(0) if isinstance(answer, list) else answer
        return ""

    def is_same_backend(self):
        return self._anew_after is None or self.runs < self._anew_after

    def close(self):
        self.closed = True


class Questions:
    """Knows what the session holds: one answer for each time that it is measured; and what it
    has lost: one for each time that it is proven, or None where it cannot be."""

    def __init__(self, *held, described=(), lost=(0,), contexts=((),), proofs=((),)):
        self.held, self.described = list(held), list(described)
        self.lost, self.contexts, self.proofs = list(lost), list(contexts), list(proofs)
        self.measured = self.proven = 0
        self.closed = False

    def rows(self, sql):
        def nth(answers):
            return answers[min(self.measured - 1, len(answers) - 1)]

        if PROOF in sql:
            self.proven += 1
            return _proof(self.proofs[min(self.proven, len(self.proofs)) - 1])
        if LOST in sql:
            self.measured += 1
            return [{"samples_dropped": nth(self.lost)}]
        if CONTEXTS in sql:
            return [{"context": name, "lifetime": "session", "count": count}
                    for name, count in nth(self.contexts)]
        if "GROUP BY" in sql:
            return [{"stack": stack, "context": "TopMemoryContext", "lifetime": "session",
                     "bytes": size, "count": count} for stack, size, count in nth(self.held)]
        return self.described

    def close(self):
        self.closed = True


def _proof(lost):
    """Returns the rows of a proof that has these chunks: (stack, context, kind, bytes, count)."""
    rows = [{"stack": stack, "context": context, "lifetime": "session", "kind": kind,
             "bytes": size, "count": count} for stack, context, kind, size, count in lost or ()]
    return rows + [{"stack": None, "context": None, "lifetime": None, "kind": None, "bytes": 0,
                    "count": 0 if lost is None else 100 + len(rows)}]


class Database:
    """In the place of scratch.Scratch: notes how it is put back."""
    database, asked = "regression", "asked"

    def __init__(self, fails=False):
        self.log = []
        self._fails = fails

    def put_back(self, index, entirely=False):
        self.log.append(("put back", index, entirely))

    def advance(self, index):
        self.log.append(("advance", index))
        if self._fails:
            raise QueryFailed("it is locked")

    def leave_out(self, index):
        self.log.append(("leave out", index))

    def accept(self):
        self.log.append(("accept",))


class Progress:
    def show(self, _text):
        pass


def write_programs(folder, **programs):
    """Writes programs, as those of PostgreSQL, as scripts of sh."""
    for name, text in programs.items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, stat.S_IRWXU)

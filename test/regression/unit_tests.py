#!/usr/bin/python3
"""Unit tests of pg_leakhunt_regress: all that needs no PostgreSQL server.

    unit_tests.py FOLDER        the folder of the modules' folder
"""

import contextlib
import io
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.abspath(sys.argv.pop(1)))

from pg_leakhunt_regression import growth, instance, losses, measuring, options  # noqa: E402
from pg_leakhunt_regression import output, program, psql, scratch, statements  # noqa: E402
from pg_leakhunt_regression import suppressions  # noqa: E402
from pg_leakhunt_regression.errors import CannotRun, QueryFailed, SessionEnded  # noqa: E402
import fakes  # noqa: E402


def held(**sites):
    return growth.Measurement({(name, "TopMemoryContext", "session"): value
                               for name, value in sites.items()}, 0)


class Growth(unittest.TestCase):
    def found(self, *courses):
        return [(finding.key[0], finding.bytes)
                for finding in growth.find([held(**course) for course in courses])]

    def test_a_site_that_grows_each_time_is_found(self):
        self.assertEqual(self.found({"a": (1, 1)}, {"a": (3, 2)}, {"a": (6, 3)}),
                         [("a", [2, 3])])

    def test_a_site_that_pauses_once_is_not(self):
        self.assertEqual(self.found({"a": (1, 1)}, {"a": (3, 2)}, {"a": (3, 2)}), [])

    def test_a_site_that_begins_after_the_warm_up_is(self):
        self.assertEqual(self.found({}, {"a": (3, 2)}, {"a": (4, 3)}), [("a", [3, 1])])

    def test_chunks_of_no_bytes_count(self):
        self.assertEqual(self.found({"a": (0, 1)}, {"a": (0, 2)}, {"a": (0, 3)}),
                         [("a", [0, 0])])

    def test_chunks_that_become_more_of_less_do_not(self):
        self.assertEqual(self.found({"a": (9, 1)}, {"a": (8, 2)}, {"a": (7, 3)}), [])

    def test_the_largest_comes_first(self):
        self.assertEqual([name for name, _ in self.found({"a": (1, 1), "b": (1, 1)},
                                                         {"a": (2, 2), "b": (9, 2)})],
                         ["b", "a"])


class Losses(unittest.TestCase):
    """What is lost after a run, and was not before."""

    def proven(self, *lost):
        return losses.prove(fakes.Questions(proofs=[lost]), 100)

    def found(self, before, after):
        return [(one.key[0], one.site.context, one.bytes, one.count, one.is_lost)
                for one in losses.find(self.proven(*before), self.proven(*after))]

    def test_what_was_lost_before_does_not_count(self):
        before = [("7", "TopMemoryContext", None, 16, 1)]
        self.assertEqual(self.found(before, before), [])
        self.assertEqual(self.found(before, [("7", "TopMemoryContext", None, 48, 3)]),
                         [("7", "TopMemoryContext", [32], [2], True)])

    def test_chunks_of_no_bytes_count(self):
        self.assertEqual(self.found([], [("7", "TopMemoryContext", None, 0, 2)]),
                         [("7", "TopMemoryContext", [0], [2], True)])

    def test_the_largest_comes_first(self):
        self.assertEqual([one[0] for one in self.found([], [("7", "a", None, 8, 1),
                                                            ("8", "b", None, 9, 1)])],
                         ["8", "7"])

    def test_chunks_of_a_kind_are_told_where_no_call_site_is_known(self):
        kind = (None, "moved", "128 bytes", 256, 2)
        self.assertEqual(self.found([], [kind]),
                         [(losses.UNKNOWN, "moved", [256], [2], True)])
        self.assertEqual([one[0] for one in self.found([], [kind, ("7", "moved", None, 200, 2)])],
                         ["7"])

    def test_contexts_that_are_lost_are_told_where_nothing_else_of_them_is(self):
        context = (None, "empty", "memory context", 2048, 2)
        self.assertEqual(self.found([], [context]),
                         [(growth.CONTEXTS, "empty", [2048], [2], True)])
        self.assertEqual([one[0] for one in self.found([], [context, ("7", "empty", None, 8, 1)])],
                         ["7"])

    def test_a_session_that_cannot_be_proven_has_lost_what_nobody_knows(self):
        self.assertIsNone(losses.prove(fakes.Questions(proofs=[None]), 100))
        self.assertEqual(self.proven(), {})

    def test_it_is_told_in_words(self):
        for count, text in ((1, "1 byte in 1 chunk lost, nothing points to it: leak"),
                            (2, "2 bytes in 2 chunks lost, nothing points to them: leak")):
            self.assertEqual(output._what_leaks(growth.Finding(
                ("7", "c", "session"), [count], [count], growth.Site("c", "leak"),
                is_lost=True)), text)


class Difference(unittest.TestCase):
    def test_numbers_are_no_difference(self):
        self.assertIsNone(measuring._difference("oid 12\n", "oid 9999\n"))

    def test_a_line_is_told(self):
        self.assertEqual(measuring._difference("1\na\nb\n", "2\na\nc 3\n"), "line 3 is: c 3")

    def test_a_line_that_has_come_is_told(self):
        self.assertEqual(measuring._difference("a\n", "a\nb\n"), "line 2 is: b")

    def test_the_end_is_told(self):
        self.assertEqual(measuring._difference("a\nb\n", "a\n"), "it ends after line 1")


class Suppressions(unittest.TestCase):
    site = growth.Site("CacheMemoryContext", "keep", None,
                       ["keep (cache.c:12)", "postgres+0x10", "my.so+0x20", "use"])

    def read(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".supp") as file:
            file.write(text)
            file.flush()
            return suppressions.read(file.name)

    def matches(self, pattern):
        return self.read(pattern + "\n")[0].matches(self.site)

    def test_patterns_match_functions_files_and_binaries(self):
        for pattern in ("keep", "leak:keep", "eep", "^keep$", "k*p", "cache.c", "my.so",
                        "context:Cache", "context:^CacheMemoryContext$", "keep & use",
                        "keep & !other", "keep < postgres+", "postgres+ < my.so"):
            self.assertTrue(self.matches(pattern), pattern)

    def test_other_patterns_do_not(self):
        for pattern in ("kep", "^eep", "kee$", "context:keep", "context:^Memory", "keep & other",
                        "!keep", "keep < my.so", "use < keep", "k.ep"):
            self.assertFalse(self.matches(pattern), pattern)

    def test_reasons_stand_above_and_end_at_an_empty_line(self):
        read = self.read("# head\n\n# because\n# of that\na\nb\n\nc\n# why\nd\n")
        self.assertEqual([(one.text(), one.reason) for one in read],
                         [("a", "because of that"), ("b", "because of that"), ("c", ""),
                          ("d", "why")])

    def test_a_reason_may_be_of_some_versions(self):
        read = self.read("# 16-17: x\na\n\n# 18-: y\nb\n\n# 15: z\nc\n")
        self.assertEqual([[one.text() for one in suppressions.of_version(read, version)]
                          for version in (15, 17, 19)], [["c"], ["a"], ["b"]])

    def test_what_PostgreSQL_keeps_has_reasons(self):
        self.assertEqual([one.text() for one in suppressions.read(suppressions.core_file(), True)
                          if not one.reason], [])

    def test_a_year_is_no_version(self):
        self.assertEqual([one.reason for one in
                          suppressions.of_version(self.read("# 2023: known\na\n"), 15)],
                         ["2023: known"])

    def test_a_pattern_that_matches_all_is_refused(self):
        for pattern in ("leak:", "*", "a & leak:", "!", "context:", "^"):
            with self.assertRaisesRegex(CannotRun, "every call site"):
                self.read(pattern + "\n")

    def test_bytes_that_are_no_text_are_told(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"caf\xe9\n")
            file.flush()
            with self.assertRaisesRegex(CannotRun, file.name):
                suppressions.read(file.name)

    def test_a_missing_file_is_named(self):
        with self.assertRaisesRegex(CannotRun, "no_such_file"):
            suppressions.read("no_such_file")


class Statements(unittest.TestCase):
    source = "SELECT 1;\n-- x\nSELECT\n  leak( 2 );\nCREATE FUNCTION f() ...\n"

    def test_a_statement_has_the_line_where_it_begins(self):
        self.assertEqual(statements.line_of(self.source, "SELECT   leak( 2 );"), 3)

    def test_first_words_have_one_where_they_are_those_of_one(self):
        self.assertEqual(statements.line_of(self.source, "CREATE FUNCTION ...;"), 5)
        self.assertIsNone(statements.line_of(self.source, "SELECT ...;"))

    def test_one_that_is_not_there_has_none(self):
        self.assertIsNone(statements.line_of(self.source, "SELECT 3"))


    def test_rows_of_a_check_are_the_last_line(self):
        self.assertEqual(statements._rows('INFO:  [x]\n[{"a": 1}]'), [{"a": 1}])
        self.assertEqual(statements._rows("INFO:  x"), [])
        self.assertEqual(statements._rows(""), [])
        with self.assertRaises(QueryFailed):
            statements._rows("ERROR:  no\n")

    def test_what_repeating_showed_is_told_as_it_was(self):
        site = growth.Site("c", "f")

        def row(size, count):
            return {"site": "f", "context_name": "c", "bytes_per_iteration": size,
                    "objects_per_iteration": count}

        for answer, text in (
                (statements.Answer([row(48, 1)]), "48 bytes per call, when repeated by itself"),
                (statements.Answer([row(40, 0.2)]),
                 "40 bytes per call on average, but not in each, when repeated by itself"),
                (statements.Answer([row(48, 2)], error="no"),
                 "48 bytes per call, when repeated by itself; each call raises an error: no"),
                (statements.Answer([]), "leaves nothing here when repeated by itself"),
                (statements.Answer([], why_not="no"), "could not be repeated by itself: no")):
            self.assertEqual(statements._answer_for(answer, site), text)


class Options(unittest.TestCase):
    def test_a_schedule_has_groups_and_comments(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("# test: no\ntest: a b\n\ntest: c\n")
            file.flush()
            self.assertEqual(options.parse(["--schedule", file.name, "d"]).tests,
                             ["a", "b", "c", "d"])

    def test_options_of_pg_regress_that_make_no_difference_are_taken(self):
        self.assertEqual(options.parse(["--max-connections=2", "--debug", "a"]).tests, ["a"])

    def test_a_line_that_is_none_of_a_schedule_is_named(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("test: a\ntsets: b\n")
            file.flush()
            with self.assertRaisesRegex(CannotRun, ":2: .*tsets: b"):
                options.parse(["--schedule", file.name])

    def test_lists_and_abbreviations_are_those_of_pg_regress(self):
        given = options.parse(["--load-ext=a,b", "--create-role=c,d", "x"])
        self.assertEqual((given.load_extension, given.create_role), (["a", "b"], ["c", "d"]))

    def test_an_existing_database_is_one_for_tests(self):
        for name in ("regression", "contrib_regression", "regress_1", "my_regression_2"):
            self.assertTrue(options.parse(["--use-existing", f"--dbname={name}", "a"]))

    def test_a_name_is_printable(self):
        for name in ("a\nb", "a\udcff", "a\x02", "/a", "../a"):
            with self.assertRaisesRegex(CannotRun, "printable|in sql/"):
                options.file_of(options.parse([name]), name)

    def test_no_tests_and_too_few_runs_are_wrong(self):
        for arguments in ([], ["--runs=4", "a"], ["--runs=0", "a"], ["--no-such-option", "a"],
                          ["--use-existing", "--dbname=shop", "a"],
                          ["--use-existing", "--dbname=aggression", "a"]):
            with self.assertRaises(SystemExit) as ended, \
                    contextlib.redirect_stderr(io.StringIO()):
                options.parse(arguments)
            self.assertEqual(ended.exception.code, 2)


class Settings(unittest.TestCase):
    def test_ours_is_preloaded_beside_others(self):
        for given, becomes in (("shared_preload_libraries = 'a'", "'a, pg_leakhunt'"),
                               ("shared_preload_libraries=''", "'pg_leakhunt'"),
                               ("shared_preload_libraries = 'pg_leakhunt'", "'pg_leakhunt'")):
            self.assertEqual(instance._preload_ours_too(given).split("=")[1].strip(), becomes)

    def test_other_settings_stay(self):
        self.assertEqual(instance._preload_ours_too("a = 1\n# b\n"), "a = 1\n# b\n")


class Session(unittest.TestCase):
    """A program in the place of psql, which repeats what it is told."""

    def test_what_is_printed_up_to_the_mark_is_returned(self):
        session = psql._Psql(["sh", "-c", r"sed -u 's/^\\echo //' $2", "psql"], None)
        self.assertEqual(session._send("one\ntwo"), "one\ntwo")
        session.close()

    def test_one_that_ends_is_told_with_its_last_words(self):
        session = psql._Psql(["sh", "-c", "printf 'last words'"], None)
        with self.assertRaisesRegex(SessionEnded, "last words"):
            session._send("one")
        session.close()

    def test_what_a_file_reads_is_not_what_comes_next(self):
        session = psql._Psql(["sh", "-c", r"cat; sed -u 's/^\\echo //' $2", "psql"], None)
        self.assertEqual(session._send("one"), "one")
        session.close()

    def test_one_that_has_ended_before_is_told_too(self):
        session = psql._Psql(["sh", "-c", "echo last words"], None)
        session._process.wait()
        with self.assertRaisesRegex(SessionEnded, "last words"):
            session._send("one")
        session.close()

    def test_a_mark_may_stand_behind_something(self):
        session = psql._Psql(["sh", "-c", r"printf half; sed -u 's/^\\echo //' $2", "psql"], None)
        self.assertEqual(session._send(""), "half")
        session.close()

    def test_nothing_leads_to_another_server(self):
        kept = psql.without_connection({"PGSERVICE": "a", "PGHOSTADDR": "b", "PGUSER": "c",
                                        "PG_CONFIG": "d", "PATH": "e", "PGPASSFILE": "f"})
        self.assertEqual(kept, {"PG_CONFIG": "d", "PATH": "e"})

    def test_a_name_is_no_connection_string(self):
        self.assertEqual(psql._to_database(r"host=a'b\c"), ["-d", r"dbname='host=a\'b\\c'"])


class Directory(unittest.TestCase):
    """That of a temporary server."""

    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)

    def write(self, name, text=""):
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def take(self):
        server = instance.Instance(options.parse([f"--temp-instance={self.directory}", "a"]))
        try:
            server._take_directory()
        finally:
            server.__exit__()

    def test_what_is_not_its_own_stays(self):
        for name in ("thesis.txt", "data/thesis.txt", "data/PG_VERSION"):
            self.write(name)
            with self.assertRaisesRegex(CannotRun, "left alone"):
                self.take()
            self.assertTrue(os.path.exists(os.path.join(self.directory, name)))

    def test_nor_does_it_take_its_own_with_something_else(self):
        self.write(instance._MARK)
        self.write("thesis.txt")
        with self.assertRaisesRegex(CannotRun, "left alone"):
            self.take()

    def test_a_user_without_a_name_is_told(self):
        # initdb looks the name up, whatever --user says
        for user in ([], ["--user=ann"]):
            server = instance.Instance(options.parse([*user, "--temp-instance=x", "a"]))
            with unittest.mock.patch("os.geteuid", return_value=2 ** 31 - 2), \
                    self.assertRaisesRegex(CannotRun, "user id 2147483646 has none: give it one"):
                server.__enter__()

    def test_what_a_former_run_has_left_goes(self):
        self.write("data/postgresql.conf")
        self.write(instance._MARK)
        self.write("postmaster.log")
        with unittest.mock.patch.object(instance.Instance, "_pg_ctl", return_value=True), \
                self.assertRaisesRegex(CannotRun, "a server runs in .*pg_ctl -D .* stop"):
            self.take()
        self.assertTrue(os.path.exists(os.path.join(self.directory, "data")))
        with unittest.mock.patch.object(instance.Instance, "_pg_ctl", return_value=False):
            self.take()
        self.assertFalse(os.path.exists(self.directory))
        os.mkdir(self.directory)


class Output(unittest.TestCase):
    def result(self, **facts):
        return measuring.Result("t", os.devnull, **facts)

    def finding(self, sizes, **facts):
        return growth.Finding(("1", "c", "session"), sizes, [1] * len(sizes),
                              growth.Site("c", "f", None, ["f", "PostgresMain", "main"]), **facts)

    def test_sizes_are_told_as_one_or_as_a_range(self):
        for sizes, text in (([2, 2], "2 bytes in 1 chunk per run, the same each time: f"),
                            ([1, 3], "1 to 3 bytes in 1 chunk per run: f")):
            self.assertEqual(
                output.sentences(self.result(findings=[self.finding(sizes)]), False),
                [text, "  in c", "  stack: f"])

    def test_what_is_suppressed_is_counted(self):
        known = suppressions.Suppression(["f"], "why", (0, 9999), True)
        result = self.result(findings=[self.finding([1], suppression=known)])
        self.assertEqual(output.sentences(result, False),
                         ["Not listed: 1 call site at which PostgreSQL itself keeps memory, "
                          "which is no leak of the extension; --all lists them."])
        self.assertIn("  PostgreSQL keeps it: why", output.sentences(result, True))

    def test_junit_has_no_character_that_XML_lacks(self):
        with tempfile.NamedTemporaryFile("rb") as file:
            result = self.result(notes=["a\x01<b>\ufffe\udc80\U0001f600"])
            result.test = "t\x02"
            output.write_junit(file.name, [result], False, lambda result: True)
            written = file.read().decode()
        self.assertIn("<system-out>a&lt;b&gt;\U0001f600</system-out>", written)
        self.assertIn(' name="t" ', written)

    def test_a_name_is_no_directive_of_TAP(self):
        result = self.result()
        result.test = "a # SKIP b"
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            output.Tap(False).say(result, True)
        self.assertEqual(said.getvalue(), "ok 1 - a \\# SKIP b\n")


class Measured(unittest.TestCase):
    """What a session says that it holds, and what grew of that."""

    def measure(self, *sizes, contexts=()):
        questions = fakes.Questions([("7", size, size) for size in sizes], lost=[4],
                                    contexts=[contexts])
        return growth.measure(questions, 100)

    def test_rows_become_sites_and_contexts(self):
        measured = self.measure(30, contexts=[("Leaking", 3)])
        self.assertEqual(measured.held, {("7", "TopMemoryContext", "session"): (30, 30),
                                         (growth.CONTEXTS, "Leaking", "session"): (0, 3)})
        self.assertEqual(measured.lost, 4)

    def test_contexts_without_a_site_are_found(self):
        found = growth.find([self.measure(contexts=[("Leaking", count)]) for count in (2, 4, 6)])
        self.assertEqual([(one.count, one.site.function) for one in found],
                         [([2, 2], growth.CONTEXTS)])
        self.assertEqual(output._what_leaks(found[0]),
                         "2 memory contexts per run: Leaking, in which nothing is allocated")

    def test_of_contexts_with_a_site_the_site_is_told(self):
        found = growth.find([self.measure(size, contexts=[("TopMemoryContext", size)])
                             for size in (2, 4, 6)])
        self.assertEqual([one.key[0] for one in found], ["7"])

    def test_a_statement_that_allocated_once_did_not_do_it_each_time(self):
        finding = growth.Finding(("7", "c", "session"), [8] * 5, [1] * 5, growth.Site("c"))
        row = {"key": "7", "context": "c", "lifetime": "session", "site": "f", "routine": None,
               "stack": ["f"]}
        growth.describe(fakes.Questions(described=[
            dict(row, query="SELECT each", count=7), dict(row, query="SELECT first", count=1),
            dict(row, query="SELECT each", count=5)]), 100, [finding])
        self.assertEqual((finding.site.function, finding.statements), ("f", ["SELECT each"]))


class Runs(unittest.TestCase):
    """The runs of a file, in a session that is none."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "t.sql")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("SELECT leak();\n")
        self.server = fakes.Server()
        self.server.questions = fakes.Questions([("0", 1, 1)])
        self.database = fakes.Database()

    def runner(self, *arguments, known=()):
        given = options.parse([f"--outputdir={self.folder}", f"--inputdir={self.folder}",
                               "--runs=7", *arguments, "t"])
        return measuring.Runner(self.server, self.database, given, {}, list(known),
                                fakes.Progress())

    def run_file(self, session, *arguments, is_last=True, known=()):
        self.server.sessions = [session]
        result = self.runner(*arguments, known=known).run(3, "t", self.path, is_last)
        self.assertTrue(session.closed)
        return result

    def expect(self, text, suffix=""):
        path = os.path.join(self.folder, "expected", f"t{suffix}.out")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def grow(self, **facts):
        held = [[("7", size, size)] for size in range(10, 90, 10)]
        self.server.questions = fakes.Questions(*held, **facts)

    def test_after_each_run_all_is_put_back_and_the_caches_are_reset(self):
        session = fakes.Session()
        self.run_file(session)
        self.assertEqual(session.log, 3 * ["file", "reset", f"SELECT {scratch.RESET_CACHES}",
                                           measuring._COUNT_CONTEXTS])
        self.assertEqual(self.database.log, 3 * [("put back", 3, False)])

    def test_caches_that_cannot_be_reset_end_it(self):
        with self.assertRaisesRegex(CannotRun, "caches of the session: ERROR"):
            self.run_file(fakes.Session(answers={"reset_caches": "ERROR:  no"}))

    def test_two_runs_are_a_warm_up_and_all_that_follow_count(self):
        session = fakes.Session()
        self.grow()
        result = self.run_file(session, "--no-confirm")
        self.assertEqual((session.runs, self.server.questions.measured), (7, 6))
        self.assertEqual([one.bytes for one in result.findings], [5 * [10]])

    def test_where_nothing_grows_the_third_run_is_the_last(self):
        session = fakes.Session()
        self.assertEqual(self.run_file(session).findings, [])
        self.assertEqual(session.runs, 3)

    def lose(self, *proofs):
        self.server.questions = fakes.Questions([("0", 1, 1)], proofs=proofs)

    def test_a_file_is_run_once_to_see_what_it_has_lost(self):
        session = fakes.Session()
        self.lose([], [("7", "TopMemoryContext", None, 16, 1)])
        result = self.run_file(session, "--runs=1", "--no-confirm")
        self.assertEqual(([(one.bytes, one.is_lost) for one in result.findings], session.runs),
                         ([([16], True)], 1))
        self.assertEqual(session.log, ["file", "reset"])
        self.assertEqual(self.database.log, [("accept",)])

    def test_what_has_its_statements_repeated_is_put_back_for_the_next_file(self):
        self.lose([], [("7", "TopMemoryContext", None, 16, 1)])
        self.run_file(fakes.Session(), "--runs=1", is_last=False)
        self.assertEqual(self.database.log, [("put back", 3, False), ("advance", 3), ("accept",)])

    def test_what_grows_beside_what_is_lost_is_told_too(self):
        held = [[("7", size, size), ("8", size, size)] for size in range(10, 90, 10)]
        self.server.questions = fakes.Questions(*held, proofs=[
            [], [("7", "TopMemoryContext", None, 10, 10)]])
        result = self.run_file(fakes.Session(), "--no-confirm")
        self.assertEqual([(one.key[0], one.is_lost) for one in result.findings],
                         [("7", True), ("8", False)])

    def test_without_a_proof_a_single_run_is_a_failure(self):
        self.lose(None)
        self.assertIn("could not be proven, so that what it has lost is not known: --runs=5",
                      self.run_file(fakes.Session(), "--runs=1").failure)
        self.lose(None)
        result = self.run_file(fakes.Session())
        self.assertIsNone(result.failure)
        self.assertEqual(sum("could not be proven" in note for note in result.notes), 1)

    def test_losses_are_told(self):
        self.server.questions = fakes.Questions([("0", 1, 1)], lost=(5, 8))
        self.assertIn("3 allocations could not be followed",
                      self.run_file(fakes.Session()).notes[-1])

    def test_a_session_without_samples_is_a_failure(self):
        self.server.questions = fakes.Questions([])
        self.assertIn("no allocation was followed", self.run_file(fakes.Session()).failure)

    def test_an_output_that_differs_once_has_all_put_back(self):
        result = self.run_file(fakes.Session("a\n", "b\n", "a\n"))
        self.assertEqual((result.changed, result.unsteady), (True, False))
        self.assertEqual([one[2] for one in self.database.log], [False, True, True])

    def test_one_that_differs_again_is_told_and_no_failure(self):
        result = self.run_file(fakes.Session("a\n", "now " + 300 * "x" + "\n"))
        self.assertEqual(result.notes[-1], "The output of a further run was not that of the "
                         "first: line 1 is: now " + 193 * "x" + "...")
        self.assertIsNone(result.failure)

    def test_the_output_is_compared_with_the_expected_one(self):
        self.assertEqual(self.run_file(fakes.Session("a\n")).notes,
                         ["There is no expected/t.out to compare its output with."])
        self.expect("a  \n\n")
        self.assertEqual(self.run_file(fakes.Session("a\n")).notes, [])
        self.expect("something else\n")
        self.assertEqual(self.run_file(fakes.Session("a\n")).notes,
                         [f"The output of the first run, {self.folder}/results/t.out, is not the "
                          "expected one."])

    def test_each_of_the_expected_files_will_do(self):
        self.expect("something else\n")
        for number in (0, 1, 9):
            path = self.expect("a\n", f"_{number}")
            self.assertEqual(self.run_file(fakes.Session("a\n")).notes, [])
            os.remove(path)

    def test_what_is_not_installed_is_a_failure_unless_it_is_expected(self):
        for message in ('ERROR:  extension "x" is not available',
                        'ERROR:  could not open extension control file "/x": No such file',
                        'ERROR:  could not access file "$libdir/x": No such file'):
            self.assertEqual(self.run_file(fakes.Session(message + "\nDETAIL:  x\n")).failure,
                             f"what it tests is not installed: {message}")
        self.expect(message + "\n")
        self.assertIsNone(self.run_file(fakes.Session(message + "\n")).failure)

    def test_a_file_that_connects_anew_is_skipped(self):
        for session in (fakes.Session(anew_after=2),
                        fakes.Session(SessionEnded("psql:t.sql:2: error: \\connect: FATAL:  no"))):
            self.grow()
            result = self.run_file(session)
            self.assertEqual((result.skipped, result.failure, result.findings),
                             (measuring._CONNECTS_ANEW, None, []))

    def test_a_session_that_ends_is_a_failure_and_its_file_is_not_run_again(self):
        result = self.run_file(fakes.Session(SessionEnded("FATAL:  terminating connection")))
        self.assertEqual(result.failure, "the session ended: FATAL:  terminating connection")
        self.assertEqual(self.database.log, [("leave out", 3)])
        self.assertEqual(len(self.server.queries()), 1)
        self.assertIn("FROM pg_catalog.pg_stat_activity WHERE datname = 'regression' ",
                      self.server.queries()[0])

    def test_the_next_file_finds_what_this_one_makes(self):
        self.run_file(fakes.Session(), is_last=False)
        self.assertEqual(self.database.log[3:], [("put back", 3, False), ("advance", 3),
                                                 ("accept",)])

    def test_a_database_that_cannot_be_put_back_is_told(self):
        self.database = fakes.Database(fails=True)
        self.assertEqual(self.run_file(fakes.Session(), is_last=False).notes[-1],
                         "The database could not be put back: it is locked")

    def test_a_server_that_recovers_is_waited_for(self):
        # at first it has not noticed that the process of a session was killed
        answers = ["4711"] * 3
        answers += [QueryFailed("FATAL:  the database system is in recovery mode")] * 20 + [""]
        self.server.answers = {"pg_stat_activity": lambda _: answers.pop(0)}
        runner = self.runner()
        with unittest.mock.patch.object(time, "sleep"):
            runner._wait_for_server()
        self.assertEqual((answers, runner._gone), ([], None))

    def test_a_session_that_goes_on_is_not_waited_for_for_ever(self):
        self.server.answers = {"pg_stat_activity": "4711"}
        runner = self.runner()
        with unittest.mock.patch.object(time, "sleep") as sleep:
            runner._wait_for_server()
        self.assertEqual((sleep.call_count, runner._gone), (measuring._NOTICE, None))

    def test_one_that_stays_down_ends_it(self):
        self.server.answers = {"pg_stat_activity": QueryFailed("could not connect")}
        self.server.sessions = [fakes.Session(SessionEnded("server closed the connection"))]
        runner = self.runner()
        with unittest.mock.patch.object(time, "sleep"):
            result = runner.run(0, "t", self.path, False)
        self.assertEqual(result.failure, "the session ended: server closed the connection")
        with self.assertRaisesRegex(CannotRun,
                                    "takes no connections any more: could not connect"):
            runner.run(1, "t", self.path, True)

    def test_what_is_suppressed_is_counted_once_and_not_repeated(self):
        known = [suppressions.Suppression(["leak"], "", (0, 9999), False) for _ in range(2)]
        self.grow(described=[{"key": "7", "context": "TopMemoryContext", "lifetime": "session",
                              "site": "leak", "routine": None, "stack": ["leak"],
                              "query": "SELECT 1", "count": 9}])
        result = self.run_file(fakes.Session(), known=known)
        self.assertEqual((result.listed(False), result.left_out(False)), ([], (0, 1)))
        self.assertEqual([one.matched for one in known], [1, 0])


class Repeated(unittest.TestCase):
    """Statements that are repeated by themselves."""

    def confirm(self, *sessions, statement="SELECT leak();"):
        database, recovered = fakes.Database(), []
        finding = growth.Finding(("7", "c", "session"), [16], [1], growth.Site("c", "f"),
                                 [statement])
        statements.Confirmation(fakes.Server(sessions=sessions), database, {},
                                lambda: recovered.append(1)).confirm(
            2, "t", "CREATE TABLE gone ();\nSELECT leak();\nDROP TABLE gone;\n", [finding])
        return finding.confirmed, database.log, recovered

    def session(self, answer):
        return fakes.Session(answers={"pg_leakhunt_check": answer})

    rows = ('[{"site": "f", "context_name": "c", "bytes_per_iteration": 16, '
            '"objects_per_iteration": 1}]')

    def test_a_statement_is_repeated_before_what_it_needs_is_gone(self):
        session = self.session(self.rows)
        confirmed, log, _ = self.confirm(session)
        self.assertEqual(confirmed, "16 bytes per call, when repeated by itself")
        self.assertEqual(session.files, ["CREATE TABLE gone ();\n"])
        self.assertEqual(log, [("put back", 2, False)])
        self.assertTrue(session.closed)

    def test_one_that_raises_an_error_is_repeated_where_it_raises_it(self):
        first = self.session("ERROR:  division by zero\nCONTEXT:  x")
        second = self.session(self.rows)
        self.assertEqual(self.confirm(first, second)[0],
                         "16 bytes per call, when repeated by itself; each call raises an error: "
                         "division by zero")
        self.assertNotIn("fail => 'statement'", first.log[-1])
        self.assertIn("fail => 'statement'", second.log[-1])

    def test_one_that_cannot_be_repeated_says_why(self):
        failing = [self.session("ERROR:  no such thing") for _ in range(2)]
        self.assertEqual(self.confirm(*failing)[0],
                         "could not be repeated by itself: no such thing")

    def test_one_that_ends_its_session_is_recovered_from(self):
        confirmed, _, recovered = self.confirm(fakes.Session(SessionEnded("FATAL:  gone")))
        self.assertEqual((confirmed, recovered),
                         ("could not be repeated by itself: its session ended: gone", [1]))

    def test_a_part_of_one_is_not_repeated(self):
        self.assertEqual(self.confirm(statement="CREATE ROLE ...;")[0],
                         "could not be repeated by itself: its text is not kept as a whole")

    def test_quotes_are_doubled(self):
        session = self.session("[]")
        self.confirm(session, statement="SELECT 'x'")
        self.assertIn("pg_leakhunt_check('SELECT ''x''',", session.log[-1])


class Undone(unittest.TestCase):
    """How the database is put back, as far as what is sent tells."""

    def scratch(self, *arguments, objects=("pg_class:1",)):
        self.objects = set(objects)
        self.server = fakes.Server({"FROM pg_prepared_xacts": lambda _: "\n".join(self.objects)})
        made = scratch.Scratch(self.server, options.parse([*arguments, "a", "b", "c"]),
                               ["/a.sql", "/b.sql", "/c.sql"])
        made.create()
        self.server.done.clear()
        return made

    def kinds(self):
        return [kind for kind, _, _ in self.server.done]

    def files(self):
        return [what[0] for kind, _, what in self.server.done if kind == "file"]

    def drops(self):
        return self.server.queries("DO $drop$")

    def test_nothing_goes_before_what_is_in_its_way(self):
        ranks = re.findall(r"SELECT (\d+), '(pg_\w+)'::regclass", scratch._OBJECTS)
        self.assertEqual([int(rank) for rank, _ in ranks], list(range(1, len(ranks) + 1)))
        order = [name for _, name in ranks]
        for first, second, why in (
                ("pg_event_trigger", "pg_publication", "it would be called for the others"),
                ("pg_publication", "pg_class", "it has tables"),
                ("pg_class", "pg_extension", "an index has options of a function of it"),
                ("pg_extension", "pg_namespace", "it may lie in one"),
                ("pg_extension", "pg_proc", "its functions go with it"),
                ("pg_transform", "pg_language", "it is of one"),
                ("pg_cast", "pg_proc", "it calls one"),
                ("pg_opclass", "pg_opfamily", "it is of one"),
                ("pg_operator", "pg_proc", "it calls one"),
                ("pg_ts_config", "pg_ts_dict", "it has some")):
            self.assertLess(order.index(first), order.index(second), why)
        self.assertEqual(order[-1], "pg_authid")

    def test_each_kind_is_dropped_by_its_command(self):
        self.assertEqual(dict(re.findall(r"WHEN '([^']+)' THEN '([^']+)'", scratch._DROP)),
                         {"statistics object": "STATISTICS", "composite type": "TYPE",
                          "aggregate": "ROUTINE", "foreign-data wrapper": "FOREIGN DATA WRAPPER"})
        for command in ("DROP OWNED BY %%s CASCADE", "DROP ROLE %%s", "DROP USER MAPPING FOR %%s",
                        "DROP SUBSCRIPTION %%s", "DROP %%s IF EXISTS %%s CASCADE"):
            self.assertIn(f"EXECUTE format('{command}", scratch._DROP)

    def test_where_nothing_has_changed_nothing_is_dropped(self):
        made = self.scratch()
        made.put_back(2)
        self.assertEqual((self.kinds(), self.drops()), (["query"], []))

    def test_what_a_run_has_made_is_dropped(self):
        made = self.scratch()
        database = "statement:DROP DATABASE IF EXISTS regression_x"
        lists = [["pg_class:1", "pg_class:2", "statement:ROLLBACK PREPARED 'x'", database],
                 ["pg_class:1", database], ["pg_class:1"]]
        self.server.answers = {"FROM pg_prepared_xacts": lambda _: "\n".join(lists.pop(0))}
        made.put_back(2)
        asked = [sql for sql in self.server.queries() if "FROM pg_prepared_xacts" not in sql]
        drop = self.drops()[0]
        self.assertEqual(asked, [scratch._END_OPEN_TRANSACTIONS, "ROLLBACK PREPARED 'x'", drop,
                                 "DROP DATABASE IF EXISTS regression_x", drop])
        self.assertIn("before constant text[] := '{pg_class:1}'", drop)
        self.assertIn("SET lock_timeout", drop)
        self.assertEqual(self.files(), [])

    def test_where_a_run_has_removed_something_the_files_before_are_run_again(self):
        made = self.scratch("--load-extension=x", objects=("pg_class:1", "pg_class:2"))
        made.leave_out(0)
        self.objects = {"pg_class:1"}
        made.put_back(2)
        self.assertEqual(self.files(), ["/b.sql"])
        self.assertEqual(self.server.queries("CREATE EXTENSION"),
                         ['CREATE EXTENSION IF NOT EXISTS "x"'])
        self.server.done.clear()
        made.put_back(2)
        self.assertEqual(self.kinds(), ["query"])

    def test_so_they_are_where_more_has_changed_than_the_objects_tell(self):
        made = self.scratch()
        made.put_back(1, entirely=True)
        self.assertEqual(self.files(), ["/a.sql"])

    def test_what_is_there_before_a_file_is_what_the_file_before_has_made(self):
        made = self.scratch()
        self.objects.add("pg_class:2")
        made.accept()
        made.put_back(1)
        self.assertEqual(self.drops(), [])

    def test_in_a_database_that_was_there_nothing_else_is_touched(self):
        made = self.scratch("--use-existing", "--dbname=my_regression")
        self.objects.add("pg_class:2")
        made.put_back(0)
        self.assertEqual(self.server.queries("pg_terminate_backend"), [])
        self.assertIn("= ANY ('{pg_class:1}')", self.drops()[0])
        self.server.done.clear()
        made.remove()
        self.assertEqual(self.server.queries("DROP DATABASE IF EXISTS \""),
                         [f'DROP DATABASE IF EXISTS "{made.asked}" WITH (FORCE)'])
        self.assertIn(f"DROP FUNCTION IF EXISTS {scratch.RESET_CACHES}", self.server.queries())

    def test_at_the_end_the_database_goes_before_its_roles(self):
        made = self.scratch("--create-role=regress_a,regress_b")
        made.remove()
        self.assertEqual([sql for sql in self.server.queries() if sql.startswith("DROP")],
                         ['DROP DATABASE IF EXISTS "regression" WITH (FORCE)',
                          'DROP ROLE IF EXISTS "regress_b"', 'DROP ROLE IF EXISTS "regress_a"',
                          f'DROP DATABASE IF EXISTS "{made.asked}" WITH (FORCE)'])

    def test_with_keep_all_stays(self):
        made = self.scratch("--keep")
        made.remove()
        self.assertEqual(self.server.done, [])

    def test_only_names_of_tests_are_touched_on_a_server_of_others(self):
        for arguments, names in (([], scratch._NAME_OF_TESTS),
                                 (["--temp-instance=x"], scratch._ANY_NAME)):
            made = scratch.Scratch(fakes.Server(), options.parse([*arguments, "a"]), ["/a.sql"])
            self.assertIn(f"datname ~ '{names}' AND datname <> current_database()", made._list)
            self.assertIn(f"rolname ~ '{names}'", made._of_tests)
            self.assertEqual("(FORCE)" in made._list, bool(arguments))
        for name, matches in (("regression", True), ("regress_a", True), ("regressive", False),
                              ("my_regress", False)):
            self.assertEqual(bool(re.search(scratch._NAME_OF_TESTS, name)), matches, name)

    def test_one_that_cannot_be_made_is_told(self):
        server = fakes.Server({'CREATE DATABASE "regression"': QueryFailed("it is used")})
        with self.assertRaisesRegex(CannotRun, "prepare the database regression: it is used"):
            scratch.Scratch(server, options.parse(["a"]), ["/a.sql"]).create()
        self.assertEqual([sql for sql in server.queries('"regression"') if "FORCE" in sql], [])


class Program(unittest.TestCase):
    """The program as a whole, without a server."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.programs = os.path.join(self.folder, "bin")
        for name in ("sql", "bin"):
            os.mkdir(os.path.join(self.folder, name))
        for name in ("a", "b", "c"):
            with open(os.path.join(self.folder, "sql", name + ".sql"), "w",
                      encoding="utf-8") as file:
                file.write("SELECT leak();\n")
        fakes.write_programs(self.programs, pg_config="echo /lib\n")
        for number in program._ENDING_SIGNALS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def arguments(self, *arguments):
        return [f"--inputdir={self.folder}", f"--outputdir={self.folder}",
                f"--bindir={self.programs}", *arguments]

    def main(self, *arguments):
        """Returns the exit status, and what is printed."""
        with tempfile.TemporaryFile("w+") as said, contextlib.redirect_stdout(said):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors):
                status = program.main(self.arguments(*arguments))
            # the descriptor may lead nowhere by now
            said.seek(0)
            return status, said.read(), errors.getvalue()

    def could_not_run(self, *arguments):
        with unittest.mock.patch.object(os, "dup2"):
            status, _, errors = self.main(*arguments)
        self.assertEqual(status, program.COULD_NOT_RUN)
        self.assertTrue(errors.startswith("pg_leakhunt_regress: "), errors)
        return errors

    def answer(self, **results):
        """Has a server that is none answer, and the runs of files show these results."""
        def run(runner, _index, test, path, _is_last):
            result = measuring.Result(test, path)
            for name, value in results.get(test, {}).items():
                setattr(result, name, value)
            suppressions.apply(runner._known, result.findings)
            return result

        def make(*arguments):
            self.made_with = arguments
            return server

        server = fakes.Server({"server_version_num": "15|on",
                               "shared_preload_libraries": "pg_leakhunt|/data"})
        for target, name, value in ((program, "Server", make), (measuring.Runner, "run", run)):
            patch = unittest.mock.patch.object(target, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        return server

    def leak(self):
        return growth.Finding(("7", "TopMemoryContext", "session"), [16] * 5, [1] * 5,
                              growth.Site("TopMemoryContext", "leak", None, ["leak"]))

    def test_a_test_that_is_missing_is_named(self):
        self.assertIn(f"there is no {self.folder}/sql/no_such_test.sql",
                      self.could_not_run("a", "no_such_test"))

    def test_programs_that_are_missing_are_named(self):
        self.assertIn("could not run /no/such/pg_config",
                      self.could_not_run("--bindir=/no/such", "a"))

    def test_results_that_cannot_be_written_are_told_at_once(self):
        self.assertIn("could not write --junit=",
                      self.could_not_run(f"--junit={self.folder}/none/junit.xml", "a"))

    def test_the_exit_status_says_what_was_found(self):
        self.answer()
        self.assertEqual(self.main("a", "b")[0], 0)
        self.answer(a={"findings": [self.leak()]})
        self.assertEqual(self.main("a", "b")[0], 1)
        self.answer(a={"findings": [self.leak()]}, b={"failure": "it ended"})
        self.assertEqual(self.main("a", "b")[0], 2)
        self.answer(a={"skipped": "no"}, b={"notes": ["an output differs"]})
        self.assertEqual(self.main("a", "b")[0], 0)

    def test_what_is_printed_is_TAP(self):
        self.answer(a={"findings": [self.leak()]}, b={"skipped": "it connects anew"})
        self.assertEqual(self.main("a", "b", "c")[1],
                         "not ok 1 - a\n# 16 bytes in 1 chunk per run, the same each time: leak\n"
                         "#   in TopMemoryContext\n#   stack: leak\n"
                         "ok 2 - b # SKIP it connects anew\nok 3 - c\n1..3\n"
                         "# 1 call site leaks in 1 file of 3.\n")

    def test_what_is_suppressed_does_not_count(self):
        path = os.path.join(self.folder, "known")
        with open(path, "w", encoding="utf-8") as file:
            file.write("# once per call, issue 17\nleak:leak & context:TopMemoryContext\n")
        self.answer(a={"findings": [self.leak()]})
        status, said, _ = self.main(f"--suppressions={path}", "a")
        self.assertEqual(status, 0)
        self.assertIn("# 1 call site suppressed.\n", said)
        status, said, _ = self.main(f"--suppressions={path}", "--list-suppressions")
        self.assertTrue(said.startswith("leak & context:TopMemoryContext\n"
                                        "    once per call, issue 17\n"), said)

    def test_junit_has_the_counts_and_the_findings(self):
        path = os.path.join(self.folder, "junit.xml")
        self.answer(a={"findings": [self.leak()]}, b={"skipped": "no"}, c={"failure": "it ended"})
        self.main(f"--junit={path}", "a", "b", "c")
        with open(path, encoding="utf-8") as file:
            written = file.read()
        self.assertIn('tests="3" failures="1" errors="1" skipped="1" ', written)
        self.assertRegex(written, 'name="a" time="[0-9.]+"><failure message="16 bytes in 1 chunk '
                                  'per run, the same each time: leak">')
        self.assertRegex(written, 'name="c" time="[0-9.]+"><error message="it ended">')

    def test_a_host_and_a_port_that_are_given_count_more_than_a_service(self):
        self.answer()
        service = {"PGSERVICE": "nowhere", "PGHOSTADDR": "::1"}
        with unittest.mock.patch.dict(os.environ, service):
            self.main("--host=/here", "--port=7", "a")
            _, variables, connection, _ = self.made_with
            self.assertEqual(connection, {"PGHOST": "/here", "PGPORT": "7"})
            self.assertFalse(set(service) & set(variables))
            self.main("a")
            _, variables, connection, _ = self.made_with
            self.assertEqual((connection, variables["PGSERVICE"]), ({}, "nowhere"))

    def test_a_role_that_is_no_superuser_is_told(self):
        self.answer().answers["server_version_num"] = "15|off"
        self.assertIn("connect as a superuser", self.could_not_run("a"))

    def test_a_terminal_that_goes_away_ends_it_and_its_server(self):
        log, directory = os.path.join(self.folder, "log"), os.path.join(self.folder, "instance")
        fakes.write_programs(self.programs, initdb='mkdir "$2"; : > "$2/postgresql.conf"\n',
                             pg_ctl=f'echo "$@" >> {log}\n',
                             psql=f"echo psql >> {log}; exec sleep 60\n")
        user = pwd.getpwnam("nobody").pw_uid        # root would be refused
        code = (f"import os, signal, sys; os.geteuid = lambda: {user}\n"
                "for name in signal.SIGHUP, signal.SIGINT: signal.signal(name, signal.SIG_DFL)\n"
                "sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv.pop(1))\n"
                "from pg_leakhunt_regression.program import main; sys.exit(main())")
        running = subprocess.Popen(
            [sys.executable, "-c", code, sys.path[0],
             *self.arguments(f"--temp-instance={directory}", "a")],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)

        def logged():
            if not os.path.exists(log):
                return ""
            with open(log, encoding="utf-8") as file:
                return file.read()

        until = time.monotonic() + 60
        while "psql" not in logged() and time.monotonic() < until:
            time.sleep(0.05)
        running.send_signal(signal.SIGHUP)
        running.send_signal(signal.SIGINT)
        said = running.communicate()[0]
        self.assertEqual((running.returncode, said),
                         (2, "pg_leakhunt_regress: interrupted by SIGHUP\n"))
        self.assertIn("-m fast -w -t 30 stop", logged().splitlines()[-1])
        self.assertFalse(os.path.exists(directory))


unittest.main()

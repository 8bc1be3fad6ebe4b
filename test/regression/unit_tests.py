#!/usr/bin/python3
"""Unit tests of pg_leakhunt_regress: all that needs no PostgreSQL server.

    unit_tests.py FOLDER        the folder of the modules' folder
"""

import contextlib
import io
import os
import shutil
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.abspath(sys.argv.pop(1)))

from pg_leakhunt_regression import growth, instance, measuring, options, output  # noqa: E402
from pg_leakhunt_regression import psql, statements, suppressions  # noqa: E402
from pg_leakhunt_regression.errors import CannotRun, QueryFailed, SessionEnded  # noqa: E402


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
        for arguments in ([], ["--runs=4", "a"], ["--no-such-option", "a"],
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
                         ["1 call site of what PostgreSQL itself keeps left out; "
                          "--all lists them."])
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


unittest.main()

#!/usr/bin/python3
"""Unit tests of pg_leakhunt_export: all that needs no PostgreSQL server.

    unit_tests.py FOLDER        the folder of the modules' folder
"""

import base64
import contextlib
import email
import email.policy
import gc
import io
import json
import logging
import math
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import urllib.parse

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.abspath(sys.argv.pop(1)), here]

import peer
from pg_leakhunt_exporter import command_line, connections, exposition, http_head, service
from pg_leakhunt_exporter.back_off import BackOff
from pg_leakhunt_exporter.destinations import Directory, Profile, destination, kind_of
from pg_leakhunt_exporter.posting import HandOverError
from pg_leakhunt_exporter.push import push_every
from pg_leakhunt_exporter.server import Busy, ServerError

# What is logged is tested where it matters, and otherwise not shown.
logging.getLogger("pg_leakhunt_exporter").addHandler(logging.NullHandler())

# Whatever takes longer does not come to an end: that is a fault, whatever else is at work.
PATIENCE_SECONDS = 180

PROFILE = Profile(b"PROFILE", None, 1700000000123456789, 1700000015123456789)


def settings(**given):
    return types.SimpleNamespace(**{
        "app": "app", "tags": {"instance": "host1"}, "keep": 3, "http_timeout": 60.0, "token": None,
        "user": None, "password": None, "tenant": None, "ca_file": None, **given})


class Request:
    """A request as it was recorded, taken apart."""

    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        line, _, headers = head.decode().partition("\r\n")
        self.method, target, _ = line.split(" ")
        url = urllib.parse.urlsplit(target)
        self.path, self.query = url.path, urllib.parse.parse_qs(url.query, keep_blank_values=True)
        self.headers = {name.lower(): value for name, value in
                        (header.split(": ", 1) for header in headers.split("\r\n"))}

    def parts(self):
        """Names and contents of the files of a form."""
        message = email.message_from_bytes(
            b"Content-Type: " + self.headers["content-type"].encode() + b"\r\n\r\n" + self.body,
            policy=email.policy.HTTP)
        return [(part["Content-Disposition"], part.get_content_type(), part.get_payload(decode=True))
                for part in message.iter_parts()]


def recorded(name):
    with open(os.path.join(here, "exchanges", name + ".http"), "rb") as file:
        return Request(file.read())


class Pushes(unittest.TestCase):
    """What is sent where, and what is said of peers that do not take it."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.record = os.path.join(directory.name, "request")

    def push(self, kind, path, behaviour="200", profile=PROFILE, **given):
        url = f"http://127.0.0.1:{peer.start(self.record, behaviour)}{path}"
        destination(kind, url, settings(**given)).take(profile)
        with open(self.record + ".1", "rb") as file:
            return Request(file.read())

    def refusal(self, behaviour, **given):
        with self.assertRaises(HandOverError) as raised:
            self.push("ingest", "/ingest", behaviour, **given)
        return raised.exception

    def test_ingest_sends_what_pyroscope_go_sends(self):
        theirs = recorded("pyroscope-go")
        ours = self.push("ingest", "/ingest", tenant="team", user="u", password="p")
        for same in ("method", "path"):
            self.assertEqual(getattr(ours, same), getattr(theirs, same))
        for same in ("authorization", "x-scope-orgid"):
            self.assertEqual(ours.headers[same], theirs.headers[same])
        for same in ("name", "from", "until"):
            self.assertEqual(ours.query[same], theirs.query[same], same)
        self.assertLessEqual(set(ours.query), set(theirs.query))
        self.assertEqual(ours.query["spyName"], ["pg_leakhunt"])
        self.assertEqual(len(ours.parts()), len(theirs.parts()))
        for (ours_is, ours_type, ours_has), (theirs_is, theirs_type, theirs_has) in \
                zip(ours.parts(), theirs.parts()):
            self.assertEqual((ours_is, ours_type), (theirs_is, theirs_type))
            if "sample_type_config" in ours_is:
                self.assertEqual(json.loads(ours_has), json.loads(theirs_has))
            else:
                self.assertEqual(ours_has, theirs_has)

    def test_ingest_names_one_of_several_servers(self):
        request = self.push("ingest", "/ingest", profile=PROFILE._replace(server="localhost:5433"))
        self.assertEqual(request.query["name"], ["app{server=localhost:5433,instance=host1}"])

    def test_ingest_keeps_the_query_of_the_url(self):
        self.assertEqual(self.push("ingest", "/ingest?a=b").query["a"], ["b"])

    def test_push_sends_json(self):
        request = self.push("push", "/push.v1.PusherService/Push", token="secret")
        self.assertEqual(request.path, "/push.v1.PusherService/Push")
        self.assertEqual(request.headers["content-type"], "application/json")
        self.assertEqual(request.headers["authorization"], "Bearer secret")
        (series,) = json.loads(request.body)["series"]
        self.assertEqual({label["name"]: label["value"] for label in series["labels"]}, {
            "__name__": "memory", "__delta__": "false", "service_name": "app", "instance": "host1"})
        (sample,) = series["samples"]
        self.assertEqual(base64.b64decode(sample["rawProfile"]), b"PROFILE")
        self.assertRegex(sample["ID"], r"^[0-9a-f-]{36}$")

    def test_collector_gets_the_profile_as_it_is(self):
        request = self.push("otel", "/v1/pprof", "204")
        self.assertEqual((request.method, request.path, request.body), ("POST", "/v1/pprof", b"PROFILE"))

    def test_statuses_are_told_with_what_the_peer_said(self):
        for status in ("400", "401", "413", "429", "500", "503"):
            with self.subTest(status):
                error = self.refusal(status)
                self.assertRegex(str(error), rf"^http://127\.0\.0\.1:\d+/ingest: answered {status} .*: said the peer")
                self.assertNotIn("and more", str(error))
        self.assertIn("--token-file", str(self.refusal("401")))
        self.assertIn("too large", str(self.refusal("413")))

    def test_peers_say_when_to_come_again(self):
        self.assertEqual(self.refusal("429:7").retry_after, 7)
        self.assertEqual(self.refusal("503:later").retry_after, 0)

    def test_redirections_are_not_followed(self):
        self.assertIn("it is at http://elsewhere.example/ingest: give that URL", str(self.refusal("elsewhere")))

    def test_slow_peers_have_a_limit(self):
        # the one is silent for longer than that, and the other drips for longer
        signal.alarm(PATIENCE_SECONDS)
        for behaviour in ("silent", "drip"):
            with self.subTest(behaviour):
                self.assertIn("no answer within 0.5 s", str(self.refusal(behaviour, http_timeout=0.5)))
        signal.alarm(0)

    def test_answers_that_end_too_early_are_none(self):
        self.assertIn("closed in the middle of its answer", str(self.refusal("cut")))
        self.assertRegex(str(self.refusal("shut")), "closed connection")

    def test_certificates_are_checked(self):
        files = [f"{self.record}.{part}" for part in ("crt", "key")]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=peer",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]],
                       check=True, capture_output=True)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*files)
        url = f"https://127.0.0.1:{peer.start(self.record, '200', context=context)}/v1/pprof"
        with self.assertRaisesRegex(HandOverError, "certificate verify failed"):
            destination("otel", url, settings()).take(PROFILE)
        destination("otel", url, settings(ca_file=files[0])).take(PROFILE)

    def test_a_peer_that_is_down_is_an_error(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            url = f"http://127.0.0.1:{free.getsockname()[1]}/ingest"
        with self.assertRaisesRegex(HandOverError, "Connection refused"):
            destination("ingest", url, settings()).take(PROFILE)


class Files(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = directory.name

    def test_old_files_go_and_others_stay(self):
        open(os.path.join(self.path, "pg_leakhunt.notes"), "wb").close()
        for second in range(5):
            for server in (None, "a", "a.1"):
                Directory(self.path, 2).take(PROFILE._replace(
                    content=b"%d" % second, server=server, ended_ns=PROFILE.ended_ns + second * 10**9))
        self.assertEqual(sorted(os.listdir(self.path)), sorted(
            ["pg_leakhunt.notes"] + [f"pg_leakhunt.{server}20231114T2213{second}.123456Z.pb.gz"
                                     for server in ("", "a.", "a.1.") for second in (38, 39)]))
        with open(os.path.join(self.path, "pg_leakhunt.20231114T221339.123456Z.pb.gz"), "rb") as file:
            self.assertEqual(file.read(), b"4")

    def test_what_cannot_be_written_leaves_nothing(self):
        directory = Directory(os.path.join(self.path, "none"), 2)
        with self.assertRaisesRegex(HandOverError, "none: No such file or directory"):
            directory.take(PROFILE)
        os.mkdir(os.path.join(self.path, "pg_leakhunt.20231114T221335.123456Z.pb.gz"))
        with self.assertRaisesRegex(HandOverError, "Is a directory"):
            Directory(self.path, 2).take(PROFILE)
        self.assertEqual(len(os.listdir(self.path)), 1)

    def test_names_of_servers_do_not_leave_the_directory(self):
        Directory(self.path, 2).take(PROFILE._replace(server="/run/postgresql:5432"))
        self.assertEqual(len(os.listdir(self.path)), 1)


class Kinds(unittest.TestCase):
    def test_kinds_follow_from_urls(self):
        for url, kind in {
                "http://h:4040/ingest": "ingest", "https://h/a/ingest/": "ingest",
                "http://h/push.v1.PusherService/Push": "push", "http://h:4318/v1/pprof": "otel",
                "file:///var/lib/x": "files", "/var/lib/x": "files", "x": "files",
                "http://h": None, "http://h/other": None}.items():
            self.assertEqual(kind_of(url), kind, url)


class Arguments(unittest.TestCase):
    """Each wrong argument has a clear error."""

    def error(self, *arguments):
        before, sys.argv = sys.argv, ["pg_leakhunt_export", *arguments]
        text = io.StringIO()
        try:
            with contextlib.redirect_stderr(text), self.assertRaises(SystemExit) as raised:
                command_line.main()
        finally:
            sys.argv = before
        self.assertEqual(raised.exception.code, 2)
        return text.getvalue()

    def test_wrong_arguments_are_refused(self):
        ingest = "http://h/ingest"
        for arguments, message in (
                ((), "required: push | serve"),
                (("pull",), "invalid choice: 'pull'"),
                (("push",), "required: URL"),
                (("push", "http://h/x"), 'the path "/x" does not tell what is there'),
                (("push", "http:///ingest"), "names no host"),
                (("push", "ftp://h/ingest"), '"ftp:" is not http:, https: or file:'),
                (("push", "http://u:p@h/ingest"), "everybody on this machine can read"),
                (("push", "--as", "files", ingest), "is not a directory"),
                (("push", "--as", "push", "/tmp"), "is not an http: or https: URL"),
                (("push", "--as", "mail", ingest), "invalid choice: 'mail'"),
                (("push", "--every", "0", ingest), '"0" is not a number of seconds'),
                (("push", "--every", "nan", ingest), '"nan" is not a number of seconds'),
                (("push", "--http-timeout", "-1", ingest), "--http-timeout"),
                (("push", "--keep", "0", "/tmp"), '"0" is not a positive number'),
                (("push", "--tag", "a", ingest), '"a" is not NAME=VALUE'),
                (("push", "--tag", "a=b,c=d", ingest), "is not NAME=VALUE"),
                (("push", "--app", "a{}", ingest), "is not a name of letters"),
                (("push", "--labels", "a b", ingest), "is not a list of names"),
                (("push", "--types", "A", ingest), "is not a list of names"),
                (("push", "--dsn", "port", ingest), "--dsn: "),
                (("push", "--dsn", "password=x", ingest), "everybody on this machine can read"),
                (("push", "--name", "x", ingest), "--name must follow the --dsn"),
                (("push", "--dsn", "", "--name", "a,b", ingest), '"a,b" is no name for a server'),
                (("push", "--dsn", "port=1", "--dsn", "port=1", ingest), "use --name after each --dsn"),
                (("push", "--user", "u", ingest), "belong together"),
                (("push", "--token-file", "/nowhere", ingest), "No such file"),
                (("push", "--token-file", "/dev/null", ingest), "must have one line"),
                (("push", "--ca-file", "/nowhere", ingest), "--ca-file"),
                (("push", "--tok", "/dev/null", ingest), "unrecognized arguments"),
                (("serve",), r"required: [HOST:]PORT"),
                (("serve", "host"), '"host" is not PORT or HOST:PORT'),
                (("serve", "--host", "db1:9717", "1"), '"db1:9717" is not a name of a host without a port'),
                (("serve", "1:65536"), "is not PORT or HOST:PORT"),
                (("serve", "192.0.2.1:1"), "192.0.2.1 port 1: Cannot assign requested address")):
            with self.subTest(" ".join(arguments)):
                self.assertIn(message, self.error(*arguments))

    def test_addresses_are_host_and_port(self):
        for text, address in {"9717": ("127.0.0.1", 9717), "0.0.0.0:80": ("0.0.0.0", 80),
                              "[::1]:80": ("::1", 80)}.items():
            self.assertEqual(command_line.address(text), address)

    def test_servers_are_named_by_their_dsn(self):
        for given, name in (({}, "localhost:5432"), ({"port": "5433", "host": "db"}, "db:5433"),
                            ({"service": "shop", "port": "1"}, "shop")):
            self.assertEqual(command_line.server_name(given), name)


class Exposition(unittest.TestCase):
    def test_rows_become_text(self):
        rows = [("rss_bytes", "client backend", None, None, None, None, None, 1.5e9),
                ("dropped_total", None, None, None, None, None, None, 3.0),
                ("rss_bytes", "a \"b\"\\\n", "leak", "ctx", "f (a.c:1)", None, None, 0.1),
                ("rss_bytes", "none", None, None, None, None, None, None),
                ("odd-name", None, None, None, None, None, None, math.inf)]
        self.assertEqual(exposition.expose([({}, True, rows)]), """\
# HELP pg_leakhunt_up 1, or 0 if pg_leakhunt cannot be asked or is not loaded: the log of pg_leakhunt_export says why.
# TYPE pg_leakhunt_up gauge
pg_leakhunt_up 1
# HELP pg_leakhunt_rss_bytes Figure "rss_bytes" of the view pg_leakhunt_metrics.
# TYPE pg_leakhunt_rss_bytes gauge
pg_leakhunt_rss_bytes{backend_type="client backend"} 1500000000
pg_leakhunt_rss_bytes{backend_type="a \\"b\\"\\\\\\n",verdict="leak",context_name="ctx",site="f (a.c:1)"} 0.1
# HELP pg_leakhunt_dropped_total Figure "dropped_total" of the view pg_leakhunt_metrics.
# TYPE pg_leakhunt_dropped_total counter
pg_leakhunt_dropped_total 3
# HELP pg_leakhunt_odd_name Figure "odd-name" of the view pg_leakhunt_metrics.
# TYPE pg_leakhunt_odd_name gauge
pg_leakhunt_odd_name +Inf
""".replace('Figure "odd-name"', 'Figure "odd_name"'))

    def test_samples_of_several_servers_stand_together(self):
        row = [("x", None, None, None, None, None, None, 1.0)]
        text = exposition.expose(
            [({"server": "a"}, True, row), ({"server": "b"}, False, []), ({"server": "c"}, False, row)])
        self.assertEqual([line for line in text.split("\n") if line and line[0] != "#"], [
            'pg_leakhunt_up{server="a"} 1', 'pg_leakhunt_up{server="b"} 0', 'pg_leakhunt_up{server="c"} 0',
            'pg_leakhunt_x{server="a"} 1', 'pg_leakhunt_x{server="c"} 1'])

    def test_numbers_are_as_prometheus_reads_them(self):
        for value, text in ((0.0, "0"), (-1.5, "-1.5"), (1e300, "1e+300"), (math.nan, "NaN"),
                            (-math.inf, "-Inf")):
            self.assertEqual(exposition.number(value), text)


class Waits(unittest.TestCase):
    """The clock stands still unless it is told to go on."""

    def test_back_off_doubles_up_to_its_limit(self):
        now = [100.0]
        back_off = BackOff(1, 60, lambda: now[0])
        self.assertEqual(back_off.seconds_left(), 0)
        delays = []
        for _ in range(8):
            back_off.failed()
            delays.append(back_off.seconds_left())
        self.assertEqual(delays, [1, 2, 4, 8, 16, 32, 60, 60])
        now[0] += 59
        self.assertEqual(back_off.seconds_left(), 1)
        back_off.succeeded()
        back_off.failed(at_least=7)
        self.assertEqual(back_off.seconds_left(), 7)
        back_off.failed(at_least=86400)
        self.assertEqual(back_off.seconds_left(), 60)

    def test_push_comes_less_often_while_it_fails(self):
        now, sleeps = [0.0], []
        outcomes = iter([None, HandOverError("x"), HandOverError("x", 100), ServerError("x"), None, None])

        class Server:
            name = "s"

            def profile(self):
                return b""

        class Place:
            def take(self, _):
                now[0] += 1
                error = next(outcomes, KeyboardInterrupt())
                if error:
                    raise error

        def sleep(seconds):
            sleeps.append(seconds)
            now[0] += seconds

        with self.assertLogs("pg_leakhunt_exporter.push"), self.assertRaises(KeyboardInterrupt):
            push_every(10, [Server()], Place(), sleep, lambda: now[0])
        self.assertEqual(sleeps, [9, 10, 100, 40, 9, 9])


class Scrapes(unittest.TestCase):
    """The service, with servers that are none."""

    class Server:
        def __init__(self, name, answer):
            self.name, self._answer = name, answer

        def profile(self):
            return self._answer()

        def metrics(self):
            self._answer()
            return True, [("x", None, None, None, None, None, None, 1.0)]

    def start(self, *servers, http_timeout=60.0, hosts=()):
        served = service.Service(("127.0.0.1", 0), servers, settings(
            http_timeout=http_timeout, hosts=hosts))
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        self.addCleanup(lambda: (served.shutdown(), thread.join(), served.server_close()))
        return served

    def wait_for(self, condition):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def exchange(self, served, request):
        with socket.create_connection(served.server_address[:2], PATIENCE_SECONDS) as connection:
            connection.sendall(request)
            return self.take(connection)

    def take(self, connection):
        """Head and body of an answer, behind which the connection may stay."""
        with connection.makefile("rb") as file:
            lines = list(iter(file.readline, b"\r\n"))
            head = b"".join(lines).decode()
            return head, file.read(int(head.lower().partition("content-length:")[2].split("\r\n")[0]))

    def get(self, served, path):
        return self.exchange(served, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def replay(self, served, name):
        with open(os.path.join(here, "exchanges", name + ".http"), "rb") as file:
            return self.exchange(served, file.read())

    def test_parca_gets_a_profile(self):
        head, body = self.replay(self.start(self.Server("a", lambda: b"PROFILE")), "parca")
        self.assertRegex(head, r"^HTTP/1\.\d 200 OK\r\n")
        self.assertIn("Content-Length: 7\r\n", head)
        self.assertNotIn("Content-Encoding", head)
        self.assertEqual(body, b"PROFILE")

    def test_prometheus_gets_its_text(self):
        head, body = self.replay(self.start(self.Server("a", lambda: b"")), "prometheus")
        self.assertRegex(head, r"^HTTP/1\.\d 200 OK\r\n")
        self.assertIn("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n", head)
        self.assertTrue(body.endswith(b"\npg_leakhunt_x 1\n"))

    def test_one_of_several_servers_can_be_asked(self):
        served = self.start(self.Server("a", lambda: b"A"), self.Server("b:1", lambda: b"B"))
        self.assertEqual(self.get(served, "/debug/pprof/allocs?server=b:1")[1], b"B")
        for path in ("/debug/pprof/allocs", "/debug/pprof/allocs?server=c"):
            head, body = self.get(served, path)
            self.assertIn(" 404 ", head)
            self.assertIn(b"/debug/pprof/allocs?server=b%3A1", body)
        self.assertIn(b"/debug/pprof/allocs?server=b%3A1", self.get(served, "/")[1])
        self.assertIn(b'pg_leakhunt_x{server="b:1"} 1', self.get(served, "/metrics")[1])

    def test_servers_that_do_not_answer_are_told(self):
        def fail(error):
            raise error
        served = self.start(self.Server("a", lambda: fail(ServerError("it is down", 7.2))))
        head, body = self.get(served, "/debug/pprof/allocs")
        self.assertIn(" 503 ", head)
        self.assertIn("\r\nRetry-After: 8", head)
        self.assertEqual(body, b"it is down\n")
        self.assertIn(b"\npg_leakhunt_up 0\n", self.get(served, "/metrics")[1])
        busy = self.start(self.Server("a", lambda: fail(Busy("busy"))))
        for path in ("/metrics", "/debug/pprof/allocs"):
            self.assertIn(" 503 ", self.get(busy, path)[0])

    def test_wrong_requests_are_refused(self):
        served = self.start(self.Server("a", lambda: b"A"))
        self.assertIn(" 404 ", self.get(served, "/other")[0])
        self.assertIn(" 501 ", self.exchange(served, b"POST / HTTP/1.1\r\n\r\n")[0])
        self.assertIn("400", self.exchange(served, b"rubbish\r\n\r\n")[0])
        self.assertIn(" 414 ", self.exchange(served, b"GET /" + 70000 * b"x" + b" HTTP/1.1\r\n\r\n")[0])

    def hold(self, stack, served, count, request=b""):
        """Open connections, which send that and no more."""
        held = []
        for _ in range(count):
            held.append(stack.enter_context(socket.create_connection(served.server_address[:2], PATIENCE_SECONDS)))
            held[-1].sendall(request)
        return held

    @staticmethod
    def connections_in_memory():
        gc.collect()
        return sum(isinstance(thing, connections.Connection) for thing in gc.get_objects())

    def test_connections_are_bounded_in_number(self):
        served = self.start(self.Server("a", lambda: b"A"))
        before = self.connections_in_memory()
        limit = served.connections._limit
        with contextlib.ExitStack() as stack, self.assertLogs("pg_leakhunt_exporter.connections", "WARNING"):
            held = self.hold(stack, served, limit + 20, b"GET / HT")
            self.assertIn(" 200 ", self.get(served, "/")[0])
            self.assertLessEqual(len(served.connections), limit + 1)
            # The oldest ones went, with a reason, and the others stay.
            for connection in held[:20]:
                self.assertIn(" 408 ", self.take(connection)[0])
            held[-1].sendall(b"TP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertIn(" 200 ", self.take(held[-1])[0])
        self.wait_for(lambda: not len(served.connections))
        # Nothing is kept of those that went.
        self.wait_for(lambda: self.connections_in_memory() <= before)

    def test_a_kept_connection_is_worth_more_than_one_that_never_asked(self):
        served = self.start(self.Server("a", lambda: b"A"))
        with contextlib.ExitStack() as stack:
            (kept,) = self.hold(stack, served, 1)
            for _ in range(3):
                kept.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertIn("\r\nConnection: keep-alive\r\n", self.take(kept)[0])
                self.hold(stack, served, served.connections._limit + 5, b"x")

    def test_connections_are_kept_unless_the_peer_wants_it_otherwise(self):
        served = self.start(self.Server("a", lambda: b"A"))
        for version, header in (("1.0", ""), ("1.1", "Connection: close\r\n"), ("1.1", "Content-Length: 1\r\n")):
            with socket.create_connection(served.server_address[:2], PATIENCE_SECONDS) as connection:
                connection.sendall(f"GET / HTTP/{version}\r\nHost: localhost\r\n{header}\r\n".encode())
                self.assertIn("\r\nConnection: close\r\n", self.take(connection)[0])
                self.assertEqual(connection.recv(1), b"")
        with socket.create_connection(served.server_address[:2], PATIENCE_SECONDS) as connection:
            connection.sendall(2 * b"GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertIn(" 404 ", self.take(connection)[0])

    def test_connections_are_bounded_in_time(self):
        silent = self.start(self.Server("a", lambda: b"A"), http_timeout=0.2)
        with socket.create_connection(silent.server_address[:2], PATIENCE_SECONDS) as connection:
            self.assertIn(" 408 ", self.take(connection)[0])
        slow = self.start(self.Server("a", lambda: b"A"), http_timeout=0.5)
        with socket.create_connection(slow.server_address[:2], PATIENCE_SECONDS) as connection:
            with self.assertRaises(OSError):
                for _ in range(10 * PATIENCE_SECONDS):
                    connection.sendall(b"x")
                    time.sleep(0.1)

    def test_a_peer_that_takes_nothing_holds_up_nobody(self):
        large = os.urandom(1 << 24)
        served = self.start(self.Server("a", lambda: large))
        with contextlib.ExitStack() as stack:
            self.hold(stack, served, 1, b"GET /debug/pprof/allocs HTTP/1.0\r\n\r\n")
            self.wait_for(lambda: any(connection.state == connections.State.TAKING
                                      for connection in served.connections._open))
            self.assertEqual(self.get(served, "/debug/pprof/allocs")[1], large)
            self.wait_for(lambda: len(served.connections) == 1)

    def test_a_peer_that_takes_nothing_has_a_limit(self):
        large = os.urandom(1 << 24)
        served = self.start(self.Server("a", lambda: large), http_timeout=0.5)
        with contextlib.ExitStack() as stack, \
                self.assertLogs("pg_leakhunt_exporter.connections", "WARNING") as told:
            self.hold(stack, served, 1, b"GET /debug/pprof/allocs HTTP/1.0\r\n\r\n")
            self.wait_for(lambda: told.output)
            self.wait_for(lambda: not len(served.connections))

    def test_peers_that_take_nothing_do_not_use_up_the_answers(self):
        large = os.urandom(1 << 23)
        served = self.start(self.Server("a", lambda: large))
        with contextlib.ExitStack() as stack:
            self.hold(stack, served, connections.MAX_ANSWERS, b"GET /debug/pprof/allocs HTTP/1.0\r\n\r\n")
            self.wait_for(lambda: sum(connection.state == connections.State.TAKING
                                      for connection in served.connections._open) == connections.MAX_ANSWERS)
            self.assertIn(" 200 ", self.get(served, "/metrics")[0])

    def test_names_of_others_are_not_served(self):
        names = http_head.served_names("127.0.0.1", ["db1.example.com"])
        for host in ("localhost", "localhost:9717", "a.localhost", "LOCALHOST.", "127.0.0.1:1", "192.0.2.7",
                     "[::1]:9717", "[fe80::1]", "db1.example.com:9717", "DB1.example.com.", socket.gethostname()):
            self.assertTrue(http_head.is_served(host, names), host)
        for host in ("", ":9717", "evil.example.com", "evil.example.com:9717", "localhost.evil.com", "xlocalhost",
                     "127.0.0.1.evil.com", "a@localhost", "localhost evil", "[evil]", "db1", "localhost:80:80",
                     "127.0.0.1:9717, localhost", "xn--a"):
            self.assertFalse(http_head.is_served(host, names), host)
        served = self.start(self.Server("a", lambda: b"A"), hosts=["db1.example.com"])
        for request, status in ((b"GET /metrics HTTP/1.1\r\nHost: evil.example.com:9717\r\n\r\n", 421),
                                (b"GET http://evil.example.com/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 421),
                                (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
                                (b"GET /metrics HTTP/1.1\r\n\r\n", 400),
                                (b"GET /metrics HTTP/1.1\r\nHost: db1.example.com\r\n\r\n", 200),
                                (b"GET http://localhost/metrics HTTP/1.1\r\nHost: x\r\n\r\n", 200)):
            head, body = self.exchange(served, request)
            self.assertIn(f" {status} ", head, request)
            if status == 421:
                self.assertIn(b"nothing is served as 'evil.example.com", body)
                self.assertIn(b"--host=NAME", body)


if __name__ == "__main__":
    unittest.main()

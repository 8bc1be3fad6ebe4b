"""Answers scrapes by HTTP: profiles for Alloy and Parca, figures for Prometheus.

A connection has one request, and a thread while that lasts.  Both are bounded, in
number and in time, so that peers that are slow or say nothing cannot pile up.
"""

import concurrent.futures
import contextlib
import http.server
import logging
import math
import socket
import sys
import threading
import time
import urllib.parse

from . import exposition
from .server import BUSY_WAIT_SECONDS, GRACE_SECONDS, Busy, ServerError

log = logging.getLogger(__name__)

PROFILE_PATH = "/debug/pprof/allocs"
METRICS_PATH = "/metrics"

# Connections at a time; a scraper has one.
MAX_CONNECTIONS = 32

TURNED_AWAY = (b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\n"
               b"Content-Type: text/plain\r\nConnection: close\r\n\r\n"
               b"too many connections\n")


class NotFound(Exception):
    """There is no such page; the message says which there are."""


class Service(http.server.ThreadingHTTPServer):
    """The HTTP server, which knows the servers to ask."""

    # that may wait to be accepted, so that all get an answer
    request_queue_size = 128

    def __init__(self, address, servers, settings):
        """address: host and port; settings: the time limits."""
        self.servers = {server.name: server for server in servers}
        self.http_timeout = settings.http_timeout
        # A request asks each server at the same time, and may have to connect anew.
        self._longest_seconds = (
            2 * settings.http_timeout + BUSY_WAIT_SECONDS
            + 2 * (settings.connect_timeout + settings.query_timeout + GRACE_SECONDS))
        self._asking = concurrent.futures.ThreadPoolExecutor(
            max_workers=MAX_CONNECTIONS * len(servers))
        self._lock = threading.Lock()
        self._open = {}
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, Handler)

    def server_bind(self):
        """As the parent does, without its look-up of the host's name, which may take long."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address[:2]

    def process_request(self, request, client_address):
        with self._lock:
            is_full = len(self._open) >= MAX_CONNECTIONS
            if not is_full:
                self._open[request] = time.monotonic()
        if is_full:
            request.settimeout(0)
            with contextlib.suppress(OSError):
                request.send(TURNED_AWAY)
                # What is not read would make the kernel drop the answer.
                request.recv(65536)
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request):
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self):
        """Called every half second: ends connections that last too long, such as those
        of peers that send or take a byte now and then."""
        oldest = time.monotonic() - self._longest_seconds
        with self._lock:
            late = [request for request, since in self._open.items() if since < oldest]
            for request in late:
                with contextlib.suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request, client_address):
        log.warning("%s: %s", client_address[0], sys.exc_info()[1])

    def metrics(self):
        """The figures of all servers, which are asked at the same time."""
        return exposition.expose(self._asking.map(self._answer, self.servers.values()))

    def _answer(self, server):
        labels = {"server": server.name} if len(self.servers) > 1 else {}
        try:
            return labels, *server.metrics()
        except Busy:
            raise
        except ServerError:
            return labels, False, ()

    def profile(self, name):
        """The profile of one server, which needs no name if it is the only one."""
        if name is None and len(self.servers) == 1:
            name = next(iter(self.servers))
        if name not in self.servers:
            raise NotFound("say which server: " + ", ".join(
                f"{PROFILE_PATH}?server={urllib.parse.quote(server)}" for server in self.servers))
        return self.servers[name].profile()

    def overview(self):
        return "".join(f"{line}\n" for line in [
            "pg_leakhunt_export has:",
            f"{METRICS_PATH}  figures for Prometheus",
            *(f"{PROFILE_PATH}?server={urllib.parse.quote(name)}  pprof profile of {name}"
              for name in self.servers)])


class Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    server_version = "pg_leakhunt_export"
    sys_version = ""

    def setup(self):
        self.timeout = self.server.http_timeout
        super().setup()

    def do_GET(self):
        path, _, query = self.path.partition("?")
        try:
            content_type, body = self._page(path, urllib.parse.parse_qs(query))
        except NotFound as error:
            self._say(404, error)
        except ServerError as error:
            self._say(503, error, {"Retry-After": str(max(1, math.ceil(error.retry_after)))})
        else:
            self._send(200, content_type, body)

    def _page(self, path, asked):
        if path == METRICS_PATH:
            return exposition.CONTENT_TYPE, self.server.metrics().encode()
        if path == PROFILE_PATH:
            return "application/octet-stream", self.server.profile(asked.get("server", [None])[0])
        if path == "/":
            return "text/plain; charset=utf-8", self.server.overview().encode()
        raise NotFound(f"there are /, {METRICS_PATH} and {PROFILE_PATH}")

    def _say(self, status, message, headers=None):
        self._send(status, "text/plain; charset=utf-8", f"{message}\n".encode(), headers)

    def _send(self, status, content_type, body, headers=None):
        self.send_response(status)
        for name, value in {"Content-Type": content_type, "Content-Length": str(len(body)),
                            "X-Content-Type-Options": "nosniff", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *arguments):
        """A request is no news."""

    def log_error(self, format, *arguments):
        log.warning("%s: " + format, self.client_address[0], *arguments)


def serve(address, servers, settings):
    """Answers until the process is told to end."""
    with Service(address, servers, settings) as service:
        host, port = service.server_address[:2]
        log.info("listening on %s port %d", host, port)
        service.serve_forever()

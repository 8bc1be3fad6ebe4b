"""Answers scrapes by HTTP: profiles for Alloy and Parca, figures for Prometheus.

There is no authentication: everybody who can connect is answered.
"""

import concurrent.futures
import logging
import math
import socket
import urllib.parse

from . import exposition
from .connections import MAX_ANSWERS, Connections
from .http_head import Refusal, served_names
from .server import Busy, ServerError

log = logging.getLogger(__name__)

PROFILE_PATH = "/debug/pprof/allocs"
METRICS_PATH = "/metrics"

# Connections that may wait to be accepted.
BACKLOG = 512


class Service:
    """What is served, of which servers."""

    def __init__(self, address, servers, settings):
        """address: host and port; settings: the time limit, and more names for Host."""
        self.servers = {server.name: server for server in servers}
        self._asking = concurrent.futures.ThreadPoolExecutor(max_workers=MAX_ANSWERS * len(servers))
        self._listener = socket.create_server(
            address, family=socket.AF_INET6 if ":" in address[0] else socket.AF_INET, backlog=BACKLOG,
            dualstack_ipv6=address[0] == "::" and socket.has_dualstack_ipv6())
        self._listener.setblocking(False)
        self.server_address = self._listener.getsockname()
        self.connections = Connections(
            self._listener, self.answer, served_names(address[0], settings.hosts), len(servers),
            settings.http_timeout)

    def serve_forever(self):
        self.connections.run()

    def shutdown(self):
        self.connections.stop()

    def server_close(self):
        self._listener.close()

    def answer(self, head):
        """Status, headers and body of the page that is asked for, or a Refusal."""
        try:
            content_type, body = self._page(head.path, head.query)
        except ServerError as error:
            raise Refusal(503, str(error), {"Retry-After": str(max(1, math.ceil(error.retry_after)))}) from None
        return 200, {"Content-Type": content_type}, body

    def _page(self, path, asked):
        if path == METRICS_PATH:
            return exposition.CONTENT_TYPE, self.metrics().encode()
        if path == PROFILE_PATH:
            return "application/octet-stream", self.profile(asked.get("server", [None])[0])
        if path == "/":
            return "text/plain; charset=utf-8", self.overview().encode()
        raise Refusal(404, f"there are /, {METRICS_PATH} and {PROFILE_PATH}")

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
            raise Refusal(404, "say which server: " + ", ".join(
                f"{PROFILE_PATH}?server={urllib.parse.quote(server)}" for server in self.servers))
        return self.servers[name].profile()

    def overview(self):
        return "".join(f"{line}\n" for line in [
            "pg_leakhunt_export has:",
            f"{METRICS_PATH}  figures for Prometheus",
            *(f"{PROFILE_PATH}?server={urllib.parse.quote(name)}  pprof profile of {name}"
              for name in self.servers)])


def serve(address, servers, settings):
    """Answers until the process is told to end."""
    service = Service(address, servers, settings)
    host, port = service.server_address[:2]
    log.info("listening on %s port %d", host, port)
    service.serve_forever()

"""The head of a request by HTTP: what it asks for, and whether it may be answered."""

import http
import ipaddress
import re
import socket
import urllib.parse

# A head is a few hundred bytes long.
MAX_HEAD_BYTES = 16384

END_OF_HEAD = re.compile(rb"\r?\n\r?\n")


class Refusal(Exception):
    """Why there is no page: a status, and a sentence that says what to do."""

    def __init__(self, status, message, headers=None):
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class Head:
    """What a request asks for."""

    def __init__(self, data):
        """data: the bytes of the head, without the empty line at its end."""
        first, *lines = data.decode("latin-1").replace("\r\n", "\n").split("\n")
        line = re.fullmatch(r"([A-Z]+) (\S+) HTTP/1\.([01])", first)
        if not line:
            raise Refusal(400, "the first line is not that of a request by HTTP/1.0 or 1.1")
        self.method, target, minor = line.groups()
        self._is_old = minor == "0"
        self._headers = {}
        for name, colon, value in (header.partition(":") for header in lines):
            if not colon or not re.fullmatch(r"[!-9;-~]+", name):
                raise Refusal(400, "a line of the head is not NAME: VALUE")
            self._headers.setdefault(name.lower(), []).append(value.strip())
        self.hosts = self._headers.get("host", [])
        if target.startswith("http://"):
            # A proxy's form, whose host counts instead.
            parts = urllib.parse.urlsplit(target)
            self.hosts = [parts.netloc]
            target = f"{parts.path or '/'}?{parts.query}"
        self.path, _, query = target.partition("?")
        self.query = urllib.parse.parse_qs(query)

    def keeps_connection(self):
        """May another request follow?  Not behind a body, which nobody reads."""
        options = ",".join(self._headers.get("connection", [])).lower()
        return not (self._is_old or "close" in options
                    or "content-length" in self._headers or "transfer-encoding" in self._headers)

    def check(self, names):
        """Raises a Refusal unless a page may be sent.  names: hosts as who is asked.

        A page of the web may make its reader's browser ask us, by a name of its own that
        it lets point here, and read the answer.  Such a name is in Host; addresses and
        this machine's own names cannot be taken over in this way."""
        if self.method != "GET":
            raise Refusal(501, "only GET is answered")
        if len(self.hosts) > 1 or not (self.hosts or self._is_old):
            raise Refusal(400, "a request needs one header Host")
        if self.hosts and not is_served(self.hosts[0], names):
            raise Refusal(421, f"nothing is served as {self.hosts[0][:80]!a}: start pg_leakhunt_export serve "
                               "with --host=NAME for the name that it is asked by, or ask by its address")


def is_served(host, names):
    """Is this value of the header Host an address, or one of these names?"""
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*)(:\d*)?", host)
    if not match:
        return False
    name = match[1].strip("[]").rstrip(".").lower()
    try:
        ipaddress.ip_address(name)
        return True
    except ValueError:
        return name == "localhost" or name.endswith(".localhost") or name in names


def served_names(address, more):
    """The names that are answered: where we listen, this machine's, and those given."""
    own = socket.gethostname()
    return {name.rstrip(".").lower() for name in (address, own, own.partition(".")[0], *more) if name}


def answer_head(status, headers):
    """The head of an answer, as bytes."""
    lines = [f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}",
             *(f"{name}: {value}" for name, value in headers.items())]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1")

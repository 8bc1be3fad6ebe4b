"""Where profiles go, and in which form each place takes them.

A destination has one method, take(profile), which returns once the profile is there,
or raises HandOverError.
"""

import base64
import collections
import contextlib
import json
import os
import re
import time
import urllib.parse
import uuid

from .posting import HandOverError, Poster

# A profile as it was taken: compressed bytes; the label of its server, or None if it
# is the only one; when it was asked for, and when it was there, in nanoseconds.
Profile = collections.namedtuple("Profile", "content server began_ns ended_ns")

KINDS = ("ingest", "push", "otel", "files")

# What ends of paths tell of the kind of a place.
PATHS = {
    "/ingest": "ingest",
    "/push.v1.PusherService/Push": "push",
    "/v1/pprof": "otel",
}

# How Pyroscope is to add up figures that are levels, not events.
SAMPLE_TYPES = {
    "inuse_objects": {"units": "objects", "aggregation": "average"},
    "inuse_space": {"units": "bytes", "aggregation": "average"},
    "alloc_objects": {"units": "objects"},
    "alloc_space": {"units": "bytes"},
}


def kind_of(url):
    """The kind of place that a URL names; None if that cannot be told from it."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme in ("", "file"):
        return "files"
    return next((kind for path, kind in PATHS.items()
                 if parts.path.rstrip("/").endswith(path)), None)


def destination(kind, url, settings):
    """settings: app, tags and keep, and those of Poster."""
    if kind == "files":
        parts = urllib.parse.urlsplit(url)
        path = urllib.parse.unquote(parts.path) if parts.scheme == "file" else url
        return Directory(path, settings.keep)
    kinds = {"ingest": PyroscopeIngest, "push": PyroscopePush, "otel": Collector}
    return kinds[kind](url, settings, Poster(settings))


class Place:
    """A place that is reached by HTTP."""

    def __init__(self, url, settings, poster):
        self._url = url
        self._app = settings.app
        self._tags = settings.tags
        self._poster = poster

    def _labels(self, profile):
        """Whose profile it is; for where requests have room for that."""
        return {**({"server": profile.server} if profile.server else {}), **self._tags}


class PyroscopeIngest(Place):
    """Pyroscope's /ingest, as its clients for Go use it."""

    def take(self, profile):
        labels = ",".join(f"{name}={value}" for name, value in self._labels(profile).items())
        # No format=pprof here: with it the server would take the form for a profile.
        query = urllib.parse.urlencode({
            "name": f"{self._app}{{{labels}}}",
            "from": profile.began_ns,
            "until": profile.ended_ns,
            "spyName": "pg_leakhunt",
        })
        content_type, body = form(
            ("profile", "profile.pprof", profile.content),
            ("sample_type_config", "sample_type_config.json", json.dumps(SAMPLE_TYPES).encode()))
        separator = "&" if urllib.parse.urlsplit(self._url).query else "?"
        self._poster.post(self._url + separator + query, content_type, body)


def form(*files):
    """Files by name of field as multipart/form-data: its content type, and the body."""
    boundary = uuid.uuid4().hex
    parts = []
    for field, name, content in files:
        parts += [
            f"--{boundary}\r\n"
            f'Content-Disposition: form-data; name="{field}"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n".encode(),
            content, b"\r\n"]
    parts.append(f"--{boundary}--\r\n".encode())
    return f"multipart/form-data; boundary={boundary}", b"".join(parts)


class PyroscopePush(Place):
    """Pyroscope's push API in JSON, which Alloy takes, too."""

    def take(self, profile):
        labels = {
            "__name__": "memory",
            "__delta__": "false",
            "service_name": self._app,
            **self._labels(profile),
        }
        self._poster.post(self._url, "application/json", json.dumps({"series": [{
            "labels": [{"name": name, "value": value} for name, value in labels.items()],
            "samples": [{
                "ID": str(uuid.uuid4()),
                "rawProfile": base64.b64encode(profile.content).decode(),
            }],
        }]}).encode())


class Collector(Place):
    """The pprof receiver of an OpenTelemetry Collector, which takes nothing but the
    profile: whose it is has to be added there."""

    def take(self, profile):
        self._poster.post(self._url, "application/octet-stream", profile.content)


class Directory:
    """A directory of files.  A file is there whole or not at all, and a limited number
    of each server are kept."""

    def __init__(self, path, keep):
        self._path = path
        self._keep = keep

    def take(self, profile):
        prefix = "pg_leakhunt." + (re.sub(r"[^\w.-]", "_", profile.server) + "."
                                   if profile.server else "")
        moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime(profile.ended_ns // 10**9))
        name = f"{prefix}{moment}.{profile.ended_ns // 1000 % 10**6:06d}Z.pb.gz"
        try:
            self._write(name, profile.content)
            self._remove_old(prefix)
        except OSError as error:
            raise HandOverError(f"{self._path}: {error.strerror}") from None

    def _write(self, name, content):
        path = os.path.join(self._path, name)
        beginning = os.path.join(self._path, f".{name}.tmp")
        try:
            with open(beginning, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beginning, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beginning)
            raise

    def _remove_old(self, prefix):
        """Names of one server sort by time."""
        pattern = re.escape(prefix) + r"\d{8}T\d{6}\.\d{6}Z\.pb\.gz"
        names = [name for name in os.listdir(self._path) if re.fullmatch(pattern, name)]
        for name in sorted(names)[:-self._keep]:
            os.unlink(os.path.join(self._path, name))

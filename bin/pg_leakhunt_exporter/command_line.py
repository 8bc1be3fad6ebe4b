"""The arguments of pg_leakhunt_export, and what is wrong with them."""

import argparse
import logging
import os
import re
import signal
import socket
import sys
import urllib.parse

import psycopg2
import psycopg2.extensions

from . import VERSION, destinations
from .push import push_every, push_once
from .server import Server
from .service import serve

log = logging.getLogger(__name__)

DESCRIPTION = """\
Brings what pg_leakhunt knows of a server's memory to where a fleet is looked at.
"push" takes a profile and hands it over; "serve" answers scrapes.
"""

EPILOG = """\
Connections are made by libpq: PG* variables, service files and .pgpass count as for
psql.  The role needs pg_monitor.  Passwords and tokens are never arguments.
doc/fleet.md has what to set in each engine.
"""

URLS = """\
URL is one of
  https://HOST/ingest                         Pyroscope, Grafana Cloud Profiles, Alloy
  https://HOST/push.v1.PusherService/Push     the same, by the push API
  https://HOST/v1/pprof                       pprof receiver of an OpenTelemetry Collector
  file:///DIRECTORY, or DIRECTORY             a directory of files
The exit status is 0 if all profiles were taken, 1 if not, 2 after a wrong argument.
With --every the program runs on, and what fails is tried again, less often.

environment:
  PG_LEAKHUNT_TOKEN, PG_LEAKHUNT_PASSWORD     in place of the files with these
"""

EXPOSED = "everybody on this machine can read a password among arguments"


class ServerArgument(argparse.Action):
    """--dsn begins a server; --name names the one that was begun last."""

    def __call__(self, parser, namespace, value, option_string=None):
        servers = getattr(namespace, "servers", None) or []
        if option_string == "--dsn":
            servers = [*servers, {"dsn": value}]
        elif not servers or "name" in servers[-1]:
            parser.error("--name must follow the --dsn that it belongs to")
        else:
            servers[-1]["name"] = value
        namespace.servers = servers


def require(is_right, text, what):
    if not is_right:
        raise argparse.ArgumentTypeError(f'"{text}" is not {what}')


def seconds(text):
    require(re.fullmatch(r"\d+(\.\d+)?", text) and 0 < float(text) <= 86400,
            text, "a number of seconds, of a day at most")
    return float(text)


def count(text):
    require(re.fullmatch(r"\d{1,9}", text) and int(text) > 0, text, "a positive number")
    return int(text)


def names(text):
    """A list in one argument; an empty one is a list of nothing."""
    values = [value.strip() for value in text.split(",")] if text else []
    require(all(re.fullmatch(r"[a-z_]+", value) for value in values),
            text, "a list of names with commas between them")
    return values


def tag(text):
    """NAME=VALUE as a label, which Pyroscope's /ingest must be able to take apart."""
    require(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*=[^{},=]+", text) and text.isprintable(),
            text, "NAME=VALUE without { } , or another =")
    return text.split("=")


def application(text):
    require(re.fullmatch(r"[a-zA-Z0-9_./-]+", text), text, "a name of letters, digits and _ . / -")
    return text


def address(text):
    """[HOST:]PORT; without a host only this machine can connect."""
    host, _, port = text.rpartition(":")
    require(re.fullmatch(r"\d{1,5}", port) and int(port) < 65536, text, "PORT or HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def host_name(text):
    """A name as it stands in the header Host, without the port."""
    require(re.fullmatch(r"[a-zA-Z0-9_]([a-zA-Z0-9_.-]*[a-zA-Z0-9_.])?", text), text, "a name of a host without a port")
    return text


def options_of_servers():
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    group = parser.add_argument_group("servers")
    group.add_argument("--dsn", action=ServerArgument, metavar="CONNINFO", dest="servers", default=[],
                       help="connection string of a server, such as 'port=5433 dbname=shop' or "
                       "'service=shop'; may be repeated (default: what PG* variables say)")
    group.add_argument("--name", action=ServerArgument, dest="servers", metavar="NAME",
                       help="what to call the server of the --dsn before it, where there are several "
                       "(default: its service, or host:port)")
    group.add_argument("--connect-timeout", type=seconds, default=5.0, metavar="SECONDS",
                       help="for a connection to be made (default: 5)")
    group.add_argument("--query-timeout", type=seconds, default=30.0, metavar="SECONDS",
                       help="for a query; the first profile of a connection reads symbols (default: 30)")
    group = parser.add_argument_group("profiles")
    group.add_argument("--types", type=names, default=["inuse"], metavar="LIST",
                       help="sample types: inuse, alloc, peak (default: inuse)")
    group.add_argument("--labels", type=names, default=["memory_context", "backend_type"], metavar="LIST",
                       help="labels of samples, each of which multiplies the series in a store "
                       "(default: memory_context,backend_type; '' for none)")
    group.add_argument("--no-symbols", dest="symbolize", action="store_false",
                       help="send addresses and build ids only, for a store that looks up names itself")
    parser.add_argument("--http-timeout", type=seconds, default=10.0, metavar="SECONDS",
                        help="for a request or an answer by HTTP (default: 10)")
    return parser


def make_parser():
    parser = argparse.ArgumentParser(
        prog="pg_leakhunt_export", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"pg_leakhunt_export {VERSION}",
                        help="show the version, and exit")
    modes = parser.add_subparsers(dest="mode", required=True, metavar="push | serve")
    servers = options_of_servers()

    push = modes.add_parser(
        "push", parents=[servers], help="take profiles, and hand them over", allow_abbrev=False,
        description="Takes a profile of each server, and hands it over.", epilog=URLS,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    push.add_argument("url", metavar="URL", help="where to")
    push.add_argument("--every", type=seconds, metavar="SECONDS",
                      help="go on, with a profile so often (default: one, and end)")
    push.add_argument("--as", dest="kind", choices=destinations.KINDS,
                      help="what the URL is of, where its path does not tell")
    push.add_argument("--app", type=application, default="postgresql", metavar="NAME",
                      help="service name in Pyroscope (default: postgresql)")
    push.add_argument("--tag", type=tag, action="append", default=[], dest="tags", metavar="NAME=VALUE",
                      help="label in Pyroscope; may be repeated (default: instance=THIS HOST)")
    push.add_argument("--keep", type=count, default=60, metavar="N",
                      help="files of each server to keep in a directory (default: 60)")
    push.add_argument("--tenant", metavar="ID", help="send X-Scope-OrgID: ID")
    push.add_argument("--token-file", metavar="FILE", help="file with a bearer token")
    push.add_argument("--user", help="user for basic authentication")
    push.add_argument("--password-file", metavar="FILE", help="file with the password of --user")
    push.add_argument("--ca-file", metavar="FILE", help="certificates to trust instead of the system's")

    answer = modes.add_parser(
        "serve", parents=[servers], help="answer scrapes", allow_abbrev=False,
        description="Answers GET /debug/pprof/allocs (Alloy, Parca) and GET /metrics (Prometheus), "
        "until it is ended.  There is no authentication: who can connect is answered.")
    answer.add_argument("address", type=address, metavar="[HOST:]PORT",
                        help="where to listen; without a host, only this machine can connect")
    answer.add_argument("--host", type=host_name, action="append", default=[], dest="hosts", metavar="NAME",
                        help="name by which scrapers ask, as in the URL; may be repeated (always "
                        "answered: addresses, localhost, and the name of this machine)")
    return parser


def server_name(parameters):
    """What to call a server that was given no name."""
    service = parameters.get("service") or os.environ.get("PGSERVICE")
    if service:
        return service
    host = parameters.get("host") or parameters.get("hostaddr") or os.environ.get("PGHOST") or "localhost"
    port = parameters.get("port") or os.environ.get("PGPORT") or "5432"
    return f"{host}:{port}"


def make_servers(parser, settings):
    servers = []
    for given in settings.servers or [{"dsn": ""}]:
        try:
            parameters = psycopg2.extensions.parse_dsn(given["dsn"])
        except psycopg2.ProgrammingError as error:
            parser.error(f"--dsn: {str(error).strip()}")
        if {"password", "sslpassword"} & set(parameters):
            parser.error(f"--dsn: {EXPOSED}: put it into a .pgpass or service file")
        name = given.get("name") or server_name(parameters)
        if not name.isprintable() or re.search(r"[{},=]", name):
            parser.error(f'--name: "{name}" is no name for a server, as it must do without {{ }} , and =')
        servers.append(Server(name, given["dsn"], settings))
    called = [server.name for server in servers]
    for name in called:
        if called.count(name) > 1:
            parser.error(f'two servers would be called "{name}": use --name after each --dsn')
    return servers


def secret(parser, option, path, variable):
    """What a file or the environment has; None if neither is given."""
    if path is None:
        return os.environ.get(variable)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        parser.error(f"{option}: {error}")
    if not text or not text.isprintable():
        parser.error(f'{option}: "{path}" must have one line')
    return text


def make_destination(parser, settings):
    """The destination that the arguments of push name."""
    parts = urllib.parse.urlsplit(settings.url)
    kind = settings.kind or destinations.kind_of(settings.url)
    if parts.scheme not in ("http", "https", "file", ""):
        parser.error(f'URL: "{parts.scheme}:" is not http:, https: or file:')
    if kind is None:
        parser.error(f'URL: the path "{parts.path}" does not tell what is there: add it, or use --as '
                     + "|".join(destinations.KINDS))
    if (kind == "files") != (parts.scheme in ("file", "")):
        wanted = "a directory" if kind == "files" else "an http: or https: URL"
        parser.error(f'--as {kind}: "{settings.url}" is not {wanted}')
    if parts.scheme.startswith("http") and not parts.hostname:
        parser.error(f'URL: "{settings.url}" names no host')
    if parts.password is not None or parts.username is not None:
        parser.error(f"URL: {EXPOSED}: use --user and --password-file")
    settings.token = secret(parser, "--token-file", settings.token_file, "PG_LEAKHUNT_TOKEN")
    settings.password = secret(parser, "--password-file", settings.password_file, "PG_LEAKHUNT_PASSWORD")
    if (settings.user is None) != (settings.password is None):
        parser.error("--user and --password-file (or PG_LEAKHUNT_PASSWORD) belong together")
    if settings.token and settings.user:
        parser.error("--token-file and --user exclude each other")
    settings.tags = {"instance": socket.gethostname(), **dict(settings.tags)}
    try:
        return destinations.destination(kind, settings.url, settings)
    except OSError as error:
        parser.error(f"--ca-file: {error}")


def end(*_):
    """What SIGTERM does to push, so that files that were begun go."""
    sys.exit(0)


def run_push(parser, settings):
    servers, destination = make_servers(parser, settings), make_destination(parser, settings)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    if settings.every is None:
        return 0 if push_once(servers, destination)[0] else 1
    push_every(settings.every, servers, destination)


def run_serve(parser, settings):
    servers = make_servers(parser, settings)
    # Nothing has to be put in order at the end, and no thread at work may delay it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        serve(settings.address, servers, settings)
    except OSError as error:
        parser.error(f"{settings.address[0]} port {settings.address[1]}: {error.strerror or error}")


def main():
    logging.basicConfig(format="pg_leakhunt_export: %(message)s", level=logging.INFO, stream=sys.stderr)
    parser = make_parser()
    settings = parser.parse_args()
    return {"push": run_push, "serve": run_serve}[settings.mode](parser, settings)

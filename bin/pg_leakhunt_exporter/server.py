"""One PostgreSQL server: what it is asked, and the one connection for that.

libpq connects, so all that psql can use is known here: PG* variables, .pgpass,
service files, certificates.  The connection is kept.  Each step has a time limit on
both sides: the server ends a statement by its own statement_timeout, and where it
does not even do that, because it stands still, we leave.

There is never more than one question at work per server.  A second one waits for
BUSY_WAIT_SECONDS, then is told that the server is busy.  Answers are fetched whole,
each in a transaction of its own, before anybody sees a byte of them: so the server
waits for nobody who reads slowly.
"""

import gzip
import logging
import math
import select
import threading
import time

import psycopg2
import psycopg2.extensions
from psycopg2.extensions import POLL_OK, POLL_READ, POLL_WRITE

from .back_off import BackOff

log = logging.getLogger(__name__)

# How long a question waits for the one before it.
BUSY_WAIT_SECONDS = 2.0

# What the client waits for longer than the server, which can tell more.
GRACE_SECONDS = 2.0

# What profile stores take at most, uncompressed.
MAX_SAMPLES = 16000
MAX_BYTES = 4 << 20

# The search_path of a session is pg_catalog, and what is the extension's has its schema's
# name before it.  There may be others who create functions in that schema: all arguments
# have a place and their exact types, so that no other function of the name fits as well.
SAFE_PATH = "SET search_path = pg_catalog"

METRICS_QUERY = """
    SELECT name, backend_type, verdict, context_name, site, query_id::text, query, value
    FROM {schema}.pg_leakhunt_metrics"""

# target, growth, base, peak, types, labels, symbolize, helpers, max_samples, max_bytes
PROFILE_QUERY = """
    SELECT {schema}.pg_leakhunt_pprof('all'::text, false, NULL::text, false, %(types)s::text[],
        %(labels)s::text[],
        %(symbolize)s::bool, false, %(max_samples)s::int, %(max_bytes)s::int)"""

# What to know of a new session: where the extension is, whether sessions begin with the
# module (a setting of its own is there only then), and whether the role may see all.
SESSION_QUERY = """
    SELECT (SELECT quote_ident(nspname) FROM pg_extension
                JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_leakhunt'),
        EXISTS (SELECT FROM pg_settings WHERE name = 'pg_leakhunt.enabled'),
        pg_has_role('pg_read_all_stats', 'USAGE'),
        current_database(), current_user"""


NOT_LOADED = ("sessions do not have the module: put pg_leakhunt into "
              "shared_preload_libraries, and restart the server")


# PostgreSQL finds our function and one that has more arguments, with defaults, as good.
AMBIGUOUS_FUNCTION = "42725"
OTHER_FUNCTIONS = ("somebody has created another function of that name there: drop it, and give the "
                   "extension a schema where nobody else may create any")


class ServerError(Exception):
    """Why there is no answer, as a sentence; and when to ask again, in seconds."""

    def __init__(self, message, retry_after=1.0):
        super().__init__(message)
        self.retry_after = retry_after


class Busy(ServerError):
    """The question before this one is still at work."""


class TimeLimit(Exception):
    """A step took longer than it may."""


def one_line(error):
    """libpq's message without its line breaks."""
    return " ".join(str(error).split()) or type(error).__name__


class Connection(psycopg2.extensions.connection):
    """A connection of libpq, whose steps end in time."""

    def __init__(self, dsn, seconds):
        self.limit(seconds)
        super().__init__(dsn)

    def limit(self, seconds):
        """The next step may take that long."""
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    def wait(self):
        """psycopg2 calls this wherever libpq would wait for the server."""
        events = {POLL_READ: select.POLLIN, POLL_WRITE: select.POLLOUT}
        while (state := self.poll()) != POLL_OK:
            poller = select.poll()
            poller.register(self.fileno(), events[state])
            left = self._deadline - time.monotonic()
            if left <= 0 or not poller.poll(math.ceil(left * 1000)):
                raise TimeLimit(f"no answer within {self._seconds:g} s")


psycopg2.extensions.set_wait_callback(Connection.wait)


class Server:
    """A server by its connection string.  All methods may be called by any thread."""

    def __init__(self, name, dsn, settings):
        """settings: connect_timeout and query_timeout in seconds; types, labels and
        symbolize as pg_leakhunt_pprof takes them."""
        self.name = name
        self._dsn = psycopg2.extensions.make_dsn(
            dsn, client_encoding="UTF8", fallback_application_name="pg_leakhunt_export")
        self._settings = settings
        self._connection = None
        self._schema = None
        self._has_module = False
        self._back_off = BackOff(1, 60)
        self._reason = ""
        self._at_work = threading.Lock()

    def profile(self):
        """What all processes hold, as a compressed pprof profile."""
        settings = self._settings
        rows = self._ask(PROFILE_QUERY, {
            "types": settings.types, "labels": settings.labels,
            "symbolize": settings.symbolize,
            "max_samples": MAX_SAMPLES, "max_bytes": MAX_BYTES})
        if not self._has_module:
            raise ServerError(f"{self.name}: {NOT_LOADED}", 60)
        return gzip.compress(rows[0][0], 6)

    def metrics(self):
        """Whether sessions have the module, and the rows of pg_leakhunt_metrics, which
        tell of processes without it, too."""
        rows = self._ask(METRICS_QUERY)
        return self._has_module, rows

    def _ask(self, query, arguments=None):
        if not self._at_work.acquire(timeout=BUSY_WAIT_SECONDS):
            raise Busy(f"{self.name}: another request is at work")
        try:
            return self._ask_alone(query, arguments)
        finally:
            self._at_work.release()

    def _ask_alone(self, query, arguments):
        wait = self._back_off.seconds_left()
        if wait:
            raise ServerError(f"{self._reason}; next try in {math.ceil(wait)} s", wait)
        try:
            rows = self._ask_kept(query, arguments)
            if rows is None:
                self._connect()
                rows = self._fetch(query, arguments)
        except (psycopg2.Error, TimeLimit, ServerError) as error:
            raise self._failure(error) from None
        self._back_off.succeeded()
        return rows

    def _ask_kept(self, query, arguments):
        """Asks over the connection that there is; None if it turns out to be gone, as
        after a restart of the server."""
        if self._connection is None:
            return None
        try:
            return self._fetch(query, arguments)
        except psycopg2.Error:
            if not self._connection.closed:
                raise
            log.info("%s: the connection was lost, and is made anew", self.name)
            self._connection = None
            return None

    def _fetch(self, query, arguments=None):
        self._connection.limit(self._settings.query_timeout + GRACE_SECONDS)
        with self._connection.cursor() as cursor:
            cursor.execute(query.replace("{schema}", self._schema), arguments)
            return cursor.fetchall()

    def _failure(self, error):
        """What to tell of a failure, which is logged.  One that ends the connection
        delays the next try; any other is the answer to this one question."""
        reason = f"{self.name}: {one_line(error)}"
        if getattr(error, "pgcode", None) == AMBIGUOUS_FUNCTION:
            reason += f": {OTHER_FUNCTIONS}"
        log.error("%s", reason)
        if self._connection is not None and not self._connection.closed:
            return ServerError(reason)
        self._connection = None
        self._back_off.failed()
        self._reason = reason
        return ServerError(reason, self._back_off.seconds_left())

    def _connect(self):
        connection = Connection(self._dsn, self._settings.connect_timeout)
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        if not self._has_module:
            log.error("%s: %s", self.name, NOT_LOADED)

    def _set_up(self, connection):
        connection.autocommit = True
        connection.limit(self._settings.connect_timeout)
        with connection.cursor() as cursor:
            cursor.execute(SAFE_PATH)
            cursor.execute(SESSION_QUERY)
            schema, self._has_module, sees_all, database, role = cursor.fetchone()
            if schema is None:
                raise ServerError(f'the extension pg_leakhunt is not in database "{database}": '
                                  "run CREATE EXTENSION pg_leakhunt there, or name another database")
            if not sees_all:
                raise ServerError(f'role "{role}" may see its own processes only: '
                                  f'run GRANT pg_monitor TO "{role}"')
            cursor.execute(
                "SELECT set_config(name, value, false) FROM unnest(%s, %s) s (name, value)",
                self._session_settings())
        # It stands in a text that psycopg2 fills in.
        self._schema = schema.replace("%", "%%")

    def _session_settings(self):
        """Names and values: what bounds a statement, and lets the session be kept."""
        limit = str(math.ceil(self._settings.query_timeout * 1000))
        values = {
            "statement_timeout": limit,
            "lock_timeout": limit,
            "idle_session_timeout": "0",
            "client_connection_check_interval": "1s",
            "default_transaction_read_only": "on",
            "jit": "off",
        }
        return list(values), list(values.values())

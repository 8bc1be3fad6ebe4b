"""The database that tests run in, and how it is put back after each run.

What a run has made is dropped: whatever has an OID that was not there before.  Where a
run has removed what was there, or what it made cannot be dropped alone, all is dropped,
and the tests before are run again, in a session of their own.
"""

import contextlib
import secrets

from .errors import CannotRun, QueryFailed

# The session that is measured empties its caches by this.  It lies in pg_catalog, where
# lists of a test do not show it.
RESET_CACHES = "pg_catalog.pg_leakhunt_reset_caches()"

# What DROP can be said of, in the order in which it is dropped: event triggers first, as
# they would be called for the others; tables before extensions, as an index cannot be
# dropped after a function that its operator class has options by; then what takes most
# with it.
_OBJECTS = """
    SELECT rank, classid::regclass AS class, oid FROM (
        SELECT 1, 'pg_event_trigger'::regclass::oid, oid FROM pg_event_trigger
        UNION ALL SELECT 2, 'pg_publication'::regclass, oid FROM pg_publication
        UNION ALL SELECT 3, 'pg_subscription'::regclass, oid FROM pg_subscription
            WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        UNION ALL SELECT 4, 'pg_class'::regclass, oid FROM pg_class
            WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'i', 'I', 'c')
            AND relnamespace::regnamespace::text !~ '^pg_(toast|temp)'
        UNION ALL SELECT 5, 'pg_extension'::regclass, oid FROM pg_extension
        UNION ALL SELECT 6, 'pg_namespace'::regclass, oid FROM pg_namespace
            WHERE nspname !~ '^pg_(toast|temp)'
        UNION ALL SELECT 7, 'pg_trigger'::regclass, oid FROM pg_trigger WHERE NOT tgisinternal
        UNION ALL SELECT 8, 'pg_foreign_data_wrapper'::regclass, oid FROM pg_foreign_data_wrapper
        UNION ALL SELECT 9, 'pg_foreign_server'::regclass, oid FROM pg_foreign_server
        UNION ALL SELECT 10, 'pg_user_mapping'::regclass, oid FROM pg_user_mapping
        UNION ALL SELECT 11, 'pg_transform'::regclass, oid FROM pg_transform
        UNION ALL SELECT 12, 'pg_language'::regclass, oid FROM pg_language
        UNION ALL SELECT 13, 'pg_cast'::regclass, oid FROM pg_cast
        UNION ALL SELECT 14, 'pg_opclass'::regclass, oid FROM pg_opclass
        UNION ALL SELECT 15, 'pg_opfamily'::regclass, oid FROM pg_opfamily
        UNION ALL SELECT 16, 'pg_operator'::regclass, oid FROM pg_operator
        UNION ALL SELECT 17, 'pg_am'::regclass, oid FROM pg_am
        UNION ALL SELECT 18, 'pg_ts_config'::regclass, oid FROM pg_ts_config
        UNION ALL SELECT 19, 'pg_ts_dict'::regclass, oid FROM pg_ts_dict
        UNION ALL SELECT 20, 'pg_ts_parser'::regclass, oid FROM pg_ts_parser
        UNION ALL SELECT 21, 'pg_ts_template'::regclass, oid FROM pg_ts_template
        UNION ALL SELECT 22, 'pg_statistic_ext'::regclass, oid FROM pg_statistic_ext
        UNION ALL SELECT 23, 'pg_conversion'::regclass, oid FROM pg_conversion
        UNION ALL SELECT 24, 'pg_collation'::regclass, oid FROM pg_collation
        UNION ALL SELECT 25, 'pg_proc'::regclass, oid FROM pg_proc
        UNION ALL SELECT 26, 'pg_type'::regclass, oid FROM pg_type
            WHERE typrelid = 0 AND typelem = 0
            AND typnamespace::regnamespace::text !~ '^pg_(toast|temp)'
        UNION ALL SELECT 27, 'pg_largeobject'::regclass, oid FROM pg_largeobject_metadata
        UNION ALL SELECT 28, 'pg_authid'::regclass, oid FROM pg_authid WHERE rolname ~ '%s'
    ) o (rank, classid, oid)
    WHERE oid >= 16384 OR classid = 'pg_largeobject'::regclass"""

# On a server that others use, too, what is the server's is a test's if its name says so,
# as pg_regress wants it; and a database that somebody is connected to is in use.
_ANY_NAME = "^"
_NAME_OF_TESTS = "^(regress|regression)(_|$)"

# All of it, and what cannot be dropped within a transaction, as the statements that do so.
_STATEMENT = "statement:"
_LIST = """
    SELECT class::text || ':' || oid FROM (%(objects)s) o
    UNION ALL SELECT '%(prefix)s' || format('ROLLBACK PREPARED %%L', gid) FROM pg_prepared_xacts
        WHERE database = current_database()
    UNION ALL SELECT '%(prefix)s' || format('DROP DATABASE IF EXISTS %%I%(force)s', datname)
        FROM pg_database WHERE datname ~ '%(names)s' AND datname <> current_database()
    UNION ALL SELECT '%(prefix)s' || format('DROP TABLESPACE IF EXISTS %%I', spcname)
        FROM pg_tablespace WHERE spcname ~ '%(names)s'"""

_END_OPEN_TRANSACTIONS = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND state LIKE 'idle in transaction%'"""

# Drops what was not there before; of what fails here, another round may have removed the
# cause.  An object that went with another has no identity any more.
_DROP = r"""
SET client_min_messages = error;
SET lock_timeout = '10s';
CREATE SCHEMA IF NOT EXISTS public;
DO $drop$
DECLARE
    before constant text[] := '{%(before)s}';
    kept constant text[] := ARRAY(SELECT class::text || ':' || oid FROM (%(objects)s) o
        WHERE class::text || ':' || oid = ANY ('{%(kept)s}'));
    described constant text[] := ARRAY(SELECT pg_describe_object(split_part(name, ':', 1)::regclass,
        split_part(name, ':', 2)::oid, 0) FROM unnest(kept) name);
    lost text;
    o record;
    i record;
BEGIN
    FOR round IN 1 .. 3 LOOP
        FOR o IN SELECT * FROM (%(objects)s) o
            WHERE class::text || ':' || oid <> ALL (before)
            ORDER BY rank, oid DESC
        LOOP
            SELECT * INTO i FROM pg_identify_object(o.class, o.oid, 0);
            CONTINUE WHEN i.identity IS NULL;
            BEGIN
                IF o.class = 'pg_largeobject'::regclass THEN
                    PERFORM lo_unlink(o.oid);
                ELSIF o.class = 'pg_authid'::regclass THEN
                    EXECUTE format('DROP OWNED BY %%s CASCADE', i.identity);
                    EXECUTE format('DROP ROLE %%s', i.identity);
                ELSIF o.class = 'pg_user_mapping'::regclass THEN
                    EXECUTE format('DROP USER MAPPING FOR %%s',
                        regexp_replace(i.identity, ' on server ', ' SERVER '));
                ELSIF o.class = 'pg_subscription'::regclass THEN
                    EXECUTE format('ALTER SUBSCRIPTION %%s DISABLE', i.identity);
                    EXECUTE format('ALTER SUBSCRIPTION %%s SET (slot_name = NONE)', i.identity);
                    EXECUTE format('DROP SUBSCRIPTION %%s', i.identity);
                ELSE
                    EXECUTE format('DROP %%s IF EXISTS %%s CASCADE',
                        CASE i.type WHEN 'statistics object' THEN 'STATISTICS'
                            WHEN 'composite type' THEN 'TYPE'
                            WHEN 'aggregate' THEN 'ROUTINE'
                            WHEN 'foreign-data wrapper' THEN 'FOREIGN DATA WRAPPER'
                            ELSE i.type END, i.identity);
                END IF;
            EXCEPTION WHEN OTHERS THEN
                NULL;
            END;
        END LOOP;
    END LOOP;
    SELECT description INTO lost FROM unnest(kept, described) k (name, description)
        WHERE name NOT IN (SELECT class::text || ':' || oid FROM (%(objects)s) o);
    IF lost IS NOT NULL THEN
        RAISE EXCEPTION 'what a test has made cannot be dropped: %%, which was there before, depends on it', lost;
    END IF;
END $drop$;
"""


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


def _array(names):
    """Returns the elements of an array of objects, but not of statements."""
    return ",".join(name for name in sorted(names) if not name.startswith(_STATEMENT))


class Scratch:
    """The database of the tests, and one beside it with the extension, which is asked
    what sessions hold."""

    def __init__(self, server, options, paths):
        self._server = server
        self._options = options
        self._paths = paths                 # of the files, in order
        self.database = options.dbname
        # no name of a test's, or of another run's
        self.asked = f"pg_leakhunt_regress_{secrets.token_hex(4)}"
        names = _ANY_NAME if options.temp_instance else _NAME_OF_TESTS
        self._of_tests = _OBJECTS % names
        self._list = _LIST % {"objects": self._of_tests, "prefix": _STATEMENT, "names": names,
                              "force": " WITH (FORCE)" if options.temp_instance else ""}
        self._initial = None                # objects of the database when it was made
        self._base = None                   # those before the file at hand
        self._left_out = set()
        self._undo = contextlib.ExitStack()

    def create(self):
        """Makes both databases, and roles."""
        try:
            self._create()
        except QueryFailed as error:
            raise CannotRun(f"could not prepare the database {self.database}: {error}") from error

    def _create(self):
        self._create_database(self.asked)
        self._server.query(self.asked, "CREATE EXTENSION pg_leakhunt")
        if not self._options.use_existing:
            self._create_database_and_roles()
        # the library may be loaded by each session, and is not here
        self._server.query(
            self.database,
            f"CREATE OR REPLACE FUNCTION {RESET_CACHES} RETURNS void AS 'pg_leakhunt', "
            "'pg_leakhunt_reset_caches' LANGUAGE C STRICT")
        if self._options.use_existing:
            self._at_end(self.database, f"DROP FUNCTION IF EXISTS {RESET_CACHES}")
        self._initial = self._objects()
        self._undo.callback(self._drop_beside, self._initial)
        self._load_extensions()
        self._base = self._objects()

    def _create_database_and_roles(self):
        # a role can be dropped only when the database is gone in which it has privileges
        for role in self._options.create_role:
            self._at_end("postgres", f"DROP ROLE IF EXISTS {_quoted(role)}")
        self._create_database(self.database, self._tail())
        self._set_locale()
        for role in map(_quoted, self._options.create_role):
            self._server.query("postgres", f"DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN;"
                                           f"GRANT ALL ON DATABASE {_quoted(self.database)} TO {role}")

    def _at_end(self, database, statement):
        """Has a statement run when all that was made after it is gone."""
        self._undo.callback(self._try, database, statement)

    def _try(self, database, statement):
        with contextlib.suppress(QueryFailed):
            self._server.query(database, statement)

    def check_out(self):
        """Drops what the tests have left in a database that stays; an error if it can't be."""
        if self._options.use_existing and not self._options.keep:
            self._drop_beside(self._initial)

    def remove(self):
        """Drops what was made, in the opposite order."""
        if not self._options.keep:
            with contextlib.suppress(QueryFailed, OSError):
                self._undo.close()

    def put_back(self, index, entirely=False):
        """Makes the database what it was before the file of that index."""
        if not entirely and self._drop_beside(self._base) == self._base:
            return
        self._drop_beside(self._initial)
        self._load_extensions()
        for before in range(index):
            self.advance(before)
        self._base = self._objects()

    def advance(self, index):
        """Runs the file of that index once, as the next one may need what it makes."""
        if index not in self._left_out:
            self._server.run_file(self.database, self._paths[index], "setup")

    def leave_out(self, index):
        """Never runs the file of that index again: it has ended its session, or the server."""
        self._left_out.add(index)

    def accept(self):
        """Takes what is there now as what is there before the next file."""
        self._base = self._objects()

    def _tail(self):
        encoding = f" ENCODING '{self._options.encoding}'" if self._options.encoding else ""
        return encoding + (" LC_COLLATE 'C' LC_CTYPE 'C'" if self._options.no_locale else "")

    def _create_database(self, name, tail=""):
        # a database of that name may be in use by somebody
        self._server.query("postgres", f"DROP DATABASE IF EXISTS {_quoted(name)};\n"
                                       f"CREATE DATABASE {_quoted(name)} TEMPLATE template0{tail}")
        self._at_end("postgres", f"DROP DATABASE IF EXISTS {_quoted(name)} WITH (FORCE)")

    def _set_locale(self):
        for setting, value in (("lc_messages", "C"), ("lc_monetary", "C"), ("lc_numeric", "C"),
                               ("lc_time", "C"), ("bytea_output", "hex"),
                               ("timezone_abbreviations", "Default")):
            self._server.query("postgres", f"ALTER DATABASE {_quoted(self.database)} "
                                           f"SET {setting} TO '{value}'")

    def _load_extensions(self):
        for name in self._options.load_extension:
            self._server.query(self.database, f"CREATE EXTENSION IF NOT EXISTS {_quoted(name)}")

    def _objects(self):
        return set(self._server.query(self.database, self._list).splitlines())

    def _drop_beside(self, before):
        """Drops what is not among these; returns what is there then."""
        left = self._objects()
        if left == before:
            return left
        kept = self._initial if self._options.use_existing else ()
        drop = _DROP % {"before": _array(before), "kept": _array(kept), "objects": self._of_tests}
        self._end_open_transactions()
        self._run_statements(left - before, "ROLLBACK")
        self._server.query(self.database, drop)
        # a tablespace is empty, and a role owns nothing, once all else is gone
        if self._run_statements(self._objects() - before, "DROP"):
            self._server.query(self.database, drop)
        return self._objects()

    def _end_open_transactions(self):
        """Ends sessions that the tested one has left in a transaction, by dblink for example:
        their locks would keep objects from being dropped."""
        if not self._options.use_existing:
            self._server.query(self.database, _END_OPEN_TRANSACTIONS)

    def _run_statements(self, names, word):
        """Runs those of these statements that begin with that word; returns how many."""
        found = [name[len(_STATEMENT):] for name in sorted(names)
                 if name.startswith(_STATEMENT + word)]
        for statement in found:
            self._try(self.database, statement)
        return len(found)

"""A temporary server, as pg_regress makes one, with pg_leakhunt loaded."""

import os
import pwd
import shutil
import subprocess
import tempfile

from .errors import CannotRun
from .psql import without_connection

# By this file the directory of a server of the program's own is known.
_MARK = "made_by_pg_leakhunt_regress"

# With an interval of 1 every allocation is a sample; they must fit.
_SETTINGS = """
# Configuration added by pg_leakhunt_regress
shared_preload_libraries = 'pg_leakhunt'
pg_leakhunt.max_profile_size = '256MB'
pg_leakhunt.max_live_samples = 4000000
pg_leakhunt.dump_on_exit = off
pg_leakhunt.log = 'exits'
max_prepared_transactions = 2
wal_level = logical
log_line_prefix = '%m %b[%p] %q%a '
fsync = off
autovacuum = off
"""


def program(options, name):
    """Returns the path of a program of PostgreSQL."""
    return os.path.join(options.bindir, name) if options.bindir else name


def _output_of(command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, check=True,
                              universal_newlines=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise _cannot_run(command, error) from error


def _cannot_run(command, error):
    return CannotRun(f"could not run {command[0]}: {error}; "
                     "--bindir names the folder of PostgreSQL's programs")


def library_directory(options):
    return _output_of([program(options, "pg_config"), "--pkglibdir"])


class Instance:
    """A server in a directory; "with" stops it and removes that directory.  What lies in
    the directory is removed only if a former run has left it there."""

    def __init__(self, options):
        self._options = options
        self._directory = os.path.abspath(options.temp_instance)
        self._data = os.path.join(self._directory, "data")
        self._log = os.path.join(self._directory, "postmaster.log")
        self._sockets = None
        self._made = False
        self._running = False

    def __enter__(self):
        if os.geteuid() == 0:
            raise CannotRun("PostgreSQL does not run as root, so there is no temporary server: "
                            "call this as another user (setpriv --reuid=postgres ...), "
                            "or leave out --temp-instance to use a server that runs")
        if _name_of_user() is None:
            raise CannotRun(f"initdb needs a user with a name, and the user id {os.geteuid()} "
                            "has none: give it one in /etc/passwd, "
                            "or leave out --temp-instance to use a server that runs")
        try:
            self._make()
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            # sessions that are ended at once would leave their profiles in /dev/shm
            if self._running and not self._stop("fast"):
                self._stop("immediate")
        finally:
            if self._sockets is not None:
                shutil.rmtree(self._sockets, ignore_errors=True)
            if self._made and not self._options.keep:
                shutil.rmtree(self._directory, ignore_errors=True)

    def _stop(self, mode):
        # a terminal's signals are for this program, which is ending
        return self._pg_ctl("-m", mode, "-w", "-t", "30", "stop", start_new_session=True)

    def _pg_ctl(self, *arguments, **how):
        """Returns whether pg_ctl has succeeded."""
        command = [program(self._options, "pg_ctl"), "-D", self._data, *arguments]
        try:
            return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  check=False, **how).returncode == 0
        except OSError as error:
            raise _cannot_run(command, error) from error

    def connection(self):
        """Returns the variables by which libpq finds the server."""
        return {"PGHOST": self._sockets, "PGPORT": str(self._port()), "PGUSER": self._user()}

    def holds(self, data_directory):
        """Is this the data directory of the server that was made here?"""
        return os.path.realpath(data_directory) == os.path.realpath(self._data)

    def _make(self):
        self._take_directory()
        command = [program(self._options, "initdb"), "-D", self._data, "--no-sync", "--no-clean",
                   "-A", "trust", "-U", self._user()]
        if self._options.no_locale:
            command.append("--no-locale")
        try:
            made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  universal_newlines=True, check=False)
        except OSError as error:
            raise _cannot_run(command, error) from error
        if made.returncode != 0:
            raise CannotRun(f"initdb failed: {made.stdout.strip()}")
        self._configure()

    def _take_directory(self):
        """Has the directory empty, without removing what is not ours."""
        try:
            found = os.listdir(self._directory) if os.path.lexists(self._directory) else []
            if found and not self._is_left_over(found):
                raise CannotRun(f"{self._directory} is not empty, and was not made by "
                                "pg_leakhunt_regress, so it is left alone: "
                                "name another directory with --temp-instance")
            if found and self._pg_ctl("status"):
                raise CannotRun(f"a server runs in {self._data}: that of another run, or of one "
                                f"that was killed, which \"pg_ctl -D {self._data} stop\" ends")
            self._made = True
            for name in found:
                path = os.path.join(self._directory, name)
                (shutil.rmtree if os.path.isdir(path) else os.remove)(path)
            os.makedirs(self._directory, exist_ok=True)
            with open(os.path.join(self._directory, _MARK), "w", encoding="utf-8"):
                pass
        except OSError as error:
            raise CannotRun(f"could not make the temporary server's directory: {error}") from error

    def _is_left_over(self, found):
        """Is this what a former run of this program has left?"""
        return _MARK in found and set(found) <= {_MARK, "data", "postmaster.log"}

    def _configure(self):
        with open(os.path.join(self._data, "postgresql.conf"), "a", encoding="utf-8") as conf:
            conf.write(_SETTINGS)
            for path in self._options.temp_config:
                try:
                    with open(path, encoding="utf-8") as extra:
                        text = extra.read()
                except (OSError, UnicodeError) as error:
                    raise CannotRun(f"could not read {path}: {error}") from error
                conf.write(_preload_ours_too(text))

    def _start(self):
        self._sockets = tempfile.mkdtemp(prefix="pg_leakhunt_regress-")
        # tests of what connects to the server itself expect its sessions to find it
        environment = {**without_connection(os.environ), "PGHOST": self._sockets,
                       "PGPORT": str(self._port())}
        library = os.path.join(library_directory(self._options), "pg_leakhunt_malloc.so")
        if self._options.malloc and os.path.exists(library):
            environment["LD_PRELOAD"] = library
        self._running = True        # as soon as it may be
        if not self._pg_ctl("-l", self._log, "-w", "-t", "60", "-o",
                            f"-F -p {self._port()} -k '{self._sockets}' -c listen_addresses=''",
                            "start", env=environment):
            raise CannotRun(f"the temporary server did not start: {self._last_lines()}")

    def _last_lines(self):
        try:
            with open(self._log, encoding="utf-8", errors="replace") as log:
                return "".join(log.readlines()[-5:]).strip()
        except OSError:
            return "it wrote no log"

    def _port(self):
        # It listens in a directory of its own only, so that any port is free.
        return self._options.port or 5432

    def _user(self):
        return self._options.user or _name_of_user()


def _name_of_user():
    """Returns the name of the user who runs this; None where the user id has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None


def _preload_ours_too(text):
    """Returns settings in which a list of libraries to preload has pg_leakhunt, too."""
    lines = []
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if name.strip() == "shared_preload_libraries" and equals and "pg_leakhunt" not in value:
            value = value.partition("#")[0].strip().strip("'")
            line = f"shared_preload_libraries = '{value}{', ' if value else ''}pg_leakhunt'"
        lines.append(line)
    return "\n".join(lines) + "\n"

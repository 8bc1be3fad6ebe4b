"""Connections of peers that ask by HTTP, any number of which may be slow or hostile.

One thread reads and writes all of them, and none of them holds it up.  Each step has a
deadline: a head must have come, and an answer must have been taken, within the time limit
as a whole, however many bytes come meanwhile.  Connections are bounded in number.  Where
there is no room for another one, the one that goes is the oldest that has not asked yet,
then the oldest that waits between two requests: a scraper, which asks at once, is answered
whatever others do.  Answers are bounded in number, too, and made by threads.
"""

import asyncio
import concurrent.futures
import contextlib
import enum
import logging
import resource
import socket
import time

from .http_head import END_OF_HEAD, MAX_HEAD_BYTES, Head, Refusal, answer_head

log = logging.getLogger(__name__)

# Connections at a time, if the limit of open files has room for them; a scraper has one.
MAX_CONNECTIONS = 256

# Files that are open besides: of the program, and for the look-up of names.
OTHER_FILES = 32

# Requests that are answered at a time.
MAX_ANSWERS = 32

# How long a connection may wait for its next request; Prometheus asks every minute.
KEEP_SECONDS = 120

# Between two lines in the log.
TELL_SECONDS = 5

# For a peer to take the reason why it is sent away.
PARTING_SECONDS = 1


class State(enum.Enum):
    """What a connection waits for."""

    HEAD = "a whole request"
    NEXT = "another request"
    WORK = "the answer, which is being made"
    TAKING = "the peer, to take the answer"


# Those that may be ended for another connection, or for another answer, the first ones first.
ENDED_FOR_CONNECTION = (State.HEAD, State.NEXT)
ENDED_FOR_ANSWER = (State.TAKING,)


def connection_limit(servers):
    """How many connections there may be, beside those to this number of servers."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, files - OTHER_FILES - 4 * servers))


class Connection:
    """One peer."""

    def __init__(self, sock, address):
        self.socket = sock
        self.address = address[0]
        self.state = State.HEAD
        self.task = None
        self.unread = b""
        self.why_ended = None

    def end(self, why):
        """Ends it, which whoever serves it notices at once."""
        if self.why_ended is None:
            self.why_ended = why
            self.task.cancel()

    @contextlib.contextmanager
    def within(self, seconds, why):
        """The connection is ended unless the block is over in time."""
        timer = asyncio.get_running_loop().call_later(seconds, self.end, why)
        try:
            yield
        finally:
            timer.cancel()


class SparseLog:
    """Tells of some peers, and how many others there were: a hostile one must not fill
    the log."""

    def __init__(self):
        self._not_before = 0.0
        self._untold = 0

    def tell(self, text, *values):
        now = time.monotonic()
        if now < self._not_before:
            self._untold += 1
            return
        others = f" ({self._untold} more since the last such line)" if self._untold else ""
        log.warning(text + "%s", *values, others)
        self._not_before = now + TELL_SECONDS
        self._untold = 0


class Connections:
    """All peers; answer is called by threads with a Head, and returns status, headers and
    body, or raises a Refusal."""

    def __init__(self, listener, answer, names, servers, seconds):
        """names: hosts as who we are asked; servers: how many there are behind us;
        seconds: for a head to come, and for an answer to be taken."""
        self._listener = listener
        self._answer = answer
        self._names = names
        self._seconds = seconds
        self._limit = connection_limit(servers)
        self._told = SparseLog()
        self._open = []             # the one first that has been longest in its state
        self._workers = concurrent.futures.ThreadPoolExecutor(max_workers=MAX_ANSWERS)
        self._loop = None
        self._stopped = None

    def __len__(self):
        return len(self._open)

    def run(self):
        """Serves until stop is called."""
        asyncio.run(self._accept_all())

    def stop(self):
        """May be called by any thread, once run has begun."""
        self._loop.call_soon_threadsafe(self._stopped.cancel)

    async def _accept_all(self):
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.current_task()
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                await self._accept()
        for connection in self._open:
            connection.end("the program ends")
        await asyncio.gather(*(connection.task for connection in self._open), return_exceptions=True)

    async def _accept(self):
        try:
            sock, address = await self._loop.sock_accept(self._listener)
        except OSError as error:
            # Such as no more open files: others have to end first.
            self._told.tell("cannot accept a connection: %s", error.strerror or error)
            self._end_one(ENDED_FOR_CONNECTION, "the system has no room for more connections")
            await asyncio.sleep(0.1)
            return
        sock.setblocking(False)
        if len(self._open) >= self._limit and not self._end_one(
                ENDED_FOR_CONNECTION, "there is no room for more connections"):
            self._send_away(sock, Refusal(503, "too many connections", {"Retry-After": "1"}))
            return
        connection = Connection(sock, address)
        self._open.append(connection)
        connection.task = self._loop.create_task(self._serve(connection))
        # Each connection has its turn after each that is accepted.
        await asyncio.sleep(0)

    def _end_one(self, states, why):
        """Ends the oldest connection in the first of these states that any is in."""
        for state in states:
            for connection in self._open:
                if connection.state == state and connection.why_ended is None:
                    connection.end(why)
                    return True
        return False

    def _enter(self, connection, state):
        """The connection is the youngest of its state."""
        connection.state = state
        self._open.remove(connection)
        self._open.append(connection)

    async def _serve(self, connection):
        try:
            while await self._serve_one(connection):
                self._enter(connection, State.NEXT)
        except asyncio.CancelledError:
            self._told.tell("%s: waited for %s: %s", connection.address, connection.state.value, connection.why_ended)
            if connection.state == State.HEAD:
                self._say(connection.socket, Refusal(408, connection.why_ended))
        except OSError as error:
            self._told.tell("%s: %s", connection.address, error.strerror or error)
        except Exception:
            log.exception("%s", connection.address)
        finally:
            self._open.remove(connection)
            connection.socket.close()

    async def _serve_one(self, connection):
        """Answers a request; returns whether there may be another one."""
        try:
            head = await self._read_head(connection)
            if head is None:
                return False
            head.check(self._names)
            status, headers, body = await self._work(connection, head)
        except Refusal as refusal:
            self._told.tell("%s: %d: %s", connection.address, refusal.status, refusal)
            await self._part(connection, refusal)
            return False
        keeps = head.keeps_connection()
        self._enter(connection, State.TAKING)
        with connection.within(self._seconds, f"it took no answer within {self._seconds:g} s"):
            await self._loop.sock_sendall(connection.socket, answer(status, headers, body, keeps))
        return keeps

    async def _read_head(self, connection):
        """The head of the next request; None if there is none."""
        if connection.state == State.NEXT and not await self._wait_for_next(connection):
            return None
        with connection.within(self._seconds, f"no request came within {self._seconds:g} s"):
            while not (end := END_OF_HEAD.search(connection.unread)):
                if len(connection.unread) > MAX_HEAD_BYTES:
                    is_first_line = b"\n" not in connection.unread
                    raise Refusal(414 if is_first_line else 431, f"a head has {MAX_HEAD_BYTES} bytes at most")
                if not await self._read(connection):
                    return None
        head, connection.unread = connection.unread[:end.start()], connection.unread[end.end():]
        return Head(head)

    async def _wait_for_next(self, connection):
        """Waits until another request begins; returns whether one does."""
        if not connection.unread:
            with connection.within(KEEP_SECONDS, f"no request came within {KEEP_SECONDS:g} s"):
                if not await self._read(connection):
                    return False
        self._enter(connection, State.HEAD)
        return True

    async def _read(self, connection):
        """Reads what there is; returns whether the peer may send more."""
        data = await self._loop.sock_recv(connection.socket, MAX_HEAD_BYTES)
        connection.unread += data
        return bool(data)

    async def _work(self, connection, head):
        """Has the answer made by a thread.  It has no deadline here: servers have theirs."""
        answered = [other for other in self._open
                    if other.state in (State.WORK, State.TAKING) and other.why_ended is None]
        if len(answered) >= MAX_ANSWERS and not self._end_one(
                ENDED_FOR_ANSWER, "there is no room for more answers"):
            raise Refusal(503, "too many requests at a time", {"Retry-After": "1"})
        self._enter(connection, State.WORK)
        return await asyncio.wrap_future(self._workers.submit(self._answer, head))

    async def _part(self, connection, refusal):
        """Says why, and waits for the peer to close: the kernel drops an answer behind which
        bytes come that nobody reads."""
        self._say(connection.socket, refusal)
        self._enter(connection, State.NEXT)
        with connection.within(PARTING_SECONDS, "it did not close"):
            while await self._loop.sock_recv(connection.socket, 65536):
                pass

    def _send_away(self, sock, refusal):
        self._say(sock, refusal)
        sock.close()

    def _say(self, sock, refusal):
        """Sends what the kernel takes at once, which is all unless the peer is hostile."""
        with contextlib.suppress(OSError):
            sock.send(answer(refusal.status, {"Content-Type": "text/plain; charset=utf-8", **refusal.headers},
                             f"{refusal}\n".encode(), False))
            sock.shutdown(socket.SHUT_WR)


def answer(status, headers, body, keeps):
    """An answer as bytes; keeps: whether another request may follow."""
    return answer_head(status, {
        **headers, "Content-Length": str(len(body)), "X-Content-Type-Options": "nosniff",
        "Connection": "keep-alive" if keeps else "close"}) + body

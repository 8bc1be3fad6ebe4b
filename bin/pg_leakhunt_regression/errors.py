"""What the program ends with when it cannot go on."""


class CannotRun(Exception):
    """The tests cannot be run; the text says why, and what to do."""


class QueryFailed(Exception):
    """A statement of the program's own failed; the text is the server's."""


class SessionEnded(Exception):
    """The tested session ended: its server crashed, or its psql did."""

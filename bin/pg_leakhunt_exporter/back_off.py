"""How long to wait after failures: twice as long after each, up to a limit."""

import time


class BackOff:
    """Counts failures in a row, and knows when to try again."""

    def __init__(self, first_seconds, longest_seconds, clock=time.monotonic):
        self._first = first_seconds
        self._longest = longest_seconds
        self._clock = clock
        self._failures = 0
        self._try_at = 0.0

    def succeeded(self):
        self._failures = 0
        self._try_at = 0.0

    def failed(self, at_least=0.0):
        """Notes a failure; whoever refused may have said how long to stay away."""
        delay = min(self._longest, self._first * 2 ** min(self._failures, 30))
        self._failures += 1
        self._try_at = self._clock() + max(delay, min(at_least, self._longest))

    def seconds_left(self):
        """Seconds until the next try; 0 if it may be made now."""
        return max(0.0, self._try_at - self._clock())

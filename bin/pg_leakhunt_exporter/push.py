"""Takes a profile of each server and hands it over: once, or again and again."""

import logging
import time

from .back_off import BackOff
from .destinations import Profile
from .posting import HandOverError
from .server import ServerError

log = logging.getLogger(__name__)

# However long a destination has failed, try so often.
LONGEST_SECONDS = 600


def push_once(servers, destination):
    """Whether all went well; and how long a destination wants to be left alone."""
    ok, retry_after = True, 0.0
    for server in servers:
        try:
            destination.take(profile_of(server, len(servers) > 1))
        except ServerError:
            # the server has told the log why
            ok = False
        except HandOverError as error:
            log.error("%s: the profile was not handed over: %s", server.name, error)
            ok, retry_after = False, max(retry_after, error.retry_after)
    return ok, retry_after


def profile_of(server, is_one_of_several):
    began = time.time_ns()
    content = server.profile()
    return Profile(content, server.name if is_one_of_several else None, began, time.time_ns())


def push_every(seconds, servers, destination, sleep=time.sleep, clock=time.monotonic):
    """Does so until the process is told to end; less often while it fails.  A profile
    that was not taken is not kept: the next one has all that it had."""
    back_off = BackOff(seconds, max(seconds, LONGEST_SECONDS), clock)
    while True:
        began = clock()
        ok, retry_after = push_once(servers, destination)
        if ok:
            back_off.succeeded()
        else:
            back_off.failed(retry_after)
        sleep(max(back_off.seconds_left(), began + seconds - clock(), 0.0))

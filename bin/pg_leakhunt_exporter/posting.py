"""One HTTP request with a profile, to a place that may be slow, down or unwilling."""

import base64
import contextlib
import http.client
import logging
import signal
import ssl
import urllib.error
import urllib.parse
import urllib.request

log = logging.getLogger(__name__)

# Of an answer nothing but its first line is shown.
MAX_ANSWER_BYTES = 65536
MAX_SHOWN = 300

HINTS = {
    401: "--token-file, or --user and --password-file, say who you are",
    403: "--token-file, or --user and --password-file, say who you are",
    404: "the path of the URL is not one of that server",
    413: "the profile is too large for it; fewer --labels make it smaller",
}


class HandOverError(Exception):
    """Why a profile was not taken, as a sentence; and when to try again, in seconds,
    where the other side has said so."""

    def __init__(self, message, retry_after=0.0):
        super().__init__(message)
        self.retry_after = retry_after


class TooLate(Exception):
    """The time for the request is over."""


class KeepMethod(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: it would turn a POST into a GET, and might take our
    credentials to somebody else."""

    def redirect_request(self, *_):
        return None


@contextlib.contextmanager
def time_limit(seconds):
    """Ends what is done within, also between two bytes of a peer that sends one now and
    then.  For the main thread, as signals are."""
    def stop(*_):
        raise TooLate()
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Poster:
    """Posts to URLs with the credentials that were given for them."""

    def __init__(self, settings):
        """settings: http_timeout; token, user and password; tenant; ca_file."""
        self._timeout = settings.http_timeout
        self._headers = {"User-Agent": "pg_leakhunt_export"}
        if settings.token:
            self._headers["Authorization"] = "Bearer " + settings.token
        elif settings.user:
            pair = f"{settings.user}:{settings.password}".encode()
            self._headers["Authorization"] = "Basic " + base64.b64encode(pair).decode()
        if settings.tenant:
            self._headers["X-Scope-OrgID"] = settings.tenant
        context = ssl.create_default_context(cafile=settings.ca_file)
        self._opener = urllib.request.build_opener(
            KeepMethod, urllib.request.HTTPSHandler(context=context))

    def post(self, url, content_type, body):
        """Returns once the other side has taken the body; HandOverError if not."""
        shown = urllib.parse.urlsplit(url)._replace(query="").geturl()
        request = urllib.request.Request(
            url, data=body, headers={**self._headers, "Content-Type": content_type})
        try:
            with time_limit(self._timeout):
                with self._opener.open(request, timeout=self._timeout) as answer:
                    if len(answer.read(MAX_ANSWER_BYTES)) < MAX_ANSWER_BYTES and answer.length:
                        raise HandOverError(f"{shown}: closed in the middle of its answer")
        except urllib.error.HTTPError as answer:
            raise refusal(shown, answer, self._timeout) from None
        except (TooLate, TimeoutError):
            raise HandOverError(f"{shown}: no answer within {self._timeout:g} s") from None
        except urllib.error.URLError as error:
            reason = f"no answer within {self._timeout:g} s" if isinstance(
                error.reason, TimeoutError) else error.reason
            raise HandOverError(f"{shown}: {reason}") from None
        except (OSError, http.client.HTTPException) as error:
            raise HandOverError(f"{shown}: {str(error) or type(error).__name__}") from None


def refusal(url, answer, seconds):
    """What to say of an answer that is no success."""
    text = f"{url}: answered {answer.code} {answer.reason}"
    first_line = beginning_of(answer, seconds)
    if first_line:
        text += f": {first_line}"
    if 300 <= answer.code < 400:
        text += f" (it is at {answer.headers.get('Location', 'another place')}: give that URL)"
    elif answer.code in HINTS:
        text += f" ({HINTS[answer.code]})"
    wait = answer.headers.get("Retry-After", "")
    text = "".join(c if c.isprintable() else "?" for c in text)
    return HandOverError(text, float(wait) if wait.isdecimal() else 0.0)


def beginning_of(answer, seconds):
    """The first line of an error page, as far as it arrives."""
    try:
        with time_limit(seconds):
            text = answer.read(MAX_ANSWER_BYTES).decode(errors="replace").strip()
    except (TooLate, OSError, http.client.HTTPException):
        return ""
    return text.split("\n", 1)[0][:MAX_SHOWN]

"""What a session holds after each run, and which sites grew in all of them.

A site is a stack in a memory context.  The first two runs are a warm-up: a site is found
if it holds more after each further run than after the one before it.  As soon as there is
no such site, the runs that are left cannot change that.
"""

from dataclasses import dataclass, field

WARM_UP = 2

_HELD = """
    SELECT stack_id, context_name, lifetime, site, routine, stack, query, query_id::text,
        sum(live_bytes) AS bytes, sum(live_count) AS count
    FROM pg_leakhunt_report(%d)
    WHERE lifetime IN ('session', 'process') OR lifetime IS NULL
    GROUP BY stack_id, context_name, lifetime, site, routine, stack, query, query_id"""

_STATE = """
    SELECT samples_dropped
    FROM pg_leakhunt_processes WHERE pid = %d"""


@dataclass
class Site:
    """A stack in a memory context."""
    context: str
    lifetime: str
    function: str
    routine: str
    stack: list


@dataclass
class Held:
    """What is held at a site, of which statements."""
    bytes: int = 0
    count: int = 0
    by_statement: dict = field(default_factory=dict)


@dataclass
class Measurement:
    """What a session holds at one time."""
    sites: dict
    held: dict
    lost: int


@dataclass
class Finding:
    """A site that grew in each run."""
    site: Site
    bytes: list                 # that each run added
    count: list
    statements: list            # texts, those that added most bytes first
    suppression: object = None
    confirmed: str = None

    def total(self):
        return sum(self.bytes)


def measure(questions, pid):
    """Returns what that session holds."""
    measurement = Measurement({}, {}, _lost(questions, pid))
    for row in questions.rows(_HELD % pid):
        key = (row["stack_id"] or row["site"], row["context_name"], row["lifetime"])
        measurement.sites[key] = Site(row["context_name"] or "[no room]", row["lifetime"],
                                      row["site"], row["routine"], row["stack"] or [])
        held = measurement.held.setdefault(key, Held())
        held.bytes += int(row["bytes"])
        held.count += int(row["count"])
        text = row["query"]
        held.by_statement[text] = held.by_statement.get(text, 0) + int(row["bytes"])
    return measurement


def _lost(questions, pid):
    rows = questions.rows(_STATE % pid)
    return int(rows[0]["samples_dropped"] or 0) if rows else 0


def find(judged):
    """Returns what grew in each run after the first of these measurements, the most bytes
    first."""
    findings = [_finding(key, judged) for key in judged[-1].held]
    return sorted((finding for finding in findings if finding is not None),
                  key=lambda finding: (-finding.total(), str(finding.site.function)))


def _finding(key, judged):
    held = [measurement.held.get(key, Held()) for measurement in judged]
    added_bytes = [after.bytes - before.bytes for before, after in zip(held, held[1:])]
    added_count = [after.count - before.count for before, after in zip(held, held[1:])]
    if not all(size > 0 or (size == 0 and count > 0)
               for size, count in zip(added_bytes, added_count)):
        return None
    return Finding(judged[-1].sites[key], added_bytes, added_count,
                   _grown_statements(held[0], held[-1]))


def _grown_statements(before, after):
    grown = {text: size - before.by_statement.get(text, 0)
             for text, size in after.by_statement.items()}
    return [text for text in sorted(grown, key=grown.get, reverse=True)
            if text is not None and (grown[text] > 0 or text not in before.by_statement)]

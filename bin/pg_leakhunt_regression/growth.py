"""What a session holds after each run, and which sites grew in all of them.

A site is a stack in a memory context.  The first two runs are a warm-up: a site is found
if it holds more after each further run than after the one before it.  As soon as there is
no such site, the runs that are left cannot change that.
"""

from dataclasses import dataclass, field

WARM_UP = 2

# What holds nothing is left out: there is a row of each site and statement that ever
# allocated.  A site without a stack, such as [no room], is known by that word.
_HELD = """
    SELECT coalesce(stack_id::text, site) AS stack, context_name AS context, lifetime,
        sum(live_bytes) AS bytes, sum(live_count) AS count
    FROM pg_leakhunt_report(%d)
    WHERE (lifetime IN ('session', 'process') OR lifetime IS NULL)
        AND (live_bytes > 0 OR live_count > 0)
    GROUP BY 1, 2, 3"""

_DESCRIBED = """
    SELECT coalesce(stack_id::text, site) AS key, context_name AS context, lifetime, site,
        routine, stack, query, live_bytes AS bytes, live_count AS count
    FROM pg_leakhunt_report(%d)
    WHERE coalesce(stack_id::text, site) IN (%s)
        AND (live_bytes > 0 OR live_count > 0)
    ORDER BY live_bytes DESC"""

# A context in which nothing is allocated has no site, but becomes one more of its name.
_CONTEXTS = """
    SELECT context_name AS context, lifetime, instances AS count
    FROM pg_leakhunt_contexts
    WHERE pid = %d AND lifetime = 'session' AND instances > 0"""
CONTEXTS = "[memory contexts]"

_STATE = "SELECT samples_dropped FROM pg_leakhunt_sampling WHERE pid = %d"


@dataclass
class Site:
    """A stack in a memory context."""
    context: str
    function: str = None
    routine: str = None
    stack: list = field(default_factory=list)


@dataclass
class Measurement:
    """What a session holds at one time: bytes and chunks, by site."""
    held: dict
    lost: int


@dataclass
class Finding:
    """A site that grew in each run, or that has lost chunks."""
    key: tuple
    bytes: list                 # that each run added; the one of what is lost
    count: list
    site: Site
    statements: list = field(default_factory=list)  # texts, those that hold most first
    suppression: object = None
    confirmed: str = None
    is_lost: bool = False       # else, it is held by something

    def total(self):
        return sum(self.bytes)


def measure(questions, pid):
    """Returns what that session holds."""
    rows = questions.rows(_STATE % pid)
    lost = int(rows[0]["samples_dropped"] or 0) if rows else 0
    held = {(row["stack"], row["context"], row["lifetime"]): (int(row["bytes"]), int(row["count"]))
            for row in questions.rows(_HELD % pid)}
    for row in questions.rows(_CONTEXTS % pid):
        held[CONTEXTS, row["context"], row["lifetime"]] = (0, int(row["count"]))
    return Measurement(held, lost)


def find(measurements):
    """Returns what grew in each run after the first of these measurements, the most bytes
    first."""
    found = [finding for finding in (_finding(key, measurements)
                                     for key in measurements[-1].held) if finding is not None]
    with_sites = {finding.key[1] for finding in found if finding.key[0] != CONTEXTS}
    return sorted((finding for finding in found
                   if finding.key[0] != CONTEXTS or finding.key[1] not in with_sites),
                  key=lambda finding: (-finding.total(), finding.key[0]))


def describe(questions, pid, findings):
    """Notes with each finding its functions and its statements."""
    if not findings:
        return
    of_key = {finding.key: finding for finding in findings}
    keys = ", ".join("'" + key[0].replace("'", "''") + "'" for key in of_key)
    for row in questions.rows(_DESCRIBED % (pid, keys)):
        finding = of_key.get((row["key"], row["context"], row["lifetime"]))
        if finding is not None:
            _add_row(finding, row)


def _add_row(finding, row):
    site = finding.site
    site.function, site.stack = row["site"], row["stack"] or []
    site.routine = site.routine or row["routine"]
    # what holds fewer chunks than there were runs did not add one in each
    once = int(row["count"]) < len(finding.count) and min(finding.count) > 0
    if row["query"] and not once and row["query"] not in finding.statements:
        finding.statements.append(row["query"])


def _finding(key, measurements):
    held = [measurement.held.get(key, (0, 0)) for measurement in measurements]
    added_bytes = [after[0] - before[0] for before, after in zip(held, held[1:])]
    added_count = [after[1] - before[1] for before, after in zip(held, held[1:])]
    if not all(size > 0 or (size == 0 and count > 0)
               for size, count in zip(added_bytes, added_count)):
        return None
    return Finding(key, added_bytes, added_count,
                   Site(key[1] or "[no room]", CONTEXTS if key[0] == CONTEXTS else None))

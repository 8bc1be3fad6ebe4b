"""What a session has lost: a proof shows that no pointer leads to it any more.

Nothing has to be repeated for that: a file is run once, and what is lost after it, and was not
before, is a leak to the byte.  What somebody can still reset is left to growth.
"""

from . import growth

# Chunks of a call site, or of a kind: both are of the same memory.  The last row is there always;
# it tells how many the proof has, which are none where the session could not be proven.
_LOST = """
    WITH proof AS MATERIALIZED (SELECT * FROM pg_leakhunt_proof(%d))
    SELECT coalesce(stack_id::text, site) AS stack, context_name AS context, lifetime, kind,
        sum(lost_bytes - resettable_bytes) AS bytes,
        sum(lost_chunks - resettable_chunks) AS count
    FROM proof
    WHERE lifetime IN ('session', 'process') AND lost_chunks > resettable_chunks
        AND coalesce(site, kind) IS NOT NULL
    GROUP BY 1, 2, 3, 4
    UNION ALL SELECT NULL, NULL, NULL, NULL, 0, count(*) FROM proof"""

# Where samples have not seen the chunks come, as in a context that is moved when it is complete.
UNKNOWN = "[call site not known]"

# What the proof calls contexts that are lost as a whole.
_CONTEXT = "memory context"


def prove(questions, pid):
    """Returns what that session has lost, by call site, and by kind; None if it could not be
    proven."""
    *rows, proven = sorted(questions.rows(_LOST % pid), key=lambda row: row["lifetime"] is None)
    if int(proven["count"]) == 0:
        return None
    return {(row["stack"] or UNKNOWN, row["context"], row["lifetime"], row["kind"]):
            (int(row["bytes"]), int(row["count"])) for row in rows}


def find(before, after):
    """Returns what is lost now and was not before, the most bytes first."""
    gains = {key: _gain(before.get(key, (0, 0)), lost) for key, lost in after.items()}
    with_sites = {key[1] for key, gain in gains.items() if key[0] != UNKNOWN and gain[1] > 0}
    found = [_finding(key, gain) for key, gain in gains.items()
             if gain[1] > 0 and (key[0] != UNKNOWN or key[1] not in with_sites)]
    return sorted(found, key=lambda finding: (-finding.total(), finding.key[0]))


def _gain(before, after):
    return after[0] - before[0], after[1] - before[1]


def _finding(key, gain):
    stack, context, lifetime, kind = key
    if stack == UNKNOWN and kind == _CONTEXT:
        return growth.Finding((growth.CONTEXTS, context, lifetime), [gain[0]], [gain[1]],
                              growth.Site(context, growth.CONTEXTS), is_lost=True)
    site = growth.Site(context, f"{UNKNOWN}, {kind}" if stack == UNKNOWN else None)
    return growth.Finding((stack, context, lifetime), [gain[0]], [gain[1]], site, is_lost=True)

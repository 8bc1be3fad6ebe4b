"""Patterns of sites that are left out.

A file of them is as LeakSanitizer reads it: a pattern per line, "leak:" before it or not,
and "context:" before one of a memory context's name.  What is written above it as a
comment is the reason, up to the next empty line.  Several patterns that are joined by
" & " must all match; one with "!" before it must not.  Two that are joined by " < " must
match a frame and its caller.  A reason that begins with "15-17:" counts on these versions
only.
"""

import os
import re
from dataclasses import dataclass

from .errors import CannotRun

# not a year, with which a reason may begin
_VERSIONS = re.compile(r"^(\d{1,2})(?:-(\d{1,2})?)?:\s*")


@dataclass
class Suppression:
    """Patterns that must all match, and why what they match is left out."""
    patterns: list
    reason: str
    versions: tuple
    of_core: bool
    matched: int = 0

    def text(self):
        return " & ".join(self.patterns)

    def matches(self, site):
        return all(_matches(pattern, site) for pattern in self.patterns)


def read(path, of_core=False):
    """Returns the suppressions of a file."""
    try:
        with open(path, encoding="utf-8") as lines:
            return _parse(lines, of_core)
    except (OSError, UnicodeError, ValueError) as error:
        raise CannotRun(f"could not read the suppressions of {path}: {error}") from error


def core_file():
    """Returns the file of what PostgreSQL itself keeps, which lies beside this one."""
    return os.path.join(os.path.dirname(os.path.realpath(__file__)), "core.supp")


def of_version(suppressions, version):
    """Returns those that count on a major version of PostgreSQL."""
    return [suppression for suppression in suppressions
            if suppression.versions[0] <= version <= suppression.versions[1]]


def apply(suppressions, findings):
    """Notes with each finding which suppression matches it."""
    for finding in findings:
        for suppression in suppressions:
            if suppression.matches(finding.site):
                finding.suppression = suppression
                suppression.matched += 1
                break


def _parse(lines, of_core):
    suppressions, reason, patterns_follow = [], [], False
    for line in lines:
        line = line.strip()
        if line.startswith("#"):
            if patterns_follow:
                reason, patterns_follow = [], False
            reason.append(line[1:].strip())
        elif not line:
            reason, patterns_follow = [], False
        else:
            suppressions.append(_suppression(line, " ".join(reason), of_core))
            patterns_follow = True
    return suppressions


def _suppression(line, reason, of_core):
    versions = (0, 9999)
    found = _VERSIONS.match(reason)
    if found:
        first = int(found.group(1))
        last = int(found.group(2)) if found.group(2) else (
            9999 if "-" in found.group(0) else first)
        versions, reason = (first, last), reason[found.end():]
    patterns = [re.sub("^leak:", "", pattern.strip()) for pattern in line.split(" & ")]
    if any(re.fullmatch(r"!?(context:)?[\s^$*]*", pattern) for pattern in patterns):
        raise ValueError(f'"{line}" would match every call site')
    return Suppression(patterns, reason, versions, of_core)


def _matches(pattern, site):
    if pattern.startswith("!"):
        return not _matches(pattern[1:], site)
    if pattern.startswith("context:"):
        return bool(_expression(pattern[len("context:"):]).search(site.context or ""))
    chain = [_expression(part) for part in pattern.split(" < ")]
    return any(all(map(_matches_frame, chain, site.stack[start:]))
               for start in range(len(site.stack) - len(chain) + 1))


def _matches_frame(expression, frame):
    return any(expression.search(name) for name in _names(frame))


def _names(frame):
    """Returns the function, and the file or binary, that a frame of a stack names."""
    function, _, place = frame.partition(" (")
    return [function] + ([re.sub(r":\d+\)?$", "", place).rstrip(")")] if place else [])


def _expression(pattern):
    start = "^" if pattern.startswith("^") else ""
    end = "$" if pattern.endswith("$") else ""
    middle = pattern[len(start):len(pattern) - len(end)]
    return re.compile(start + ".*".join(map(re.escape, middle.split("*"))) + end)

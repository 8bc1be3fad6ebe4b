"""TAP on standard output, JUnit's XML, and a line of progress on a terminal."""

import os
import re
import sys
from xml.etree import ElementTree

from . import growth, statements
from .errors import CannotRun

# XML has no form for these characters: most control characters, surrogates, and two more.
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Progress:
    """A line on standard error that is overwritten, if somebody sees it."""

    def __init__(self):
        self._seen = sys.stderr.isatty()
        self._width = 0

    def show(self, text):
        if self._seen:
            sys.stderr.write("\r" + text.ljust(self._width))
            sys.stderr.flush()
            self._width = len(text)

    def clear(self):
        self.show("")
        if self._seen:
            sys.stderr.write("\r")


def plural(number, one, several):
    return f"{number} {one if number == 1 else several}"


def shortened(text):
    """Returns a text on one line of at most 200 characters."""
    text = " ".join(text.split())
    return text if len(text) <= 200 else text[:197] + "..."


def sentences(result, with_core):
    """Returns what there is to say of a file's runs, line by line."""
    lines = []
    for finding in result.listed(with_core):
        lines += _of_finding(finding, result.source(), os.path.basename(result.path))
    of_core, of_user = result.left_out(with_core)
    if of_core:
        lines.append("Not listed: " + plural(of_core, "call site", "call sites") +
                     " at which PostgreSQL itself keeps memory, which is no leak of the"
                     " extension; --all lists them.")
    if of_user:
        lines.append(plural(of_user, "call site", "call sites") + " suppressed.")
    return lines + result.notes + ([result.failure] if result.failure else [])


def _amount(sizes, one, several):
    least, most = min(sizes), max(sizes)
    return plural(most, one, several) if least == most else f"{least} to {most} {several}"


def _of_finding(finding, source, file):
    site = finding.site
    lines = [_what_leaks(finding)]
    if site.function != growth.CONTEXTS:
        lines.append("  in " + ("malloc, outside of memory contexts"
                                if site.context == "[malloc]" else site.context))
    if site.routine:
        lines.append(f"  routine: {site.routine}")
    if finding.statements:
        lines.append("  statement: " + _of_statement(finding.statements, source, file))
    if finding.confirmed:
        lines.append(f"  pg_leakhunt_check: {finding.confirmed}")
    if site.stack:
        lines.append("  stack: " + " < ".join(_of_interest(site.stack)))
    if finding.suppression:
        lines.append(f"  PostgreSQL keeps it: {finding.suppression.reason}")
    return lines


def _what_leaks(finding):
    site = finding.site
    if finding.is_lost:
        return f"{_what_is_lost(finding)} lost, nothing points to {_it(finding)}: {_of(site)}"
    if site.function == growth.CONTEXTS:
        return (f"{_amount(finding.count, 'memory context', 'memory contexts')} per run: "
                f"{site.context}, in which nothing is allocated")
    same = ", the same each time" if len(set(finding.bytes)) == 1 else ""
    return (f"{_amount(finding.bytes, 'byte', 'bytes')} in "
            f"{_amount(finding.count, 'chunk', 'chunks')} per run{same}: {site.function}")


def _what_is_lost(finding):
    if finding.site.function == growth.CONTEXTS:
        return plural(finding.count[0], "memory context", "memory contexts")
    return (f"{plural(finding.bytes[0], 'byte', 'bytes')} in "
            f"{plural(finding.count[0], 'chunk', 'chunks')}")


def _it(finding):
    return "it" if finding.count[0] == 1 else "them"


def _of(site):
    return site.context if site.function == growth.CONTEXTS else site.function


def _of_interest(stack):
    """Returns the frames up to the one by which the server runs all statements."""
    for number, frame in enumerate(stack):
        if frame.split(" (")[0] == "PostgresMain":
            return stack[:number]
    return stack


def _of_statement(texts, source, file):
    line = statements.line_of(source, texts[0])
    others = f" (and {len(texts) - 1} more)" if len(texts) > 1 else ""
    return (f"{file}:{line}: " if line else "") + shortened(texts[0]) + others


class Tap:
    """The Test Anything Protocol, a test as soon as it is over."""

    def __init__(self, with_core):
        self._with_core = with_core
        self._count = 0

    def say(self, result, passed):
        self._count += 1
        skipped = f" # SKIP {result.skipped}" if result.skipped else ""
        name = result.test.replace("\\", "\\\\").replace("#", "\\#")
        print(f"{'ok' if passed else 'not ok'} {self._count} - {name}{skipped}")
        for line in sentences(result, self._with_core):
            print("# " + line.replace("\n", "\n# "))
        sys.stdout.flush()

    def end(self, results, leaking):
        print(f"1..{self._count}")
        sites = sum(len(result.listed(self._with_core)) for result in results)
        print(f"# {plural(sites, 'call site leaks', 'call sites leak')} in "
              f"{plural(leaking, 'file', 'files')} of {len(results)}.")


def expect_writable(path):
    """Finds out before the tests run that their results can't be written; those of a former
    run are no longer there, should this one not come to its end."""
    try:
        with open(path, "wb"):
            pass
        os.remove(path)
    except OSError as error:
        raise CannotRun(f"could not write --junit={path}: {error.strerror}") from error


def _in_xml(text):
    return _NOT_IN_XML.sub("", text)


def write_junit(path, results, with_core, passed):
    """Writes the results as JUnit does, a test case for each file."""
    suite = ElementTree.Element(
        "testsuite", name="pg_leakhunt_regress", tests=str(len(results)),
        failures=str(sum(not passed(result) and not result.failure for result in results)),
        errors=str(sum(bool(result.failure) for result in results)),
        skipped=str(sum(bool(result.skipped) for result in results)),
        time=f"{sum(result.seconds for result in results):.3f}")
    for result in results:
        case = ElementTree.SubElement(suite, "testcase", classname="pg_leakhunt_regress",
                                      name=_in_xml(result.test), time=f"{result.seconds:.3f}")
        text = _in_xml("\n".join(sentences(result, with_core)))
        if result.skipped:
            ElementTree.SubElement(case, "skipped", message=result.skipped)
        elif not passed(result):
            kind = "error" if result.failure else "failure"
            ElementTree.SubElement(case, kind, message=text.split("\n")[0]).text = text
        elif text:
            ElementTree.SubElement(case, "system-out").text = text
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)

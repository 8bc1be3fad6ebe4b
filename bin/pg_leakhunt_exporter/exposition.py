"""Figures as Prometheus reads them: its text format, version 0.0.4."""

import math
import re

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# The columns of pg_leakhunt_metrics between name and value, which become labels.
LABELS = ("backend_type", "verdict", "context_name", "site", "query_id", "query")

UP = "pg_leakhunt_up"
HELP = {
    UP: "1, or 0 if pg_leakhunt cannot be asked or is not loaded: the log of pg_leakhunt_export says why.",
}


def expose(answers):
    """The text for the answers of servers, each of which has the labels of the server,
    whether all is well with it, and the rows of its metrics."""
    families = {UP: []}
    for labels, is_up, rows in answers:
        families[UP].append((labels, float(is_up)))
        for row in rows:
            name, value = "pg_leakhunt_" + plain_name(row[0]), row[-1]
            if value is not None:
                families.setdefault(name, []).append(
                    ({**labels, **dict(zip(LABELS, row[1:-1]))}, value))
    return "".join(family(name, samples) for name, samples in families.items())


def family(name, samples):
    """All samples of a name must stand together, after its type."""
    kind = "counter" if name.endswith("_total") else "gauge"
    default = f'Figure "{name[len("pg_leakhunt_"):]}" of the view pg_leakhunt_metrics.'
    lines = [f"# HELP {name} {HELP.get(name, default)}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{label_text(labels)} {number(value)}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def plain_name(name):
    return re.sub(r"[^a-zA-Z0-9_:]", "_", name)


def label_text(labels):
    pairs = [f'{name}="{escaped(value)}"' for name, value in labels.items() if value is not None]
    return "{" + ",".join(pairs) + "}" if pairs else ""


def escaped(value):
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def number(value):
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value).removesuffix(".0")

# SPDX-License-Identifier: MIT
"""Strict readers of what the command prints: JSON lines and CSV. A finding raises Wrong."""

import csv
import datetime
import functools
import io
import json
import math

SCHEMA = 1
COLUMNS = (
    "time interval total source kind name family socket pmu cpu value unit rate quality coverage "
    "instances count enabled_ns running_ns reason role filter port ceiling low high node channel date wall_ns monotonic_ns host missed "
    "device names level"
).split()
ENDS = "verdict ratio port_value devices_value devices_low devices_high devices verdict_reason".split()  # with --ends
QUALITIES = ("measured", "scaled", "partial", "suspect", "unavailable")


class Wrong(Exception):
    """What was read is not what the format promises."""


def check(condition, sentence, *about):
    """What it is about is only written out when it is wrong: that takes longer than all else."""
    if not condition:
        raise Wrong(" ".join([sentence, *map(str, about)]))


def _no_constant(name):
    raise Wrong(f"{name} is not JSON")


def _no_twins(pairs):
    names = [name for name, _ in pairs]
    check(len(names) == len(set(names)), f"an object has a key twice: {names}")
    return dict(pairs)


def json_value(text):
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_twins)
    except json.JSONDecodeError as error:
        raise Wrong(f"not JSON ({error}): {text[:200]!r}") from error


def json_lines(text):
    """Every line an object with a schema version; the last line ends, too."""
    check(text.endswith("\n"), f"the last line is cut off: {text[-80:]!r}")
    objects = [json_value(line) for line in text[:-1].split("\n")]
    for o in objects:
        check(isinstance(o, dict), "not an object:", repr(o))
        check(o.get("schema") == SCHEMA, f"schema is {o.get('schema')!r}")
    return objects


@functools.cache
def date_of(wall_ns):
    seconds = datetime.datetime.fromtimestamp(wall_ns // 10**9, datetime.timezone.utc)
    return f"{seconds:%Y-%m-%dT%H:%M:%S}.{wall_ns // 10**6 % 1000:03}Z"


def json_rows(text):
    """Rows of results: all keys there, every value of its kind."""
    rows = json_lines(text)
    for row in rows:
        for key in COLUMNS:
            check(key in row, "no", key, "in", row)
        for key in ("simulated", "total"):
            check(isinstance(row[key], bool), f"{key} is {row[key]!r}")
        check(row["kind"] in ("metric", "event"), f"kind is {row['kind']!r}")
        check(row["quality"] in QUALITIES, f"quality is {row['quality']!r}")
        check(row["value"] is not None or row["reason"], "no value and no reason:", row)
        unavailable = row["quality"] == "unavailable"
        # What fell is suspect, and has no value when nothing is left.
        fell = row["quality"] == "suspect" and "fell between" in row["reason"]
        check((row["value"] is None) == unavailable or fell, "value and quality:", row)
        for key in ("count", "enabled_ns", "running_ns", "instances"):
            check(row[key] is None or isinstance(row[key], int), key + " is no integer:", row)
        for key in ("time", "interval"):
            check(isinstance(row[key], (int, float)), key + " is no number:", row)
        for key in ("role", "filter", "port"):
            check(row[key] is None or row[key] and isinstance(row[key], str), key + ":", row)
        check(row["date"] == date_of(row["wall_ns"]), "date and wall_ns:", row)
        check(isinstance(row["monotonic_ns"], int), "monotonic_ns:", row)
        check(isinstance(row["missed"], int) and row["missed"] >= 0, "missed:", row)
        check(row["simulated"] == (row["host"] is None), "host:", row)
        ceiling = row["ceiling"]
        check(ceiling is None or ceiling > 0 and row["unit"] == "B/s", "ceiling:", row)
        if ceiling and row["value"] and row["value"] > 1.05 * ceiling:
            check(row["quality"] == "suspect", "over its ceiling:", row)
        if row["unit"] == "ratio" and row["value"] and row["value"] > 1.05:
            check(row["quality"] == "suspect", "over 100 %:", row)
    return rows


def csv_rows(text, separator=","):
    """Rows as dictionaries: one header line, the same columns everywhere."""
    check(text.endswith("\n"), f"the last line is cut off: {text[-80:]!r}")
    if len(separator) == 1:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    else:
        lines = [line.split(separator) for line in text[:-1].split("\n")]
    columns = COLUMNS + ENDS if "verdict" in lines[0] else COLUMNS
    check(lines[0] == columns, f"the header is {lines[0]}")
    for line in lines[1:]:
        check(len(line) == len(columns), "columns are not those of the header:", line)
        check(line != columns, "the header is there twice")
    rows = [dict(zip(columns, line)) for line in lines[1:]]
    for row in rows:
        check(row["kind"] in ("metric", "event"), f"kind is {row['kind']!r}")
        check(row["total"] in ("true", "false"), f"total is {row['total']!r}")
        check(row["quality"] in QUALITIES, f"quality is {row['quality']!r}")
        check(row["value"] or row["reason"], "no value and no reason:", row)
        for key in ("time", "interval", "value", "rate", "coverage", "ceiling", "low",
                    "high"):
            check(not row[key] or math.isfinite(float(row[key])), key + " is not finite:", row)
        check(row["date"] == date_of(int(row["wall_ns"])), "date and wall_ns:", row)
        for key in ("instances", "count", "enabled_ns", "running_ns", "channel", "monotonic_ns", "missed"):
            check(not row[key] or row[key].isdigit(), key + " is no whole number:", row)
    return rows

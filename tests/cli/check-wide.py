#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A table of --csv=wide must hold the rows of --csv of the same simulation: check-wide.py LONG WIDE [SEPARATOR]

A line for each interval, and a column for each row of one; names unique, with metric, place and unit."""

import csv
import itertools
import sys

QUALITIES = ["measured", "scaled", "partial", "suspect", "unavailable"]
SHARED = ["time", "interval", "source", "date", "wall_ns", "monotonic_ns", "host", "quality", "reason"]


def check(good, sentence):
    if not good:
        sys.exit(f"check-wide: {sentence}")


def check_column(name, row):
    check(name.endswith(f" ({row['unit'] or 'count'})"), f"unit: {name}: {row}")
    name = name[: name.rindex(" (")]
    check(name.split("/")[-1].startswith(row["name"].split("/")[-1]), f"metric: {name}: {row}")
    for key in "pmu", "port", "role", "filter":
        known = row["port"] if key == "pmu" and row["port"] else row[key]
        check(row["channel"] or known in name, f"{key}: {name}: {row}")
    for key in "socket", "node", "channel":
        alone = not row["pmu"] and not row["port"] and not row["node"]
        check(not row[key] or (key == "socket" and not alone) or f" {row[key]}" in name, f"{key}: {name}: {row}")


def main():
    separator = sys.argv[3] if len(sys.argv) > 3 else ","
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        long = list(csv.DictReader(file, delimiter=separator))
    with open(sys.argv[2], encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file, delimiter=separator)
    check(header[: len(SHARED)] == SHARED, f"the first columns: {header}")
    check(len(set(header)) == len(header), f"columns of one name: {sorted(header)}")
    intervals = [list(rows) for _, rows in itertools.groupby(long, lambda row: row["time"])]
    check(long and len(intervals) == len(lines), f"{len(lines)} lines for {len(intervals)} intervals")
    for rows, line in zip(intervals, lines):
        check(len(line) == len(header), f"{len(line)} cells under {len(header)} names")
        shared, cells = dict(zip(SHARED, line)), line[len(SHARED):]
        for name in "time", "interval", "source", "host":
            check(shared[name] == rows[0][name], f"{name}: {shared}: {rows[0]}")
        check(cells == [row["value"] for row in rows], f"values: {cells}: {rows}")
        worst = max((row for row in rows if row["value"]), default=rows[0],
                    key=lambda row: QUALITIES.index(row["quality"]))
        check(shared["quality"] == worst["quality"], f"quality: {shared}: {worst}")
        check(shared["reason"] == (f"{worst['name']}: {worst['reason']}" if worst["reason"] else ""),
              f"reason: {shared}: {worst}")
        for name, row in zip(header[len(SHARED):], rows):
            check_column(name, row)


if __name__ == "__main__":
    main()

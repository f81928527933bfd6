#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The numbers of a table are those of the rows in JSON.

  check-grid.py TABLE TEXT ROWS

TABLE is a table of views.yaml, TEXT what the command printed, and ROWS what it printed with -j. Each cell must be the value
of a row of its place and column, with the mark of the row's quality, and each row of a column must be in a cell."""

import os
import pathlib
import re
import sys

import rows
from rows import Wrong, check

VIEWS = pathlib.Path(os.environ["UNCORE_SOURCE_ROOT"]) / "data/names/views.yaml"
PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "µ": 1e-6, "u": 1e-6, "n": 1e-9}
MARKS = {"measured": "", "unavailable": "", "scaled": "~", "partial": "!", "suspect": "!"}
ROUNDING = 5.1e-4  # four digits
CELL = re.compile(r"(-|[0-9.,]+)(?: ([^ ~!]+))?(?: ([~!]))?")


def read_views(table):
    """The columns by the title of the view: {title: {column: [pattern of a metric]}}."""
    views, view = {}, None
    text = re.sub(r">-\n\s+", "", VIEWS.read_text(encoding="utf-8"))
    for entry in re.split(r"\n  - name: ", text)[1:]:
        title = re.search(r"\n    title: (.*)", entry)[1]
        at = re.search(r"\n    (?:table|screen): (.*)", entry)[1]
        if at != table:
            continue
        view = views[title] = {}
        for column in re.finditer(r"title: ([A-Z/ 0-9]+?)(?:,|\n +)\s*metrics: \"?((?:(?:[a-z0-9.]|\{n\})+\s*)+)", entry):
            view[column[1]] = [re.escape(name).replace(r"\{n\}", "([0-9]+)") for name in column[2].split()]
    check(views, f"views.yaml has no table {table}")
    return views


def read_tables(text, views):
    """(view, label, {column: cell}) of each line."""
    view, ends, lines = None, [], []
    for line in text.split("\n"):
        title = next((t for t in sorted(views, key=len, reverse=True) if re.match(re.escape(t) + "  +[A-Z]", line)), None)
        if title:
            view = title
            ends = [(m[0], m.end()) for m in re.finditer(r"\S+(?: \S+)*", line[len(title):])]
            ends = [(name, end + len(title)) for name, end in ends]
        elif not line or not re.search(r"  +[-0-9]", line) or line.startswith(" "):
            if not line.startswith(" "):
                view = None if line and not line[0].isdigit() else view
        elif view:
            begin = len(re.match(r"\S+(?: \S+)*", line)[0])
            cells, at = {}, begin
            for name, end in ends:
                cells[name], at = line[at:end].strip(), end
            lines.append((view, line[:begin], cells))
    return lines


def label_of(row, number):
    level, role = row["level"], row["role"]
    place = {
        "machine": "sum" if row["filter"] else "machine",
        "socket": f"socket {row['socket']}",
        "node": f"node {row['node']}",
        "channel": f"socket {row['socket']}, channel {row['channel']}",
    }.get(level, row["pmu"])
    if role:
        place = role if level == "machine" else f"{place}, {role}"
    return place if number is None else f"{place}, {number}"


def value_of(cell):
    """The number in the row's unit, the unit and the mark."""
    match = CELL.fullmatch(cell)
    check(match, "not a value:", repr(cell))
    if match[1] == "-":
        return None, None, match[3] or ""
    number, unit = float(match[1].replace(",", "")), match[2] or ""
    for prefix, base in (("%", 0.01),):
        if unit == prefix:
            return number * base, "ratio", match[3] or ""
    for known in ("B/s", "Hz", "s", "W"):
        if unit.endswith(known) and unit[: -len(known)] in PREFIXES and unit != "/s":
            return number * PREFIXES[unit[: -len(known)]], known, match[3] or ""
    if unit.endswith("/s"):
        return number * PREFIXES[unit[:-2].replace("1", "")], "1/s", match[3] or ""
    return number, unit, match[3] or ""


def is_cell(cell, row):
    number, unit, mark = value_of(cell)
    if number is None or row["value"] is None:
        return number is None and row["value"] is None
    near = abs(number - row["value"]) <= ROUNDING * abs(row["value"]) + 1e-30
    return near and unit == row["unit"] and mark == MARKS[row["quality"]]


def main(table, text, json):
    views = read_views(table)
    lines = read_tables(pathlib.Path(text).read_text(encoding="utf-8"), views)
    found = rows.json_rows(pathlib.Path(json).read_text(encoding="utf-8"))
    check(len({row["time"] for row in found}) == 1, "this compares one interval")
    check(lines, "no line")
    compared, places = 0, set()
    for view, label, cells in lines:
        for column, cell in cells.items():
            if not cell or column not in views[view]:
                continue
            places.add((view, label))
            candidates = []
            for pattern in views[view][column]:
                for row in found:
                    match = re.fullmatch(pattern, row["name"])
                    word = re.search(r"([a-z]+)\.?[0-9]", row["name"])
                    number = f"{word[1]} {match[1]}" if match and match.groups() else None
                    if match and label_of(row, number) == label:
                        candidates.append(row)
            check(any(is_cell(cell, row) for row in candidates), f"{view}, {label}, {column}:", repr(cell), candidates)
            compared += 1
    for row in found:
        for view, columns in views.items():
            if row["level"] not in ("machine", "socket", "channel") or row["role"]:
                continue
            if any(re.fullmatch(p, row["name"]) and "(" not in p for ps in columns.values() for p in ps):
                check((view, label_of(row, None)) in places, f"{view} has no line of", row)
    print(f"{table}: {compared} cells are right")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Wrong as error:
        sys.exit(f"check-grid: {error}")

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every number on screens of top is one that stat counts: top-numbers SCREENS ROWS VIEWS

SCREENS is what the terminal shows, one screen after another. ROWS are lines of `stat -j` of the same interval, at all
levels. VIEWS is data/names/views.yaml. Lines of the machine, sockets and channels are compared with the rows of that
place and the metrics of their column; all other numbers with those of any row."""

import json
import re
import sys

PREFIX = {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1}
NUMBER = re.compile(r"(?<![\w.:])(\d[\d,]*(?:\.\d+)?) (([TGMk]?)B/s|W|s|ms|µs|ns|%|M/s|1/s)(?![\w/])")
SCALE = {"W": 1, "s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "%": 0.01, "M/s": 1e6, "1/s": 1}
COLUMNS = ("in", "out", "total", "share", "latency")
PLACE = re.compile(r"^ +(machine|socket (\d+)(?:, channel (\d+))?|channel (\d+))(?= |$)")


def views(path):
    """The titles and metrics of each view; a strict subset of YAML, as the file is written."""
    found, last = [], None
    for line in open(path, encoding="utf-8").read().replace(">-\n", "").split("\n"):
        if line.lstrip().startswith("#"):
            continue
        if match := re.match(r"  - name: (\S+)", line):
            found.append({"columns": {}})
        elif match := re.match(r"    title: (.*)", line):
            found[-1]["title"] = match[1]
        elif match := re.match(r"    (%s): ?(.*)" % "|".join(COLUMNS), line):
            last = found[-1]["columns"].setdefault(match[1], {"title": "", "metrics": []})
            if inner := re.match(r'\{title: ([^,]*), metrics: "?([^"}]*(?:\{n\}[^"}]*)*)"?\}', match[2]):
                last["title"], last["metrics"] = inner[1], inner[2].split()
        elif match := re.match(r"      title: (.*)", line):
            last["title"] = match[1]
        elif match := re.match(r"      (?:metrics: )?(.*)", line):
            last["metrics"] += match[1].split()
    return {view["title"]: view for view in found}


def is_metric(name, patterns):
    return any(re.fullmatch(re.escape(p).replace(r"\{n\}", r"\d+"), name) for p in patterns)


def close(shown, unit, value):
    """Whether the value, rounded to as many digits, is what is shown."""
    digits = len(shown.split(".")[1]) if "." in shown else 0
    scale = SCALE.get(unit) or PREFIX[unit[0] if len(unit) > 3 else ""]
    return value is not None and abs(float(shown.replace(",", "")) - value / scale) <= 0.5001 * 10 ** -digits


def main():
    rows = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
    known = views(sys.argv[3])
    every = [row["value"] for row in rows] + [row["ceiling"] for row in rows if row.get("ceiling")]
    every += [row["value"] / row["ceiling"] for row in rows if row.get("ceiling") and row["value"] is not None]
    # The graph's sum of two directions, which no metric counts.
    sums = [a["value"] + b["value"] for a in rows for b in rows if a["value"] is not None and b["value"] is not None
            and a["name"] < b["name"] and a.get("port") == b.get("port") and a.get("pmu") == b.get("pmu")]
    view, socket, checked, placed = None, None, 0, 0
    for line in open(sys.argv[1], encoding="utf-8"):
        line = line.rstrip("\n")
        head = next((v for title, v in known.items() if re.match(re.escape(title) + r"(  |$)", line)), None)
        view = head or view
        if head:
            titles = {column: line.find(" " + c["title"]) + 1 + len(c["title"]) for column, c in
                      head["columns"].items() if " " + c["title"] in line}
            socket = None
        if "│" in line or "─ now" in line or line.startswith(("SIMULATED", "F1 ")):
            continue
        place = PLACE.match(line)
        channel = int(place[3] or place[4]) if place and (place[3] or place[4]) else None
        if place and place[2]:
            socket = int(place[2])
        for number in NUMBER.finditer(re.sub(r"LAST \d+ s", lambda m: " " * len(m[0]), line)):
            shown, unit = number[1], number[2]
            column = next((c for c, end in titles.items() if end == number.end()), None) if view else None
            if place and column:
                values = [row["value"] for row in rows if is_metric(row["name"], view["columns"][column]["metrics"]) and
                          (channel is not None or not row.get("pmu")) and not row.get("port") and
                          row.get("channel") == channel and
                          (row.get("socket") == socket or place[1] == "machine" and row.get("socket") is None or
                           channel is not None and socket is None)]
                placed += 1
            else:
                values = every + (sums if "TOTAL" in line[:number.start()] or " of " in line else [])
            checked += 1
            if not any(close(shown, unit, value) for value in values):
                sys.exit(f"{shown} {unit} is counted by no row ({column}): {line}\n{values[:9]}")
    print(checked, placed)
    if checked < 40 or placed < 4:
        sys.exit("too few numbers were found")


main()

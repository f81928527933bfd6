#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every number on screens of top is the one that stat counts for its line and column: top-numbers SCREENS ROWS VIEWS

SCREENS is what the terminal shows, one screen after another. ROWS are lines of `stat -j` of the same interval, at all
levels. VIEWS is data/names/views.yaml. A line of a list is compared with the rows of its place (machine, socket, channel,
root port, PMU, device, other end of a link) and the metrics of its column, and its share with their ceilings. The words
above and below a list, and the tree of all metrics, are compared with all rows."""

import json
import re
import sys

PREFIX = {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1}
NUMBER = re.compile(r"(?<![\w.:])(\d[\d,]*(?:\.\d+)?) (([TGMk]?)B/s|W|s|ms|µs|ns|%|M/s|1/s)(?![\w/])")
SCALE = {"W": 1, "s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "%": 0.01, "M/s": 1e6, "1/s": 1}
COLUMNS = ("in", "out", "total", "share", "latency")
PLACE = re.compile(r"^ +(machine|socket (\d+)(?:, channel (\d+))?|channel (\d+))(?=,? |$)")


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
        elif line.startswith("    screen: "):
            found[-1]["screen"] = True
        elif match := re.match(r"    (%s): ?(.*)" % "|".join(COLUMNS), line):
            last = found[-1]["columns"].setdefault(match[1], {"title": "", "metrics": []})
            if inner := re.match(r'\{title: ([^,]*), metrics: ("[^"]*"|[^}]*)\}', match[2]):
                last["title"], last["metrics"] = inner[1], inner[2].strip('"').split()
        elif match := re.match(r"      title: (.*)", line):
            last["title"] = match[1]
        elif match := re.match(r"      (?:metrics: )?(.*)", line):
            last["metrics"] += match[1].split()
    return {view["title"]: view for view in found if "screen" in view}


def is_metric(name, patterns):
    return any(re.fullmatch(re.escape(p).replace(r"\{n\}", r"\d+"), name) for p in patterns)


def close(shown, unit, value):
    """Whether the value, rounded to as many digits, is what is shown."""
    digits = len(shown.split(".")[1]) if "." in shown else 0
    scale = SCALE.get(unit) or PREFIX[unit[0] if len(unit) > 3 else ""]
    return value is not None and abs(float(shown.replace(",", "")) - value / scale) <= 0.5001 * 10 ** -digits


def words(text):
    return set(re.split(r"[\s,?]+", text))


def place_of(head, socket, rows):
    """What decides whether a row is of the line that begins with `head`; None: it is no line of a list."""
    place, said = PLACE.match(head), words(head)
    channel = next((int(n) for n in (place[3], place[4]) if n), None) if place else None
    if channel is not None:
        return lambda row: row["channel"] == channel and socket in (None, row["socket"])
    # A port has the name of its device, and its link. A device that counts itself may have the same name.
    if "GT/s x" in head and (ports := {row["port"] for row in rows if row["port"] and said & words(row["names"] or "")}):
        return lambda row: row["port"] in ports
    if pmus := said & {row["pmu"] for row in rows if row["pmu"]}:
        return lambda row: row["pmu"] in pmus and not row["port"] and row["channel"] is None
    if ports := said & {row["port"] for row in rows if row["port"]}:
        return lambda row: row["port"] in ports
    if roles := {row["role"] for row in rows if row["role"] and row["role"] in head}:
        return lambda row: row["role"] in roles and not row["pmu"] and row["socket"] == (socket if place else None)
    if place:
        return lambda row: not (row["pmu"] or row["port"] or row["role"]) and row["channel"] is None and \
            row["node"] is None and row["socket"] == (None if place[1] == "machine" else socket)
    return None


def values_of(column, view, mine):
    """What the column may show: of the first of its metrics that the place has, since others are of no line."""
    if column == "%":
        traffic = [row for c in ("in", "out", "total") for row in mine if c in view["columns"] and
                   is_metric(row["name"], view["columns"][c]["metrics"]) and row["ceiling"] and row["value"] is not None]
        names = {row["name"] for row in traffic}
        best = [max((row["value"] / row["ceiling"] for row in traffic if row["name"] == name), default=0) for name in names]
        share = view["columns"].get("share", {"metrics": []})
        return [max(best)] if best else [row["value"] for row in mine if is_metric(row["name"], share["metrics"])]
    return [row["value"] for row in mine if is_metric(row["name"], view["columns"][column]["metrics"])]


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
            titles = {line.find(" " + c["title"]) + 1 + len(c["title"]): column for column, c in head["columns"].items()
                      if " " + c["title"] in line and column != "share"}
            socket = None
        if "│" in line or "─ now" in line or line.startswith(("SIMULATED", "F1 ")):
            view = None if line.startswith("F1 ") else view # the tree of metrics has no titles of a view
            continue
        if (place := PLACE.match(line)) and place[2]:
            socket = int(place[2])
        first = NUMBER.search(line)
        mine = place_of(line[:first.start()], socket, rows) if first and view and line.startswith(" ") else None
        of_line = [row for row in rows if mine(row)] if mine else []
        # A part that is in the metric's name: "complex 0" of pcie.inbound.complex0.bandwidth.
        if part := re.search(r"(?:, |^ +)(complex|port|link) (\d+)(?= |$)", line):
            of_line = [row for row in of_line if re.search(rf"\b{part[1]}\.?{part[2]}\.", row["name"])]
        for number in NUMBER.finditer(line):
            shown, unit = number[1], number[2]
            column = "%" if unit == "%" else titles.get(number.end()) if view else None
            if mine and column:
                values = values_of(column, view, of_line)
                placed += 1
            elif view and line.startswith(" ") and column:
                sys.exit(f"the place of this line is not known: {line}")
            else:
                values = every + (sums if "TOTAL" in line[:number.start()] or " of " in line else [])
            checked += 1
            if not any(close(shown, unit, value) for value in values):
                sys.exit(f"{shown} {unit} is counted by no row ({column}): {line}\n{values[:9]}")
    print(checked, placed)
    if checked < 40 or placed < checked / 2:
        sys.exit("too few numbers were found")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""check-summary SUMMARY INTERVALS: the statistics of `uncore report FILE -j` against the rows of its intervals, computed
anew. Prints the number of rows that are in both; a difference is an error."""

import json
import math
import sys

KEY = ("name", "family", "filter", "socket", "node", "channel", "port", "role", "pmu", "cpu")


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def key(row):
    return tuple(row[name] for name in KEY)


def same(a, b):
    return a is b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9))


intervals = {}
for row in read(sys.argv[2]):
    intervals.setdefault(key(row), []).append(row)
compared, wrong = 0, []
for row in read(sys.argv[1]):
    rows = intervals.get(key(row))
    if row["role"] == "sum":
        parts = [one for other, each in intervals.items() if other[:2] == key(row)[:2] for one in each]
        rows = [
            {"date": date, "interval": 1, "value": sum(one["value"] for one in parts if one["date"] == date)}
            for date in sorted({one["date"] for one in parts})
        ]
    if not rows:
        continue
    known = [one for one in rows if one["value"] is not None]
    values = sorted(one["value"] for one in known)
    most = max(known, key=lambda one: one["value"]) if known else {"value": None, "date": None}
    expected = {
        "p50": values[math.ceil(0.5 * len(values)) - 1] if values else None,
        "p99": values[math.ceil(0.99 * len(values)) - 1] if values else None,
        "max": most["value"],
        "intervals": len(values),
        "missing": len(rows) - len(values),
    }
    if row["unit"] == "B/s":
        seconds = sum(one["interval"] for one in known)
        expected["mean"] = sum(one["value"] * one["interval"] for one in known) / seconds if known else None
    wrong += [f"{key(row)}: {name} is {row[name]} and not {value}" for name, value in expected.items() if not same(row[name], value)]
    if row["max_date"] != most["date"]:
        wrong.append(f"{key(row)}: the maximum was at {most['date']} and not {row['max_date']}")
    compared += 1
print(f"{compared} rows compared")
if wrong:
    sys.exit("\n".join(wrong))

# SPDX-License-Identifier: MIT
"""Whether a recording has the rows that stat printed: check-record.py FILE <JSON-LINES. Prints their number."""

import json
import sqlite3
import sys

PLACE = ("name", "family", "filter", "socket", "node", "channel", "cpu", "pmu", "port", "role")

con = sqlite3.connect(sys.argv[1])
con.row_factory = sqlite3.Row
recorded = {}
for row in con.execute("SELECT * FROM samples"):
    key = (row["tick"], *(row[name] for name in PLACE))
    assert key not in recorded, f"twice: {key}"
    recorded[key] = row

printed = 0
for line in sys.stdin:
    row = json.loads(line)
    tick = round(row["time"] / row["interval"])
    other = recorded[(tick, *(row[name] for name in PLACE))]
    assert other["interval_s"] == row["interval"], (dict(other), row)
    assert other["wall_ns"] == row["wall_ns"], (dict(other), row)
    for name in ("quality", "reason", "unit"):
        assert other[name] == row[name], (name, dict(other), row)
    for name in ("value", "ceiling"):
        a, b = other[name], row[name]
        assert a is b if a is None or b is None else abs(a - b) <= 1e-5 * abs(b), (name, dict(other), row)
    printed += 1
print(printed)

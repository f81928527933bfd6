#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""JSON rows of msr/tsc/ and clock.tsc.frequency on standard input, against the frequency of the TSC:
check-late.py HERTZ

Nothing but its own bounds excuses a value that is neither suspect nor unavailable: an event's count
belongs to the interval of its row, a frequency is the frequency. Values without bounds may be 1 % off.
Prints how many rows there were and how many were suspect."""

import collections
import json
import sys

SHARE = 0.01


def main():
    hertz = float(sys.argv[1])
    wrong = []
    seen = collections.Counter()
    for line in sys.stdin:
        row = json.loads(line)
        seen[row["quality"]] += 1
        if row["quality"] in ("suspect", "unavailable"):
            if not row["reason"]:
                wrong.append(("no reason", row))
            continue
        truth = hertz
        if row["kind"] == "event":
            truth *= row["instances"]
            share = (row["high"] - row["value"]) / row["value"] if row["high"] else 0
            rate = row["rate"] or 0
            checks = [(row["rate"], truth, rate * (1 - share), rate * (1 + share))]
            truth *= row["interval"]
        else:
            checks = []
        checks.append((row["value"], truth, row["low"], row["high"]))
        checks = [check for check in checks if check[0] is not None]
        for value, expected, low, high in checks:
            low = value if low is None else low
            high = value if high is None else high
            if not low * (1 - SHARE) <= expected <= high * (1 + SHARE):
                wrong.append((value / expected, row))
    for off, row in wrong[:5]:
        print(off, json.dumps(row))
    print(f"{sum(seen.values())} rows, {len(wrong)} wrong,", dict(seen))
    sys.exit(bool(wrong) or not seen)


if __name__ == "__main__":
    main()

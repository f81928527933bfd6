#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Standard input must be rows in the format promised: check-rows.py json|csv [SEPARATOR] [WORD...]

WORD: `simulated` or `real` (every row must say so), `N=COUNT` (so many rows)."""

import sys

import rows
from rows import check


def is_simulated(row):
    if isinstance(row.get("simulated"), bool):
        check(row["source"].startswith("sim:") == row["simulated"], f"source: {row}")
        return row["simulated"]
    return row["source"].startswith("SIMULATED ")


def main():
    kind, words = sys.argv[1], sys.argv[2:]
    separator = ","
    if kind == "csv" and words and words[0] not in ("simulated", "real") and "N=" not in words[0]:
        separator = words.pop(0)
    text = sys.stdin.read()
    try:
        found = rows.json_rows(text) if kind == "json" else rows.csv_rows(text, separator)
        check(found, "there are no rows")
        for word in words:
            if word.startswith("N="):
                check(len(found) == int(word[2:]), f"{len(found)} rows and not {word[2:]}")
                continue
            for row in found:
                check(is_simulated(row) == (word == "simulated"), f"not {word}: {row}")
    except rows.Wrong as wrong:
        sys.exit(f"check-rows: {wrong}")


if __name__ == "__main__":
    main()

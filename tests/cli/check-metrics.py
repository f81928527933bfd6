#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every metric that `uncore list` names must be planned and explained: check-metrics.py ROOT..."""

import fnmatch
import os
import subprocess
import sys

import rows
from rows import check

PARTS = ("formula", "evidence", "perf stat -a")


def ask(*args):
    run = subprocess.run([os.environ["UNCORE"], *args], capture_output=True, text=True, check=False,
                         timeout=60)
    check(run.returncode == 0, f"{' '.join(args)}: status {run.returncode}: {run.stderr}")
    check(run.stdout, f"{' '.join(args)}: nothing")
    return run.stdout


def main():
    try:
        for root in sys.argv[1:]:
            metrics = rows.json_value(ask("--root", root, "list", "--json", "metrics"))["metrics"]
            check(metrics, f"{root}: no metrics: this test would test nothing")
            names = sorted({metric["name"] for metric in metrics})
            explained = {}
            for pattern in ("*", "matrix.*"):  # * leaves out the latter
                if any(fnmatch.fnmatch(name, pattern) for name in names):
                    sections = ask("--root", root, "explain", pattern).split("\n\n")
                    explained.update((section.split(":")[0].strip(), section) for section in sections)
            ask("--root", root, "stat", "--dry-run", "-j", "-M", ",".join(names))  # fails when one of them cannot
            for name in names:
                section = explained.get(name, "")
                for part in PARTS:
                    # perf cannot count what devices count themselves.
                    device = part.startswith("perf") and "Each device counts itself" in section
                    check(device or part in section, f"{root}: explain {name} has no {part}")
    except rows.Wrong as wrong:
        sys.exit(f"check-metrics: {wrong}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Memory that runs out: status 0 means that the output is complete.

  allocations.py COUNT    COUNT failing allocations, spread over those of several commands

Each run of a command has one allocation that fails (fail-alloc.c). Either it makes no difference, or
the command fails with a sentence.
"""

import concurrent.futures
import os
import random
import re
import subprocess
import sys

MACHINES = os.path.join(os.environ["UNCORE_SOURCE_ROOT"], "tests/machines")
# A wrapper that records command lines would fail, too.
UNCORE = os.environ.get("UNCORE_PLAIN", os.environ["UNCORE"])
SIM = ("--source", "sim:t410,step=1s")
T410 = ("--root", f"{MACHINES}/nvidia-t410-1socket.txt")
SPR = ("--root", f"{MACHINES}/intel-spr-1socket.txt")
COMMANDS = (
    (*SIM, "stat", "-j", "--timeout", "10ms", "-M", "memory.*"),
    (*SIM, "stat", "--csv", "--timeout", "10ms", "-M", "link.*"),
    (*SIM, "mem", "--timeout", "10ms"),
    (*SIM, "pcie", "--timeout", "10ms"),
    (*SIM, "matrix", "--timeout", "10ms"),
    (*T410, "list", "-j"),
    (*T410, "list"),
    (*T410, "topo", "-j"),
    (*T410, "topo"),
    (*T410, "doctor"),
    (*SPR, "explain", "memory.bandwidth"),
    (*SPR, "stat", "--dry-run", "-j"),
    (*SPR, "stat", "--dry-run"),
)


def run(command, failing):
    environment = dict(
        os.environ, LD_PRELOAD=os.environ["UNCORE_FAIL_ALLOC"], FAIL_ALLOC=str(failing)
    )
    return subprocess.run(
        [UNCORE, *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


def complaint(command, complete, failing):
    """What is wrong with the run whose allocation of this number fails, or None."""
    done = run(command, failing)
    if done.returncode == complete.returncode and done.stdout == complete.stdout:
        return None
    where = f"{' '.join(command)}: allocation {failing}"
    if done.returncode != 1:
        return f"{where}: another output with status {done.returncode}"
    if b"uncore" not in done.stderr:
        return f"{where}: no sentence: {done.stderr!r}"
    return None


def main():
    count = int(sys.argv[1])
    picked = random.Random(count)
    wrong = []
    failing = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for number, command in enumerate(COMMANDS):
            complete = run(command, 0)
            found = re.search(rb"allocations: (\d+)", complete.stderr)
            if not found or complete.returncode:
                sys.exit(f"{' '.join(command)}: {complete.returncode}: {complete.stderr!r}")
            share = count * (number + 1) // len(COMMANDS) - count * number // len(COMMANDS)
            total = int(found[1])
            # Every other one while the output is made, which is the least part of them.
            numbers = [
                picked.randint(total - total // 20 if i % 2 else 1, total) for i in range(share)
            ]
            failing += share
            wrong += filter(
                None, pool.map(lambda n, c=command, o=complete: complaint(c, o, n), numbers)
            )
    print(f"{failing} failed allocations, {len(wrong)} wrong")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()

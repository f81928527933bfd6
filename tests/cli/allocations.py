#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Memory that runs out: status 0 means that the output is complete.

  allocations.py COUNT      COUNT failing allocations, spread over those of several commands
  allocations.py COUNT DIR  COUNT failing allocations while registers of a file in DIR are programmed

Each run of a command has one allocation that fails (fail-alloc.c). Either it makes no difference, or
the command fails with a sentence. The registers are as before in any case.
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


BLOCK = """\
block: test
title: Test
instance: unit
evidence: none
pmu: test_{unit}
space: mmio
access: 64
size: 64
window: freeze
control: {ctl: {offset: 0, fields: {frz: {bits: 0, use: freeze}}}}
counter_control: {fields: {en: {bits: 8, use: enable}, ev: {bits: 0-7, use: event}}}
counters: {c: {title: c, offset: 8, control: 16, width: 48}}
"""


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


def count_allocations(command, complete):
    """How many the complete run of the command made."""
    found = re.search(rb"allocations: (\d+)", complete.stderr)
    if not found or complete.returncode:
        sys.exit(f"{' '.join(command)}: {complete.returncode}: {complete.stderr!r}")
    return int(found[1])


def restored(count, directory):
    """The last allocations of a run fail, which are made while it counts: all registers are put back."""
    registers, block = os.path.join(directory, "map"), os.path.join(directory, "block.yaml")
    values = bytes(range(1, 65))
    with open(block, "w", encoding="ascii") as file:
        file.write(BLOCK)
    command = ("--source", f"regs:{block},at={registers}", "--program", "stat", "-j", "-e", "test_0/ev=7/",
               "-I", "1ms", "--interval-count", "3")  # fmt: skip
    wrong, total = [], count
    for failing in range(count + 1):
        with open(registers, "wb") as file:
            file.write(values)
        done = run(command, total + 1 - failing if failing else 0)
        if not failing:
            total = count_allocations(command, done)
        with open(registers, "rb") as file:
            if file.read() != values or done.returncode not in (0, 1):
                wrong.append(f"allocation {total + 1 - failing}: {done.returncode} {done.stderr!r}")
    sys.exit("\n".join(wrong) or 0)


def main():
    count = int(sys.argv[1])
    if len(sys.argv) > 2:
        restored(count, sys.argv[2])
    picked = random.Random(count)
    wrong = []
    failing = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for number, command in enumerate(COMMANDS):
            complete = run(command, 0)
            total = count_allocations(command, complete)
            share = count * (number + 1) // len(COMMANDS) - count * number // len(COMMANDS)
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

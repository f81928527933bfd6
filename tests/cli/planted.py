#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names and texts of a machine that control a terminal must not reach it.

  planted.py TREE    TREE is the unpacked files of a machine; names are planted there

Every form of output is searched for them, also what JSON and CSV do not quote.
"""

import json
import os
import re
import subprocess
import sys

UNCORE = os.environ["UNCORE"]
# A title for the terminal, C1's CSI, an override of the direction of writing, bytes that are not UTF-8.
PLANTED = (b"\x1b]0;title\x07", "\u009b31m".encode(), "\u202e".encode(), b"\xff\xc0\xaf", b"\x7f\r")
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
COMMANDS = (
    (),
    ("list",),
    ("list", "-j"),
    ("topo",),
    ("topo", "-j"),
    ("doctor",),
    ("doctor", "-j"),
    ("stat", "--dry-run", "-e", "planted*/event=1/"),
    ("stat", "--dry-run", "-j", "-e", "planted*/event=1/"),
    ("stat", "-e", "planted*/none/"),
    ("stat", "-j", "--timeout", "1ms", "-e", "planted*/event=1/"),
    ("stat", "--csv", "--timeout", "1ms", "-e", "planted*/event=1/", "--no-merge"),
    ("stat", "--timeout", "1ms", "-e", "planted*/event=1/", "--no-merge"),
    ("explain", "planted"),
    ("snapshot", "-"),
)
HIDDEN = ((), ("topo",), ("explain",), ("snapshot",))  # show no PMU that is not known


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(text)


def plant(tree):
    for number, text in enumerate(PLANTED):
        pmu = tree + b"/sys/bus/event_source/devices/planted" + text
        write(pmu + b"/type", b"%d\n" % (900 + number))
        write(pmu + b"/cpumask", b"0\n")
        write(pmu + b"/format/event", b"config:0-7\n")
        write(pmu + b"/events/event" + text, b"event=1\n")
        write(pmu + b"/events/event" + text + b".unit", text + b"\n")
    write(
        tree + b".yaml",
        b"sim: planted\nmachine: %s\nrates:\n  - {pmu: 'planted*', event: 'event=1', constant: 1e6}\n"
        % os.path.basename(tree),
    )
    devices = tree + b"/sys/bus/pci/devices/"
    for device, text in zip(sorted(os.listdir(devices)), PLANTED * 8):
        if os.path.isdir(devices + device):
            write(devices + device + b"/label", text + b"\n")
            os.makedirs(devices + device + b"/net/eth" + text, exist_ok=True)
    with open(tree + b"/proc/cpuinfo", "rb") as file:
        text = file.read()
    write(tree + b"/proc/cpuinfo", re.sub(rb"model name\t: ", b"model name\t: " + PLANTED[0], text))


def complaints(tree, command):
    where = " ".join(command) or "overview"
    # Only a simulation can be counted.
    counted = "--timeout" in command
    machine = ("--source", f"sim:{tree}.yaml,step=1s") if counted else ("--root", tree)
    done = subprocess.run(
        [UNCORE, *machine, *command], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if b"planted" not in done.stdout + done.stderr and command[:1] not in HIDDEN:
        yield f"{where}: nothing planted is shown: {done.stderr!r}"
    for stream in (done.stdout, done.stderr):
        try:
            found = HARMFUL.search(stream.decode())
        except UnicodeDecodeError as error:
            yield f"{where}: {error}"
            continue
        if found:
            at = found.start()
            yield f"{where}: {stream.decode()[max(0, at - 40) : at + 40]!r}"
    if "-j" in command and done.returncode == 0:
        for line in [done.stdout] if command[0] != "stat" else done.stdout.splitlines():
            json.loads(line)


def main():
    plant(os.fsencode(sys.argv[1]))
    sys.exit("\n".join(line for c in COMMANDS for line in complaints(sys.argv[1], c)) or 0)


if __name__ == "__main__":
    main()

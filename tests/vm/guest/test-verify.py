#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore verify` on counters that see what it moves: all memory is proved where they are right, other traffic beside
it, and each planted fault is named where it is."""

import json

import rig

SECONDS = 12
CLEAR = 0.002  # a loss of 3 % cannot be missed with that error, but with twice as much
TRIES = 3  # a host that stops the guest within a round makes a number that verify does not judge

# What is planted, the fault's name, and the cells (node, direction) that have it.
ALL = {(node, direction) for node in (0, 1) for direction in ("read", "write")}
FAULTS = (
    ("scale all 2 2000", "channel twice", "channel 2 counts twice", ALL),
    ("scale 1 1 0", "channel dead", "channel 1 counts nothing", {(1, "read"), (1, "write")}),
    ("swap on", "sockets swapped", "socket 1's counters count node 0", ALL),
    ("reads on", "directions swapped", "writes are counted as reads", {(0, "write"), (1, "write")}),
    ("scale all all 970", None, "the factor is 0.9700", ALL),
    ("stray 50", "astray", "is counted as", {(0, "read"), (0, "write")}),
)
# What counts real traffic: the other counters count what they are told to.
MEMORY = "memory.read.bandwidth,memory.write.bandwidth"
METRICS = {"skx": MEMORY + ",link.*", "icx": MEMORY + ",link.*", "spr": MEMORY + ",link.*", "amd": MEMORY}
LINKS = {(node, direction, name, socket) for node in (0, 1) for direction in ("read", "write")
         for name in ("link.in.bandwidth", "link.out.bandwidth") for socket in (0, 1)
         if (socket == node) == ((direction == "read") == (name == "link.out.bandwidth"))}


def verify():
    """Verdicts on the memory of sockets by cell, which are those of the CPUs there, the rows of data that pass links, and
    the exit status."""
    done = rig.run(["uncore", "verify", "-M", METRICS[rig.MODEL], "--time", f"{SECONDS}s", "-j"], status=None)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [row for row in rows if row["channel"] is None]
    far = [row for row in rows if row["far"]]
    return {(row["node"], row["direction"]): row for row in rows if not row["far"]}, far, done


def all_far(rows):
    """Memory counts it as from its own CPUs, and each link does in its direction."""
    memory = {(row["node"], row["direction"]) for row in rows if row["name"].startswith("memory")}
    links = {(row["node"], row["direction"], row["name"], row["socket"])
             for row in rows if row["name"].startswith("link")}
    return memory == ALL and links == (LINKS if "link" in METRICS[rig.MODEL] else set())


def short(cells):
    return [(cell, row["counted"], row["error"], row["verdict"], row["reason"]) for cell, row in cells.items()]


def proved(name, most_off):
    for _ in range(TRIES):
        cells, far, done = verify()
        good = done.returncode == 0 and set(cells) == ALL and all_far(far) and all(
            row["verdict"] == "proved" and abs(row["counted"] - 1) <= most_off for row in [*cells.values(), *far])
        if good:
            break
    rig.ok(good, name, f"{done.returncode} {short(cells)} {far} {done.stderr}")


def fault(words, name, sentence, where):
    """Named where it is, and nowhere else; at the first or a later try."""
    missing, wrong = set(where), []
    for _ in range(TRIES):
        rig.traffic("real", "nt")
        rig.traffic(*words.split())
        cells, _, done = verify()
        named = {cell for cell, row in cells.items() if row["verdict"] == "off"}
        missing -= {cell for cell in named if cells[cell]["fault"] == name}
        wrong += [short(cells)] if named - where or (named and done.returncode != 1) or any(
            cells[cell]["verdict"] == "proved" and cells[cell]["error"] < CLEAR for cell in where) else []
        if not missing:
            break
    said = [row["reason"] for row in cells.values() if row["reason"]]
    rig.ok(not missing and not wrong, f"{words}: {name or 'the factor'}", f"{missing} {wrong} {short(cells)}")
    rig.ok(any(sentence in reason for reason in said), f"{words}: {sentence}", said)


def main():
    if rig.MODEL not in METRICS or rig.SOCKETS != 2:
        rig.skip("verify", "memory of this model does not count real traffic, or there is one socket")
        rig.done()
    rig.traffic("real", "nt")
    proved("all memory and links are proved within 0.5 %", 0.005)
    rig.traffic("rate", 1000)
    rig.traffic("background", 1)
    proved("beside other traffic: within 1 %", 0.01)
    rig.traffic("rate", 0)
    for each in FAULTS:
        fault(*each)
    rig.traffic("real", "off")
    rig.done()


main()

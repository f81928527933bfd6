#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore verify` on counters that see what it moves: all memory is proved where they are right, other traffic beside
it, and each planted fault is named where it is."""

import json

import rig

SECONDS = 12
CLEAR = 0.002  # a loss of 3 % cannot be missed with that error, but with twice as much
TRIES = 3  # a host that stops the guest within a round makes a number that verify does not judge


def memory(row):
    return row["name"] in ("memory.read.bandwidth", "memory.write.bandwidth")


def links(row):
    return row["name"].startswith("link.")


def agents(row):
    return row["name"].startswith(("memory.local", "memory.from.remote"))


# What is planted, the fault's name, a part of the sentence, and the verdicts that have it.
FAULTS = (
    ("scale all 2 2000", "channel twice", "channel 2 counts twice", memory),
    ("scale 1 1 0", "channel dead", "channel 1 counts nothing", lambda row: memory(row) and row["node"] == 1),
    ("scale all all 500", "half", "one of two PMUs is missing", memory),
    ("scale all all 2000", "double", "two PMUs count the same", memory),
    ("scale all all 64000", "times 64", "bytes are taken for lines", memory),
    ("scale all all 1074", "units", "decimal and binary units are confused: 1.024^3", memory),
    ("scale all all 970", None, "the factor is 0.9700", memory),
    ("swap on", "sockets swapped", "socket 1's counters count node 0", memory),
    ("reads on", "directions swapped", "writes are counted as reads",
     lambda row: memory(row) and row["direction"] == "write"),
    ("swap on, turn on", "sockets and directions swapped", "are counted as reads of socket 0", memory),
    ("stray 50", "astray", "is counted as", lambda row: memory(row) and row["node"] == 0),
    ("faults links, turn on", "sockets or directions swapped", "data sent are counted as data received", links),
    ("faults links, scale all all 0", "nothing", "nothing of it is counted", links),
    ("faults agents, remote on", "kinds swapped", "local reads are counted as reads by other sockets", agents),
)
# What counts real traffic: the other counters count what they are told to.
METRICS = {
    "skx": "*bandwidth",
    "icx": "*bandwidth",
    "spr": "*bandwidth",
    "amd": "memory.read.bandwidth,memory.write.bandwidth,memory.local.*,memory.from.remote.*",
}
SOCKETS = (0, 1)
DIRECTIONS = ("read", "write")
# Metric, node, direction, far, socket: of memory both near and far, of agents one of these, of links what is far.
EXPECTED = {(f"memory.{d}.bandwidth", n, d, far, n) for d in DIRECTIONS for n in SOCKETS for far in (False, True)}
EXPECTED |= {(f"memory.local.{d}.bandwidth", n, d, False, n) for d in DIRECTIONS for n in SOCKETS}
EXPECTED |= {(f"memory.from.remote.{d}.bandwidth", n, d, True, n) for d in DIRECTIONS for n in SOCKETS}
LINKS = {(f"link.{side}.bandwidth", n, d, True, s) for side in ("in", "out") for d in DIRECTIONS for n in SOCKETS
         for s in SOCKETS if (s == n) == ((d == "read") == (side == "out"))}
FABRIC = {(f"fabric.memory.{d}.bandwidth", n, d, far, n) for d in DIRECTIONS for n in SOCKETS for far in (False, True)}
MODELS = {"skx": EXPECTED | LINKS | FABRIC, "icx": EXPECTED | LINKS, "spr": EXPECTED | LINKS | FABRIC, "amd": EXPECTED}


def key(row):
    return row["name"], row["node"], row["direction"], row["far"], row["socket"]


def verify():
    """Verdicts on sockets, and the process."""
    done = rig.run(["uncore", "verify", "-M", METRICS[rig.MODEL], "--time", f"{SECONDS}s", "-j"], status=None)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [row for row in rows if row["channel"] is None], done


def short(rows):
    return [(*key(row), row["counted"], row["error"], row["verdict"], row["reason"]) for row in rows]


def proved(name, most_off, which=lambda row: True):
    """The others, if any, may have too much traffic beside them to tell, and none is off."""
    for _ in range(TRIES):
        rows, done = verify()
        other = [row for row in rows if row["verdict"] == "off" or
                 (which(row) and (row["verdict"] != "proved" or abs(row["counted"] - 1) > most_off))]
        keys = {key(row) for row in rows}
        good = keys == MODELS[rig.MODEL] and not other and (done.returncode == 0 or not all(map(which, rows)))
        if good:
            break
    rig.ok(good, name, f"{done.returncode} {keys ^ MODELS[rig.MODEL]} {short(other)} {done.stderr}")


def fault(words, name, sentence, where):
    """Named where it is, and nowhere else; at the first or a later try."""
    named, wrong, said = set(), [], set()
    for _ in range(TRIES):
        rig.traffic("real", "nt")
        for setting in words.split(", "):
            rig.traffic(*setting.split())
        rows, done = verify()
        off = [row for row in rows if row["verdict"] == "off"]
        named |= {key(row) for row in off if where(row) and row["fault"] == name}
        wrong += short(row for row in off if not where(row))
        wrong += short(row for row in rows if where(row) and row["verdict"] == "proved" and row["error"] < CLEAR)
        wrong += [done.returncode] if off and done.returncode != 1 else []
        said |= {row["reason"] for row in rows if row["reason"]}
        missing = {key(row) for row in rows if where(row)} - named
        if not missing:
            break
    rig.ok(rows and not missing and not wrong, f"{words}: {name or 'the factor'}", f"{missing} {wrong} {short(rows)}")
    rig.ok(any(sentence in reason for reason in said), f"{words}: {sentence}", said)


def main():
    if rig.MODEL not in METRICS or rig.SOCKETS != 2:
        rig.skip("verify", "memory of this model does not count real traffic, or there is one socket")
        rig.done()
    rig.traffic("real", "nt")
    proved("all is proved within 0.5 %", 0.005)
    rig.traffic("rate", 1000)
    rig.traffic("background", 1)
    proved("memory beside other traffic: within 1 %", 0.01, memory)
    rig.traffic("rate", 0)
    for each in FAULTS:
        if "links" not in each[0] or rig.MODEL != "amd":
            fault(*each)
    rig.traffic("real", "off")
    rig.done()


main()

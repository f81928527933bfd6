#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Groups of resctrl: the kernel's own files, and `uncore --resctrl` by them, have each byte that the tasks of a group have
moved, on the cache of the CPU that moved it; when they share a CPU, fork, migrate and change their group; when the counters
wrap, are given to another group, or have no count."""

import errno
import pathlib
import time

import groups
import rig
from groups import DOMAINS, EVENTS, MIB, SNC, Group, Move, bash, cpus_of, moved, node

FIRST, LAST = cpus_of(0), cpus_of(1)  # CPUs of the first and of the last socket
ASSIGNED = rig.MODEL == "abmc"  # the kernel has 5 counters of a cache to assign: two for the root and a, one for b
CACHE = 32 * MIB if rig.MODEL == "amd" else 16 * MIB  # each CPU of it has a share, see pmon/rdt.c
WRAPS = 1 << 30  # bytes: 24 bits of lines
BUSY = 40
LEFT = 8  # RMIDs for these, the root's included


def counted(name, among, text, lost=()):
    """Runs a shell's text. By the files and by uncore each group must have counted what it moved: {group: moves}."""
    before = {group: group.counts() for group in among}
    rows = groups.of_uncore(text)
    good, why = True, []
    for group, moves in among.items():
        files = groups.difference(group.counts(), before[group])
        for (event, domain), truth in moved(moves).items():
            row = rows[group.role(), event, domain]
            quality = "measured"
            if not group.name and any(its == event for _, its in lost):  # the kernel leaves out of the root's what has no number
                truth -= sum(moved(among[g])[event, domain] for g, its in lost if its == event)
                quality = "partial"
            if (group, event) in lost:
                good &= files[event, domain] == lost[group, event] and row["quality"] == "unavailable"
                good &= lost[group, event] in str(row["reason"])
                continue
            said = files[event, domain], row["count"]
            rig.record(f"resctrl_l3_{domain}", f"{event} {group.role()}: {name}", *said, truth,
                       "exact" if said == (truth, truth) else "differs")
            if said != (truth, truth) or row["quality"] != quality:
                why.append(f"{group.role()} {event} L3 {domain}: {truth}, kernel {said[0]}, uncore {said[1]} {row['reason']}")
    rig.ok(good and not why, name, "\n".join(why))


# ---- to the byte ----------------------------------------------------------------------------------


def processes():
    """Three of them: two share a CPU and a group; one migrates between sockets, and forks. And one in no group."""
    root, a, b = Group(""), Group("a"), Group("b")
    lost = {(b, "mbm_local_bytes"): "Unassigned"} if ASSIGNED else {}
    stores, loads = Move("store", 0, FIRST[:1], 48), Move("load", node(1), FIRST[:1], 24, 2)
    migrates = Move("store", node(1), (FIRST[0], LAST[0]), 8, 5)
    children = Move("load", 0, LAST[-1:], 16), Move("store", 0, FIRST[-1:], 4)
    alone = Move("load", 0, FIRST[-1:], 12)
    of_b = f"({b.takes()} && {{ {children[0].command()} & {migrates.command()}; {children[1].command()}; wait; }})"
    counted("three processes in two groups: one CPU in turn, migration, children", {
        a: [stores, loads], b: [migrates, *children], root: [stores, loads, migrates, *children, alone],
    }, f"{a.runs(stores)} & {a.runs(loads)} & {of_b} & {alone.command()} & wait", lost)
    before, after = Move("load", 0, FIRST[:1], 8), Move("store", 0, LAST[:1], 6)
    counted("a task that goes to another group: what it moved stays where it was", {
        a: [before], b: [after], root: [before, after],
    }, f"({a.takes()}; {before.command()}; {b.takes()}; {after.command()})", lost)
    groups.clean()


def many():
    """More processes than RMIDs: the root has those that are in no group of their own."""
    others = groups.fill("other", LEFT - 1)
    mine = [Group(f"g{i}") for i in range(LEFT - 1)]
    root = Group("")
    moves = [Move(("load", "store")[i % 2], node(i % 3), (i % rig.CPUS,), 1 + i % 5) for i in range(BUSY)]
    text = [mine[i].runs(move) if i < len(mine) else move.command() for i, move in enumerate(moves)]
    counted(f"{BUSY} processes, and {LEFT} RMIDs", {
        root: moves, **{group: [moves[i]] for i, group in enumerate(mine)}, **{group: [] for group in others},
    }, " & ".join(text) + " & wait")
    refused("more", errno.ENOSPC, "no RMID is left: no group can be made")
    groups.clean()


def refused(name, number, text):
    """A group that the kernel does not make, for this reason."""
    try:
        Group(name, wait=False)
        rig.ok(False, text)
    except OSError as error:
        rig.ok(error.errno == number, text, error)


def sums():
    """The files of a cache of several nodes are sums of theirs."""
    a, last = Group("a"), rig.CPUS - 1
    moves = [Move("store", 0, range(rig.CPUS), 4, 12), Move("load", node(last), (last,), 8)]
    bash(a.runs(*moves))
    for event in EVENTS:
        parts = sum(a.counts()[event, domain] for domain in DOMAINS)
        caches = sum(a.read(event, cache) for cache in sorted({domain.partition("_")[0] for domain in DOMAINS}))
        truth = sum(n for (its, _), n in moved(moves).items() if its == event)
        rig.ok(parts == caches == truth, f"{event}: the nodes of a cache add up", f"{parts} {caches} {truth}")
    groups.clean()


# ---- counters -------------------------------------------------------------------------------------


def wraps():
    """The kernel adds what the counter has lost."""
    if rig.MODEL == "amd":
        rig.skip("a counter that wraps", "AMD's have 44 bits")
        return
    a, move = Group("a"), Move("store", 0, FIRST[:1], 64, 2 * WRAPS // (64 * MIB) + 8)
    counted(f"{move.mib * move.times} MiB: a counter of 24 bits wraps twice", {a: [move]}, a.runs(move))
    rows = groups.of_uncore(f"sleep 0.2; {a.runs(Move('store', 0, FIRST[:1], 64, 9))}; sleep 0.2", EVENTS[:1])
    rig.ok(rows["/a", EVENTS[0], DOMAINS[0]]["count"] == 9 * 64 * MIB, "and goes on")
    groups.clean()


def occupied():
    """The lines that a CPU has moved last, up to its share of the cache."""
    a, b = Group("a"), Group("b")
    cpu, domain = FIRST[:1], groups.domain_of(FIRST[0])
    share = CACHE // sum(groups.cache_of(other) == groups.cache_of(FIRST[0]) for other in range(rig.CPUS))
    groups.flush()
    bash(a.runs(Move("load", 0, cpu, 4)))
    first = a.occupancy(domain), b.occupancy(domain)
    bash(b.runs(Move("store", 0, cpu, share // MIB - 3)))
    then = a.occupancy(domain), b.occupancy(domain)
    bash(b.runs(Move("store", 0, cpu, 2 * share // MIB)))
    last = a.occupancy(domain), b.occupancy(domain)
    rig.ok(first == (4 * MIB, 0) and then == (3 * MIB, share - 3 * MIB) and last == (0, share),
           "occupancy: what was moved last", f"{first} {then} {last} {share}")
    row = groups.of_uncore("true", ["llc_occupancy"])["/b", "llc_occupancy", domain]
    rig.ok(row["count"] == share, "occupancy by uncore", row)
    groups.clean()


def reused():
    """An RMID that another group had counts for the new one from 0; the kernel keeps it back as long as lines are its."""
    a = Group("a")
    move = Move("store", 0, FIRST[:1], 32)
    made = groups.fill("other")
    bash(a.runs(move))
    a.remove()
    time.sleep(3)  # the kernel looks every second
    refused("a", errno.EBUSY, "an RMID whose lines are in a cache is not given away")
    groups.flush()
    a = Group("a")
    rig.ok(set(a.counts().values()) == {0}, "with the next group its counters begin with 0", a.counts())
    counted("and count what is moved from then on", {a: [move], made[0]: []}, a.runs(move))
    swapped(a, move)
    groups.clean()


def swapped(a, move):
    """A group that is removed and made again under the same name, while uncore counts it."""
    output = pathlib.Path("/tmp/reused.jsonl")
    again = (f"rmdir {a.path}; {' && '.join(m.command() for m in groups.moves_of_flush())}; "
             f"until mkdir {a.path} 2>/dev/null; do sleep 0.1; done")
    rig.run(["uncore", "--resctrl", "stat", "-j", "-A", "-o", output, "-I", "500ms", "-e", "resctrl_*/mbm_total_bytes/", "--",
             "bash", "-c", f"{a.runs(move)}; sleep 1; {again}; sleep 1.5; {a.runs(move)}; sleep 1"])
    rows = [row for row in rig.uncore_rows(output) if row["role"] == "/a" and not row["total"]
            and row["pmu"].endswith(f"_l3_{DOMAINS[0]}")]
    known = sum(row["count"] for row in rows if row["count"] is not None)
    lost = [row for row in rows if row["count"] is None]
    rig.ok(known == 2 * move.mib * MIB and lost and all(row["reason"] for row in lost),
           "a group that is made again while it is counted: no byte too many, and the interval in between says why it has none",
           f"{known} of {2 * move.mib * MIB}; " + "\n".join(f"{row['count']} {row['quality']} {row['reason']}" for row in rows))


def words():
    """What the kernel says instead of a number is no number, and what comes after it no jump."""
    a, move = Group("a"), Move("store", 0, FIRST[:1], 8)
    bash(a.runs(move))
    for word in ("unavailable", "error"):
        output = pathlib.Path("/tmp/words.jsonl")
        text = f"sleep 0.6; traffic rdt {word}; sleep 1; traffic rdt counts; sleep 1; {a.runs(move)}; sleep 0.7"
        rig.run(["uncore", "--resctrl", "stat", "-j", "-A", "-o", output, "-I", "300ms", "-e", "resctrl_*/mbm_total_bytes/", "--",
                 "bash", "-c", text])
        rows = [row for row in rig.uncore_rows(output) if row["role"] == "/a" and not row["total"]
                and row["pmu"].endswith(f"_l3_{DOMAINS[0]}")]
        known = sum(row["count"] for row in rows if row["count"] is not None)
        lost = [row for row in rows if row["count"] is None]
        rig.ok(known == move.mib * MIB and lost and all(word.capitalize() in str(row["reason"]) for row in lost[:-1]),
               f"{word}: no number, the reason, and then the bytes again",
               f"{known}; " + "\n".join(f"{row['count']} {row['quality']} {row['reason']}" for row in rows))
    a.remove()


def main():
    """All of it."""
    rig.traffic("real", "nt")
    groups.flush()
    processes()
    if SNC:
        sums()
    elif not ASSIGNED:
        occupied()
        many()
        wraps()
        reused()
        words()
    rig.traffic("real", "off")
    rig.done()


if rig.MODEL not in ("icx", "snc", "amd", "abmc") or not groups.mount():
    rig.skip("groups of resctrl", "the CPU of this model has no monitoring of its caches")
    rig.done()
main()

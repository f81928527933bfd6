#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real traffic: memory controllers and links count what a program moves, line by line, on the right socket and in
the right direction; and faults that are planted in them are seen."""

import collections
import re

import rig
import truth

# PMUs of memory, the event of each direction and its counts per line, and channels (PMUs) of a socket.
Memory = collections.namedtuple("Memory", "pmus terms per_line channels")
MEMORY = {
    "skx": Memory("uncore_imc", {"load": "event=0x4,umask=0x3", "store": "event=0x4,umask=0xc"}, {}, 6),
    "icx": Memory("uncore_imc", {"load": "event=0x4,umask=0xf", "store": "event=0x4,umask=0x30"}, {}, 8),
    "spr": Memory("uncore_imc", {"load": "event=0x5,umask=0xcf", "store": "event=0x5,umask=0xf0"}, {}, 8),
    "amd": Memory("amd_umc", {"load": "event=0xa,rdwrmask=1", "store": "event=0xa,rdwrmask=2"}, {}, 4),
    "grace": Memory("nvidia_scf_pmu", {"load": "event=0x1a5", "store": "event=0x1db"}, {"load": 2, "store": 64}, 1),
}
SENT, RECEIVED = "uncore_upi/event=0x2,umask=0xf/", "uncore_upi/event=0x3,umask=0xf/"
FLITS = 9
REMOTE = {"load": "nvidia_scf_pmu_*/event=0x1a2/", "store": "nvidia_scf_pmu_*/event=0x1a1/"}
LINE, MIB = 64, 1 << 20

SOCKETS = range(rig.SOCKETS)

# What is moved under a fault: another amount in each cell, so that no two can be taken for each other. MiB.
AMOUNTS = {("store", 0): 16, ("store", 1): 8, ("load", 0): 4, ("load", 1): 2}
MOVED = {cell: mib * MIB // LINE for cell, mib in AMOUNTS.items() if cell[1] in SOCKETS}


def cpu_of(node):
    """The first CPU of a node."""
    return node * rig.CPUS // rig.SOCKETS


def per_line(direction):
    """What an event counts for a line."""
    return MINE.per_line.get(direction, 1)


def stream(operation, node, cpu, mib):
    """The command that moves so much."""
    return ["stream", operation, node, cpu, mib]


def shell(commands):
    """One command of several."""
    return ["sh", "-c", " && ".join(" ".join(str(word) for word in command) for command in commands)]


# ---- to the line ----------------------------------------------------------------------------------

# (operation, node of the memory, node of the CPU): two at once, of which no cell of memory gets both and each
# direction of the links both or none.
RUNS = ((("store", 0, 0), ("load", 1, 1)), (("load", 0, 0), ("store", 1, 1)),
        (("store", 0, 1), ("load", 1, 0)), (("load", 0, 1), ("store", 1, 0)))
RUNS_OF_ONE = ((("store", 0, 0),), (("load", 0, 0),))
SIZE = 64


def expected(moves, events, lines):
    """{(event, socket): count}"""
    counts = {(event, socket): 0 for event in events for socket in SOCKETS}
    for operation, node, cpu_node in moves:
        what = [(EVENTS[operation], node, per_line(operation))]
        if node != cpu_node:
            sender, receiver = (cpu_node, node) if operation == "store" else (node, cpu_node)
            what += [(SENT, sender, FLITS), (RECEIVED, receiver, FLITS),
                     (REMOTE[operation], cpu_node, per_line(operation))]
        for event, socket, n in what:
            if event in events:
                counts[event, socket] += n * lines
    return counts


def counted_by_both(events, command):
    """Counts of perf and uncore at once, {(event, socket): count} each."""
    names = ",".join(events)
    if "*" not in names:
        counts, rows = rig.both(names, names, command, "socket")
        perf = {(c.name, c.socket): c.value for c in counts}
    else:  # a PMU for each socket, which perf does not take for one
        counts, rows = rig.both(",".join(names.replace("*", str(socket)) for socket in SOCKETS), names, command, "each")
        perf = {(re.sub(r"_\d/", "_*/", c.name), int(re.search(r"_(\d)/", c.name).group(1))): c.value for c in counts}
    return perf, {(row["name"], row["socket"]): row["count"] for row in rows}


def exact(moves, events):
    """perf and uncore at once."""
    lines = SIZE * MIB // LINE
    want = expected(moves, events, lines)
    command = shell(stream(operation, node, cpu_of(cpu_node), SIZE) for operation, node, cpu_node in moves)
    perf, uncore = counted_by_both(events, command)
    text = ", ".join(f"{operation} on node {node} from node {cpu_node}" for operation, node, cpu_node in moves)
    for (event, socket), value in want.items():
        said = perf.get((event, socket)), uncore.get((event, socket))
        rig.record(event.split("/")[0].replace("*", str(socket)), f"{event} S{socket}: {text}", *said, value,
                   "exact" if said == (value, value) else "differs")
    rig.ok(perf == want and uncore == want,
           f"{text}: {lines} lines each, perf = uncore = moved in each cell: {events[0]}",
           f"{want}\n{perf}\n{uncore}")


# ---- faults ---------------------------------------------------------------------------------------


def count(extra=()):
    """{(direction, socket): [count of each channel, as lines]} while MOVED is moved."""
    command = shell([*(stream(*cell, cpu_of(cell[1]), AMOUNTS[cell]) for cell in MOVED), *extra])
    cells = {cell: [0] * CHANNELS for cell in MOVED}  # in lines
    names = {event: direction for direction, event in EVENTS.items()}
    for row in rig.uncore(",".join(names), command, "each"):
        cells[names[row["name"]], row["socket"]][MODEL.unit(row["pmu"]) % CHANNELS] += \
            row["count"] / per_line(names[row["name"]])
    return cells


def planted(name, commands, judge, extra=()):
    """Counts under a fault; what judge(counts, sums) does not like is why it failed."""
    rig.traffic("real", "nt")
    for words in commands:
        rig.traffic(*words)
    counts = count(extra)
    sums = {cell: sum(channels) for cell, channels in counts.items()}
    why = [cell for cell in MOVED if not judge(cell, counts[cell], sums[cell])]
    rig.diag(f"{name}:", *(f"{d} S{s} {sums[d, s] / MOVED[d, s]:.5f}" for d, s in MOVED))
    rig.ok(not why, name, f"{why} {counts}")


def even(channels, lines):
    """Each channel has its share within 1 %."""
    return all(abs(n - lines / CHANNELS) <= 0.01 * lines / CHANNELS for n in channels)


def near(total, lines):
    """But for the part of a line that each channel rounds off."""
    return abs(total - lines) <= CHANNELS


def clean(cell, channels, total):
    """Without a fault."""
    return total == MOVED[cell] and even(channels, total)


def double(cell, channels, total):
    """One channel counts twice."""
    return total - channels[DOUBLE] / 2 == MOVED[cell] and \
        even([n if i != DOUBLE else n / 2 for i, n in enumerate(channels)], MOVED[cell])


def dead(cell, channels, total):
    """The last channel of the last socket does not count."""
    if cell[1] != SOCKETS[-1]:
        return clean(cell, channels, total)
    return channels[-1] == 0 and even(channels[:-1], MOVED[cell])


def swapped(cell, channels, total):
    """The sockets are the wrong way round."""
    return clean((cell[0], SOCKETS[-1] - cell[1]), channels, total)


def as_reads(cell, _channels, total):
    """There are only reads."""
    return total == (MOVED["load", cell[1]] + MOVED["store", cell[1]] if cell[0] == "load" else 0)


def lossy(cell, _channels, total):
    """3 % are lost."""
    return near(total, 0.97 * MOVED[cell])


def stray(cell, _channels, total):
    """5 % of socket 0's are counted on socket 1."""
    own = 0.05 * MOVED[cell[0], 0]
    return near(total, MOVED[cell] + (own if cell[1] else -own))


TICKS, SHARE = 1009, 5  # the clock's traffic, in thousandths


def per_tick(cell):
    """What the clock makes the channels of a cell count, as lines."""
    direction, socket = cell
    return sum(MODEL.weight(pmu, PMUS[pmu].encode(MINE.terms[direction]), cpu) for pmu in PMUS
               if re.fullmatch(MINE.pmus + r"_\d+", pmu)
               for cpu in PMUS[pmu].cpus if rig.socket_of(cpu) == socket) / per_line(direction)


def background(cell, _channels, total):
    """The clock's traffic on top."""
    return near(total, MOVED[cell] + per_tick(cell) * TICKS * SHARE / 1000)


def faults():
    """Each alone."""
    planted("no fault: every cell to the line, channels even", [], clean)
    planted("a channel double: 1 + 1/n, exact with half of that channel", [("scale", "all", DOUBLE, 2000)], double)
    planted("a dead channel on the last socket: 1 - 1/n there", [("scale", SOCKETS[-1], CHANNELS - 1, 0)], dead)
    planted("writes counted as reads", [("reads", "on")], as_reads)
    planted("3 % lost", [("scale", "all", "all", 970)], lossy)
    if rig.SOCKETS == 2:
        planted("sockets swapped", [("swap", "on")], swapped)
        planted("5 % of socket 0 on socket 1", [("stray", 50)], stray)
    planted("the clock's traffic on top", [("background", SHARE)], background, [["traffic", "step", TICKS]])


# ---- a cache --------------------------------------------------------------------------------------

CACHE = 1024  # KiB
CACHED = CACHE * 1024 // LINE


def cached(cell, channels, total):
    """Stores go past the cache; of what is loaded it may have had as much as it holds."""
    if cell[0] == "store":
        return clean(cell, channels, total)
    return MOVED[cell] - CACHED <= total <= MOVED[cell]


def allocated(cell, _channels, total):
    """What is stored is read first; a load sends the rest of it out, but for what the cache still has."""
    more = MOVED["store", cell[1]] if cell[0] == "load" else 0
    return MOVED[cell] + more - 2 * CACHED <= total <= MOVED[cell] + more


def fits():
    """A working set that the cache holds is read once."""
    rig.traffic("real", "nt")
    rig.traffic("cache", 8 * CACHE)
    rows = rig.uncore(EVENTS["load"], shell([[*stream("load", 0, 0, 1), 16]]))
    rig.ok(0 < rows[0]["count"] < 16 * CACHED * per_line("load") / 2,
           "a cache that holds what is loaded: little of it reaches memory", rows)


def caches():
    """In front of the memory."""
    planted(f"a cache of {CACHE} KiB: stores past it, loads through it", [("cache", CACHE)], cached)
    planted("stores that allocate: each is a read, too", [("cache", CACHE), ("allocate", "on")], allocated)
    fits()


def off():
    """As it was: the clock only."""
    rig.traffic("real", "off")
    sums = {cell: sum(channels) for cell, channels in count([["traffic", "step", TICKS]]).items()}
    want = {cell: per_tick(cell) * TICKS for cell in MOVED}
    rig.ok(sums == want, "off: the clock's traffic, and nothing of what is moved", f"{sums} {want}")


def main():
    """All of it."""
    for moves in RUNS if rig.SOCKETS == 2 else RUNS_OF_ONE:
        for events in AT_ONCE:
            exact(moves, events)
    faults()
    caches()
    off()
    rig.done()


if rig.MODEL not in MEMORY:
    rig.skip("real traffic", "this model has no counters of memory that can count it")
    rig.done()
MODEL, PMUS = truth.model(rig.MODEL), rig.pmus()
MINE = MEMORY[rig.MODEL]
CHANNELS = MINE.channels
DOUBLE = min(2, CHANNELS - 1)
FORM = MINE.pmus + ("_*" if MINE.pmus.startswith("nvidia") else "")
EVENTS = {direction: f"{FORM}/{terms}/" for direction, terms in MINE.terms.items()}
# perf and uncore share the counters of a PMU: Grace's has six.
AT_ONCE = [[*EVENTS.values()]]
if "uncore_upi_0" in PMUS:
    AT_ONCE[0] += [SENT, RECEIVED]
if rig.MODEL == "grace":
    AT_ONCE += [[*REMOTE.values()]]
rig.traffic("real", "nt")
main()

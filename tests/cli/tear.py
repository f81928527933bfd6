# SPDX-License-Identifier: MIT
"""Changes what a recording's counters have read: tear.py FILE PMU,CPU,TICK,ADD...

From that tick on (below 64, counted from 0) the counts of the PMU on that CPU are ADD higher, modulo 2^64. PMU or
CPU '*': every one. uncore-recording(5) describes the readings."""

import sqlite3
import sys

M64 = (1 << 64) - 1


def take(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value & M64, at


def put(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(v):
    return v >> 1 ^ (M64 if v & 1 else 0)


def zigzag(difference):
    difference &= M64
    return (difference << 1 & M64) ^ (M64 if difference >> 63 else 0)


def add(data, counts, adds):
    """The readings of a tick, with each counter's difference changed by what `adds` has for it."""
    out, at = bytearray(data[:1]), 1
    for i in range(counts):
        flags = data[at]
        at += 1
        raw = 0
        if flags & 1:
            raw, at = take(data, at)
        raw = signed(raw) + adds.get(i, 0)
        begin = at
        for bit, numbers in ((2, 4), (4, 1), (32, 1)):
            for _ in range(numbers if flags & bit else 0):
                _, at = take(data, at)
        out.append(flags & ~1 | bool(raw & M64))
        out += put(zigzag(raw)) if raw & M64 else b""
        out += data[begin:at]
    assert at == len(data)
    return bytes(out)


con = sqlite3.connect(sys.argv[1])
counters = con.execute("SELECT pmu, cpu FROM counter ORDER BY id").fetchall()
ticks = [tick for tick, in con.execute("SELECT id FROM tick ORDER BY id")]
changed = 0
for change in sys.argv[2:]:
    pmu, cpu, tick, amount = change.split(",")
    adds = {i: int(amount, 0) for i, (p, c) in enumerate(counters) if pmu in (p, "*") and cpu in (str(c), "*")}
    assert adds, change
    old, = con.execute("SELECT readings FROM tick WHERE id = ?", (ticks[int(tick)],)).fetchone()
    con.execute("UPDATE tick SET readings = ? WHERE id = ?", (add(old, len(counters), adds), ticks[int(tick)]))
    changed += len(adds)
con.commit()
print(changed)

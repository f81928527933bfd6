# SPDX-License-Identifier: MIT
"""Recordings of Arm's SPE, byte by byte as perf writes them: packets of the Arm Architecture Reference Manual, in
perf's records of trace data."""

import random
import struct

import ibs_file as f

N1, UNKNOWN = "0x00000000413fd0c1", "0x00000000c00fac30"  # the latter says nothing that is known of data sources
SAMPLE_TYPE = f.IDENTIFIER | f.IP | f.TID | f.TIME | f.CPU
AUXTRACE_INFO, AUXTRACE, TIME_CONV, AUX = 70, 71, 79, 11
SOURCES = {0x8: "L2 cache", 0x9: "another core", 0xA: "L3 or a core of the same cluster", 0xB: "system cache",
           0xC: "cache of another cluster", 0xD: "another socket, cache or memory", 0xE: "local memory"}


def packet(header, value, size):
    return bytes([header]) + value.to_bytes(size, "little")


def sampled(ip, data, latency, source, events, tid=None, store=0, time=None, padding=0):
    """The packets of one load or store; ip and data may be the kernel's."""
    level = 1 if ip >> 63 else 0
    out = packet(0xB0, (ip & ((1 << 56) - 1)) | level << 61 | 1 << 63, 8)
    out += packet(0x65, tid, 4) if tid is not None else b""
    out += packet(0x49, store, 1) + packet(0x52, events, 2)
    out += packet(0x99, 7, 2) + packet(0x98, latency, 2) + packet(0x9A, 3, 2)
    out += packet(0xB2, data & ((1 << 56) - 1) | 0xA << 60, 8)  # with a tag
    out += packet(0x43, source, 1) if source is not None else b""
    out += bytes(padding)
    return out + (packet(0x71, time, 8) if time is not None else b"\x01")


def branch(ip):
    place = ip | 1 << 63
    return packet(0xB0, place, 8) + packet(0x4A, 0, 1) + packet(0x42, 2, 1) + packet(0xB1, place, 8) + b"\x01"


def auxtrace(data, tid=-1, cpu=0):
    """The record, and the data behind it."""
    data += b"\0" * (-len(data) % 8)
    return f.record(AUXTRACE, struct.pack("<QQQIiII", len(data), 0, 0, cpu, tid, cpu, 0), 0) + data


def head():
    """What is before all others: the kind of trace; and that a tick is 40 ns, from 1000 ns on."""
    return [f.record(AUXTRACE_INFO, struct.pack("<IIQQ", 4, 0, f.SPE, 1), 0),
            f.record(TIME_CONV, struct.pack("<QQQ", 1, 80, 1000), 0)]


def loads(library, inode, offset, count=2000):
    """Records, and what each used load was, of the tasks of ibs_file.tasks()."""
    dice = random.Random(17)
    records = head() + [r for r in f.tasks(library, inode, offset, 0)[0] if r[0] != f.SAMPLE]
    truth, data = [], b""
    for i in range(count):
        pid, tid, thread = dice.choice(((1000, 1000, "reader"), (1000, 1002, "worker"), (1001, 1001, "child")))
        place, page = offset + 4 * dice.randrange(16), 0x7F0000000008 + 4096 * dice.randrange(30)
        ip = 0x550000000200 if pid == 1001 else 0x7F1200000000 + place
        ip = 0xFFFF800008001234 if dice.random() < 0.1 else ip
        source, latency = dice.choice(list(SOURCES)), dice.randrange(10, 2000)
        events = 0x2 | 0x4 | 0x8
        what = dice.random()
        if what < 0.1:
            data += branch(0x401000)
        elif what < 0.2:
            data += sampled(ip, page, latency, None, events, tid, store=1)
        elif what < 0.3:
            data += sampled(ip, page, 5, 0, 0x6, tid)
        else:
            data += sampled(ip, page, latency, source, events | 0x200 * (source == 0xE), tid, time=i, padding=i % 3)
            truth.append({"pid": pid, "tid": tid, "thread": thread, "ip": ip, "page": page & ~4095,
                          "latency": latency, "source": SOURCES[source]})
    half = len(data) // 2
    return [*records, auxtrace(data), f.record(AUX, struct.pack("<QQQ", 0, half, 1) + struct.pack(
        "<iiQQQ", 0, 0, 10**9, 0, 100), 0)], truth

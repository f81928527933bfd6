# SPDX-License-Identifier: MIT
"""Recordings of Arm's SPE, byte by byte as perf writes them: packets of the Arm Architecture Reference Manual, in
perf's records of trace data."""

import pathlib
import random
import struct

import ibs_file as f

N1, UNKNOWN = "0x00000000413fd0c1", "0x00000000c00fac30"  # the latter says nothing that is known of data sources
SAMPLE_TYPE = f.IDENTIFIER | f.IP | f.TID | f.TIME | f.CPU
AUXTRACE_INFO, AUXTRACE, TIME_CONV, AUX = 70, 71, 79, 11
ITRACE_START, SWITCH, SWITCH_CPU_WIDE = 12, 14, 15
NO_CPU = 0xFFFFFFFF
SWITCHES = 1 << 26  # of an event's attributes
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


def switch(before, after, time, cpu, out=False):
    """A record of a CPU's switch from one (pid, tid) to another: as the one leaves, or as the other begins."""
    this, other = (before, after) if out else (after, before)
    return f.record(SWITCH_CPU_WIDE, struct.pack("<iiiiQQ", *other, *this, time, cpu), 1 << 13 if out else 0)


def started(task, time, cpu):
    """Who ran when the trace began."""
    return f.record(ITRACE_START, struct.pack("<iiiiQQ", *task, *task, time, cpu), 0)


def with_id(data):
    """The record with an event's id at its end, too."""
    return data[:6] + struct.pack("<H", len(data) + 8) + data[8:] + struct.pack("<Q", 100)


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


# ---- sampling, with spe.c ----

FORMATS = {"ts_enable": "config:0", "pa_enable": "config:1", "pct_enable": "config:2", "jitter": "config:16",
           "branch_filter": "config:32", "load_filter": "config:33", "store_filter": "config:34",
           "event_filter": "config1:0-63", "min_latency": "config2:0-11"}
READER, WORKER, OTHER = (5000000, 5000000), (5000000, 5000002), (5000001, 5000001)  # no process has these numbers
NAMES = {READER: "reader", WORKER: "worker", OTHER: "other"}


def ns(ticks):
    """perf's time of a tick."""
    return 1000 + 40 * ticks


def tree(top, cpus, midr=N1):
    """The files of a machine with SPE."""
    device = pathlib.Path(top, "sys/bus/event_source/devices/arm_spe_0")
    for name, text in {"type": "77", "cpumask": ",".join(map(str, cpus)), "caps/min_interval": "256",
                       "caps/count_size": "12", **{f"format/{n}": bits for n, bits in FORMATS.items()}}.items():
        (device / name).parent.mkdir(parents=True, exist_ok=True)
        (device / name).write_text(text + "\n", encoding="ascii")
    for cpu in cpus:
        path = pathlib.Path(top, f"sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(midr + "\n", encoding="ascii")


def entry(kind, data=b"", flags=0):
    return struct.pack("<III", kind, flags, len(data)) + data


def named(task, cpu):
    """COMM as the kernel writes it beside SPE."""
    data = NAMES[task].encode().ljust(16, b"\0")
    return entry(0, f.record(f.COMM, struct.pack("<ii", *task) + data + struct.pack("<iiQQ", *task, 0, cpu), 0))


def live(top, cpus, stops=8, loads_of_a_stop=600, flags=0, big=None):
    """What the kernel writes on each CPU at each stop, and what the loads are. Tasks take turns; only switches say
    whose a load is. `big`: at this stop, ten times as many loads on the first CPU, which have no room."""
    dice, truth = random.Random(21), []
    for cpu in cpus:
        out = b"".join(named(task, cpu) for task in NAMES) if cpu == cpus[0] else b""
        task, ticks = dice.choice(list(NAMES)), 1
        out += entry(0, started(task, ns(0), cpu))
        for stop in range(stops):
            data, records = b"", b""
            for _ in range(loads_of_a_stop * (10 if stop == big and cpu == cpus[0] else 1)):
                ticks += 1
                source, latency = dice.choice(list(SOURCES)), dice.randrange(10, 2000)
                data += sampled(0x401000, 0x7F0000000008, latency, source, 0xE, time=ticks, padding=ticks % 3)
                truth.append({"tid": task[1], "thread": NAMES[task], "latency": latency, "source": SOURCES[source]})
                if dice.random() < 0.05:
                    after = dice.choice(list(NAMES))
                    records += entry(0, switch(task, after, ns(ticks) + 1, cpu, out=True))
                    records += entry(0, switch(task, after, ns(ticks) + 2, cpu))
                    task = after
            out += records + entry(1, data + b"\0" * (-len(data) % 8), flags) + entry(2)
        pathlib.Path(top, str(cpu)).write_bytes(out)
    return truth

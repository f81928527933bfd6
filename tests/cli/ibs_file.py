#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings of AMD's IBS, byte by byte as perf writes them:  ibs_file.py FILE [CPU]

The samples are those of Linux's arch/x86/events/amd/ibs.c: the size, the capabilities of CPUID
8000_001B, then the registers; their fields are those of AMD's PPR. Around them a perf.data file, whose
header says which CPU it was, so that perf decodes them, too.

CPU is milan or genoa: the loads of what they say of their work are drawn at random, from a seed.

`tasks` below makes loads of processes and threads, with perf's records of their names and mappings."""

import pathlib
import random
import struct
import sys

OP, FETCH, SOFTWARE, SPE = 11, 10, 1, 12  # PMU types
RAW, IP, TID, TIME, ID, CPU, IDENTIFIER = 1 << 10, 1, 2, 4, 1 << 6, 1 << 7, 1 << 16
SAMPLE, LOST, THROTTLE, FINISHED_ROUND, LOST_SAMPLES = 9, 2, 5, 68, 13
MMAP, COMM, FORK, MMAP2 = 1, 3, 7, 10
WITH_TASKS = IDENTIFIER | IP | TID | TIME | CPU | RAW
ZEN4, BRANCH_TARGET, OP_DATA4 = 1 << 11, 1 << 5, 1 << 10
CPUS = {  # family, model, capabilities, as far as they are known to matter
    "milan": (25, 1, 0x1FF | BRANCH_TARGET),
    "rome": (23, 49, 0x1FF | BRANCH_TARGET),
    "genoa": (25, 17, 0x1FF | BRANCH_TARGET | ZEN4),
}


def field(value, first, bits):
    """A value into its bits, checked."""
    assert 0 <= value < 1 << bits, (value, first, bits)
    return value << first


def op(load=1, store=0, miss=1, l2_miss=1, latency=0, source=0, remote=0, uncached=0, prefetch=0, no_mab=0,
       valid=1, enabled=1, to_retire=0, hit_state=0):
    """The registers of one op: control, RIP, data, data 2, data 3, linear and physical address, branch target."""
    control = field(62500, 0, 16) | field(enabled, 17, 1) | field(valid, 18, 1) | field(1, 19, 1)
    data = field(7, 0, 16) | field(to_retire, 16, 16)
    data2 = field(source & 7, 0, 3) | field(remote, 4, 1) | field(hit_state, 5, 1) | field(source >> 3, 6, 2)
    data3 = (field(load, 0, 1) | field(store, 1, 1) | field(miss, 7, 1) | field(uncached, 14, 1)
             | field(no_mab, 16, 1) | field(1, 17, 1) | field(1, 18, 1) | field(l2_miss, 20, 1)
             | field(prefetch, 21, 1) | field(4, 22, 4) | field(latency, 32, 16))
    return [control, 0x401000, data, data2, data3, 0x7F0000001000, 0x12345000, 0]


def record(kind, payload, misc=2):
    """A record with its header."""
    return struct.pack("<IHH", kind, misc, 8 + len(payload)) + payload


def sample(registers, caps, before=b""):
    """A sample: what stands before the raw data, then that."""
    raw = struct.pack(f"<I{len(registers)}Q", caps, *registers)
    return record(SAMPLE, before + struct.pack("<I", len(raw)) + raw)


def text(string):
    """A string of perf's header."""
    data = string.encode() + b"\0"
    data += b"\0" * (-len(data) % 64)
    return struct.pack("<I", len(data)) + data


def attribute(kind, sample_type, flags=0):
    """A perf_event_attr of 128 bytes; period 1,000,000, by micro-ops; disabled, with sample_id_all."""
    words = [kind | 128 << 32, 1 << 19, 1000000, sample_type, 0, 1 | 1 << 18 | flags]
    return struct.pack("<6Q", *words) + b"\0" * 80


def perf_data(path, cpu, records, sample_type=RAW, others=(), flags=0):
    """Writes the file. `others`: types of further events; every event's id is 100 plus its place. `cpu` may also be
    the MIDR of an Arm CPU, "0x...", whose samples are those of SPE. `flags`: of the events' attributes."""
    is_arm = cpu.startswith("0x")
    family, model, caps = (0, 0, 0) if is_arm else CPUS[cpu]
    kinds = [SPE if is_arm else OP, *others]
    ids = b"".join(struct.pack("<Q", 100 + i) for i in range(len(kinds)))
    attrs_at = 104 + len(ids)
    attrs = b"".join(attribute(kind, sample_type, flags) + struct.pack("<QQ", 104 + 8 * i, 8)
                     for i, kind in enumerate(kinds))
    data_at = attrs_at + len(attrs)
    data = b"".join(records)
    mappings = struct.pack("<I", 3) + b"".join(struct.pack("<I", n) + text(name) for n, name in
                                               ((SOFTWARE, "software"), (FETCH, "ibs_fetch"),
                                                (SPE, "arm_spe_0") if is_arm else (OP, "ibs_op")))
    names = [("zen4_ibs_extensions", "1")] if caps & ZEN4 else []
    pmu_caps = struct.pack("<II", 1, len(names)) + b"".join(text(a) + text(b) for a, b in names) + text("ibs_op")
    features = {9: text(cpu if is_arm else f"AuthenticAMD,{family},{model},1"), 16: mappings}
    features.update({} if is_arm else {31: pmu_caps})
    table_at = data_at + len(data)
    at = table_at + 16 * len(features)
    table = b""
    for bit in sorted(features):
        table += struct.pack("<QQ", at, len(features[bit]))
        at += len(features[bit])
    head = struct.pack("<8s12Q", b"PERFILE2", 104, 144, attrs_at, len(attrs), data_at, len(data), 0, 0,
                       sum(1 << bit for bit in features), 0, 0, 0)
    pathlib.Path(path).write_bytes(head + ids + attrs + data + table + b"".join(features[b] for b in sorted(features)))


def loads(cpu, count=4000):
    """Ops of a program that reads memory at random, and other ops between them."""
    dice = random.Random(4)
    genoa = CPUS[cpu][2] & ZEN4
    places = [  # share, source, on another node, L2 missed, latency
        (40, 0, 0, 0, 20), (25, 1 if genoa else 2, 0, 1, 70), (20, 3, 0, 1, 480), (8, 3, 1, 1, 800),
        (4, 2 if genoa else 4, 0, 1, 300), *([(3, 8, 0, 1, 900)] if genoa else []),
    ]
    for _ in range(count):
        if dice.random() < 0.4:  # hits, stores, others
            yield op(**dice.choice([{"miss": 0, "l2_miss": 0}, {"load": 0, "store": 1, "latency": 99},
                                    {"load": 0, "miss": 0, "l2_miss": 0}, {"prefetch": 1, "source": 3, "latency": 77},
                                    {"uncached": 1, "latency": 12}, {"no_mab": 1, "source": 3, "latency": 150}]))
            continue
        _, source, remote, l2_miss, middle = dice.choices(places, [p[0] for p in places])[0]
        latency = min(int(dice.lognormvariate(0, 0.35) * middle) + 1, 0xFFFF)
        yield op(source=source, remote=remote, l2_miss=l2_miss, latency=latency, to_retire=min(latency + 30, 0xFFFF))


def named(kind, head, name, task, time, misc=2):
    """A record with a text, for a thread: its head, the text, and the fields of all records at its end."""
    data = name.encode() + b"\0"
    data += b"\0" * (-len(data) % 8)
    return record(kind, head + data + struct.pack("<iiQQQ", *task, time, 0, 100), misc)


def comm(task, name, time, is_exec=False):
    return named(COMM, struct.pack("<ii", *task), name, task, time, 1 << 13 if is_exec else 0)


def fork(parent, child, time):
    """The record has the end of the parent."""
    head = struct.pack("<iiiiQ", child[0], parent[0], child[1], parent[1], time)
    return record(FORK, head + struct.pack("<iiQQQ", *parent, time, 0, 100), 0)


def mmap2(task, place, name, time, inode):
    """place: start, size, offset in the file."""
    head = struct.pack("<iiQQQIIQQII", *task, *place, 8, 1, inode, 0, 5, 2)
    return named(MMAP2, head, name, task, time)


def task_sample(task, time, registers, caps):
    """A sample with all fields of WITH_TASKS."""
    data = sample(registers, caps, struct.pack("<QQiiQQ", 100, registers[1], *task, time, 0))
    return struct.pack("<IHH", SAMPLE, 1 if registers[1] >> 63 else 2, len(data)) + data[8:]


def tasks(library, inode, offset, count=3000):
    """Records of two processes, one of which has two threads; and of each load what it was: process's and thread's
    number and name, object, place in it, page, source, on another node, latency. `library` is mapped; a function
    of 64 bytes or more is at `offset`."""
    dice, caps = random.Random(30), CPUS["genoa"][2]
    reader, child, worker = (1000, 1000), (1001, 1001), (1000, 1002)
    start, other, kernel = 0x7F1200000000, 0x550000000000, 0xFFFFFFFF81001234
    records = [
        named(MMAP, struct.pack("<iiQQQ", -1, 0, kernel - 0x1234, 1 << 24, kernel - 0x1234), "[kernel.kallsyms]_text",
              (-1, 0), 0, 1),
        comm(reader, "reader", 0), mmap2(reader, (start, 1 << 26, 0), library, 0, inode),
        # Later than samples of the child from before its exec: perf's records are in the order of CPUs.
        comm(child, "child", 60, True), mmap2(child, (other, 1 << 20, 0x1000), "/no/such/program", 61, 5),
        fork(reader, child, 50), fork(reader, worker, 70), comm(worker, "worker", 71),
    ]
    truth = []
    for time in [55, 56, *range(100, 100 + count)]:
        task = child if time < 60 else dice.choice((reader, reader, child, worker))
        is_child = task == child and time >= 60
        place = offset + 4 * dice.randrange(16)
        address, thing = (other + 0x200, "/no/such/program") if is_child else (start + place, library)
        place = 0x1200 if is_child else place
        if dice.random() < 0.1:
            address, place, thing = kernel, kernel, "[kernel]"
        data, source, remote, latency = (0x7F0000000008 + 4096 * dice.randrange(40), dice.choice((1, 3, 3, 8)),
                                         dice.randrange(2), dice.randrange(50, 900))
        registers = op(source=source, remote=remote, latency=latency)
        registers[1], registers[5] = address, data
        records.append(task_sample(task, time, registers, caps))
        name = "child" if is_child else "reader"
        truth.append({"pid": task[0], "tid": task[1], "process": name, "object": thing, "place": place,
                      "thread": "worker" if task == worker else name, "page": data & ~4095,
                      "source": source, "remote": remote, "latency": latency})
    return records, truth


def main():
    """The file."""
    cpu = sys.argv[2] if len(sys.argv) > 2 else "genoa"
    records = [sample(registers, CPUS[cpu][2]) for registers in loads(cpu)]
    records[100:100] = [record(LOST, struct.pack("<QQ", 100, 17)), record(THROTTLE, b"\0" * 24)]
    perf_data(sys.argv[1], cpu, records)


if __name__ == "__main__":
    main()

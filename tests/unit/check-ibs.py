#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decoded ops against perf's own decoder:  check-ibs.py DECODE-IBS

Registers at random, in files of each generation and of several layouts, are shown by
`perf report -D`; every field that the library decodes must be the same, and what answered must be
what perf's words say. Status 77: no perf here that knows IBS."""

import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import ibs_file  # noqa: E402

COUNT = 1500
FIELDS = ("LdOp", "DcMiss", "L2Miss", "DcUcMemAcc", "DcMissNoMabAlloc", "SwPf", "DcMissLat", "RmtNode")
# perf's words for a data source (6.1, and later ones), and ours: of this node, and of another one.
SOURCES = {
    r"|\(reserved\)": ("not said",) * 2,
    r"Local L3 or other L1/L2 in CCX": ("L3 or a core of the same complex",) * 2,
    r"A peer cache in a near CCX|Another CCX cache in the same NUMA node": ("cache of another core complex",) * 2,
    r"A peer cache in a far CCX|Another CCX cache in a different NUMA node": ("cache of another node",) * 2,
    r"(Data returned from )?DRAM": ("local memory", "remote memory"),
    r"DRAM address map with \"long latency\" bit set|Long-latency DIMM":
        ("local long-latency memory", "remote long-latency memory"),
    r"(Data returned from )?MMIO/Config/PCI/APIC|Other": ("device (MMIO, configuration)",) * 2,
    r"Extension Memory.*": ("local extension memory (CXL)", "remote extension memory (CXL)"),
    r"Peer Agent Memory|Coherent Memory of a different processor type": ("memory of another kind of processor",) * 2,
    r"Local node cache": ("L3 or another cache of the node",) * 2,
    r"Remote node cache": ("cache of another node",) * 2,
}
seen_sources = set()


def registers(dice):
    """Eight registers at random; most say that they are valid, as perf shows no others."""
    words = [dice.getrandbits(64) for _ in range(8)]
    if dice.random() < 0.95:
        words[0] |= 3 << 17
    return words


def layouts():
    """(sample_type, what stands before the raw data, other events)"""
    full = ibs_file.IDENTIFIER | ibs_file.IP | ibs_file.TID | ibs_file.TIME | ibs_file.CPU | ibs_file.RAW
    by_id = ibs_file.IP | ibs_file.TID | ibs_file.TIME | ibs_file.ID | ibs_file.CPU | ibs_file.RAW
    return [(ibs_file.RAW, b"", ()), (full, struct.pack("<5Q", 100, 0x401000, 1, 2, 3), (ibs_file.SOFTWARE,)),
            (by_id, struct.pack("<5Q", 0x401000, 1, 2, 100, 3), (ibs_file.SOFTWARE,))]


def perf_says(path):
    """A dictionary for each sample that perf decodes, in order."""
    run = subprocess.run(["perf", "report", "-D", "--stdio", "-i", path], capture_output=True, text=True, check=False,
                         env={**os.environ, "LC_ALL": "C"}, timeout=100)
    ops = []
    for line in run.stdout.splitlines():
        if line.startswith("ibs_op_ctl:"):
            ops.append({"data2": False})
        elif line.startswith(("ibs_op_data:", "ibs_op_data2:", "ibs_op_data3:")):
            ops[-1].update((k, int(v)) for k, v in re.findall(r"\b([A-Z]\w+) +(\d+)", line))
        if line.startswith("ibs_op_data2:"):
            found = re.search(r"DataSrc (\d+)=(.*)", line)
            ops[-1]["data2"] = True
            ops[-1]["source"] = found.group(2).strip() if found else ""
            ops[-1]["DataSrc"] = int(found.group(1)) if found else None
    return ops


def we_say(decoder, path):
    """The same of the library; those that are not valid apart."""
    text = subprocess.run([decoder, path], capture_output=True, text=True, check=True).stdout
    ops = [({k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", line)}, line.partition(":")[2])
           for line in text.splitlines()]
    return [op for op in ops if op[0]["valid"]], len(ops)


def expected_source(theirs, ours):
    """What must have answered, by perf's words."""
    if ours["DcMissNoMabAlloc"]:
        return "a miss already under way"
    if not theirs["L2Miss"]:
        return "L2 cache"
    words = [pattern for pattern in SOURCES if re.fullmatch(pattern, theirs["source"])]
    seen_sources.update(words)
    return SOURCES[words[0]][theirs["RmtNode"]] if words else theirs["source"]


def compare(name, theirs, ours, source):
    """The complaints about one op."""
    # perf keeps quiet of what erratum 1293 makes invalid.
    for field in FIELDS:
        if field in theirs and theirs[field] != ours[field]:
            yield f"{name}: {field} is {theirs[field]} to perf and {ours[field]} to us"
        if field not in theirs and field not in ("L2Miss", "RmtNode"):
            yield f"{name}: perf does not show {field}"
    if theirs.get("DataSrc") is not None and theirs["DataSrc"] != ours["DataSrc"]:
        yield f"{name}: DataSrc is {theirs['DataSrc']} to perf and {ours['DataSrc']} to us"
    if theirs["data2"] and "L2Miss" in theirs and source != expected_source(theirs, ours):
        yield f"{name}: '{source}' and not '{expected_source(theirs, ours)}'"


def main():
    """Every CPU and layout."""
    decoder, complaints, compared = sys.argv[1], [], 0
    if not shutil.which("perf"):
        print("no perf here")
        sys.exit(77)
    dice = random.Random(1293)
    with tempfile.TemporaryDirectory() as directory:
        for cpu, (_, _, caps) in ibs_file.CPUS.items():
            for sample_type, before, others in layouts():
                path = f"{directory}/perf.data"
                records = [ibs_file.sample(registers(dice), caps, before) for _ in range(COUNT)]
                ibs_file.perf_data(path, cpu, records, sample_type, others)
                theirs, (ours, count) = perf_says(path), we_say(decoder, path)
                if not theirs:
                    print("this perf does not decode IBS")
                    sys.exit(77)
                if len(theirs) != len(ours) or count != COUNT:
                    complaints.append(f"{cpu}: {len(theirs)} ops to perf, {len(ours)} valid of {count} to us")
                for i, (a, (b, source)) in enumerate(zip(theirs, ours)):
                    complaints += compare(f"{cpu}, op {i}", a, b, source)
                compared += len(ours)
    if seen_sources != set(SOURCES):
        complaints.append(f"sources that never came: {set(SOURCES) - seen_sources}")
    print("\n".join(complaints[:20]) or f"{compared} ops, {len(FIELDS) + 2} fields each: as perf has them")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()

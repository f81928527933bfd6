#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trees with devices that count in files, for devices.bats. The layouts are written down from the headers of kernels by
order and type of their members, not from the data files:

devices.py metrics VERSION FILE [NAME=VALUE...]   gpu_metrics of AMD; a member without a value has all its bits set
devices.py telemetry GUID FILE [OFFSET:BYTES=VALUE...]
devices.py advance FILE RATE                      adds RATE to the number in the file each 5 ms, until a signal"""

import os
import pathlib
import struct
import sys
import time

SIZES = {"B": 1, "H": 2, "I": 4, "Q": 8}
# linux drivers/gpu/drm/amd/include/kgd_pp_interface.h, struct gpu_metrics_vN: types of members in their order. A name
# before a colon is a member that the tests set, a number behind the type an array.
OLD_CLOCKS = "H14 I H"
OLD = "H6 H memory_busy:H H power:H"
MI300_LINKS = "H H H H I memory_samples:I pcie_samples:Q Q Q Q Q"
XGMI = "xgmi_read:Q8 xgmi_write:Q8"
CLOCKS = "H8 H4 H4 H4 H"  # of graphics, system, video, display and memory, MI300
LAYOUTS = {
    "1.0": f"Q {OLD} energy:I {OLD_CLOCKS} B B",
    "1.1": f"{OLD} energy:Q Q {OLD_CLOCKS} H H H I I H4",
    "1.2": f"{OLD} energy:Q Q {OLD_CLOCKS} H H H I I H4 Q",
    "1.3": f"{OLD} energy:Q Q {OLD_CLOCKS} H H H I I H4 Q H3 H Q",
    "1.4": f"H3 power:H H memory_busy:H H4 energy:Q Q I I {MI300_LINKS} {XGMI} Q {CLOCKS} H",
    "1.5": f"H3 power:H H memory_busy:H H4 H32 energy:Q Q I I {MI300_LINKS} I I {XGMI} Q {CLOCKS} H",
    "1.6:384": f"H3 power:H H memory_busy:H H4 H32 energy:Q Q samples:I I5 I I {MI300_LINKS} I I {XGMI} Q {CLOCKS} H",
    "1.6:312": f"H3 power:H H memory_busy:H energy:Q Q samples:I I5 I {MI300_LINKS} I I {XGMI} Q {CLOCKS} H",
    "1.7": f"H3 power:H H memory_busy:H memory_peak:Q energy:Q Q samples:I I5 I {MI300_LINKS} I I {XGMI} H8 H Q {CLOCKS} H I",
    "3.0": "H H H16 H H H H8 H16 dram_reads:H dram_writes:H H H Q I H I I I I H16 H H H H8 H16 H2 I7 I",
}
LAYOUTS["1.6"] = LAYOUTS["1.6:312"]
LAYOUTS["1.8"] = LAYOUTS["1.7"]
# What files of real GPUs have, with members for each partition behind those above.
LENGTHS = {"1.0": 80, "1.1": 96, "1.2": 104, "1.3": 120, "1.4": 288, "1.5": 360, "1.6": 312, "1.6:312": 312, "1.6:384": 384,
           "1.7": 2208, "1.8": 3872}
# The attributes of 1.9 by number: type and how many values; 6 is 64 bits, 4 is 32, 2 is 16.
ATTRIBUTES = {0: (2, 1), 1: (2, 1), 2: (2, 1), 3: (2, 1, "power"), 4: (2, 1), 5: (2, 1, "memory_busy"), 6: (6, 1, "memory_peak"),
              7: (6, 1, "energy"), 8: (6, 1), 9: (4, 1, "samples"), 10: (4, 1), 16: (2, 1), 17: (2, 1), 20: (4, 1),
              21: (4, 1, "memory_samples"), 22: (6, 1, "pcie_samples"), 23: (6, 1), 29: (6, 8, "xgmi_read"),
              30: (6, 8, "xgmi_write"), 31: (2, 8), 32: (6, 1)}
TYPES = {2: "H", 4: "I", 6: "Q"}


def numbers(text, count):
    """"5" for the first of an array, "1,2,-": - is a member that the device does not give."""
    given = [None if word == "-" else int(word) for word in text.split(",")] if text else []
    return given + [None] * (count - len(given))


def packed(kind, values):
    size = SIZES[kind]
    return b"".join((256**size - 1 if v is None else v).to_bytes(size, "little") for v in values)


def members(layout, values):
    data = bytearray(4)
    for word in layout.split():
        name, _, kind = word.rpartition(":")
        count = int(kind[1:] or 1)
        data += b"\0" * (-len(data) % SIZES[kind[0]])
        data += packed(kind[0], numbers(values.get(name, ""), count))
    return data + b"\0" * (-len(data) % (8 if "Q" in layout else 4))


def attributes(values):
    data = bytearray(4) + struct.pack("<i", len(ATTRIBUTES))
    for number, (kind, count, *name) in ATTRIBUTES.items():
        data += struct.pack("<Q", kind << 20 | number << 10 | count)
        data += packed(TYPES[kind], numbers(values.get(name[0], "") if name else "", count))
    return data


def metrics(version, values):
    data = attributes(values) if version == "1.9" else members(LAYOUTS[version], values)
    data += b"\xff" * (LENGTHS.get(version, len(data)) - len(data))
    size = LENGTHS.get(version, len(data))
    assert len(data) == size, (version, len(data))
    struct.pack_into("<HBB", data, 0, size, *(int(n) for n in version.partition(":")[0].split(".")))
    return bytes(data)


def telemetry(words):
    data = bytearray(4096)
    for word in words:
        where, value = word.split("=")
        at, size = (int(n) for n in where.split(":"))
        data[at:at + size] = int(value).to_bytes(size, "little")
    return bytes(data)


def put(path, data):
    """In place, as a driver: readers have the file open."""
    with open(path, "r+b" if os.path.exists(path) else "wb") as f:
        f.write(data)
        f.truncate()


def advance(path, step):
    value = int(pathlib.Path(path).read_text(encoding="ascii"))
    fd = os.open(path, os.O_RDWR)
    while True:
        time.sleep(0.005)
        value += step
        os.pwrite(fd, b"%d\n" % value, 0)


def main():
    what, kind, *rest = sys.argv[1:]
    if what == "metrics":
        put(rest[0], metrics(kind, dict(word.split("=") for word in rest[1:])))
    elif what == "telemetry":
        put(rest[0], telemetry(rest[1:]))
        pathlib.Path(rest[0]).with_name("guid").write_text(kind + "\n", encoding="ascii")
    else:
        advance(kind, int(rest[0]))


if __name__ == "__main__":
    main()

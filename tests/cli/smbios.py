#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables of memory modules, and what others read of them.

smbios.py write MACHINE ROOT   writes ROOT/sys/firmware/dmi/tables/DMI, and ROOT/dump, which has an entry
                               point before the same table, as dmidecode and dmi_memory_id want it
smbios.py udev ROOT            writes ROOT/run/udev/data/+dmi:id by dmi_memory_id of systemd
smbios.py entries ROOT         writes the table's arrays and modules as the driver dmi-sysfs shows them, in its place
smbios.py judge ROOT           prints what dmidecode reads: "MODULES WIDTH RATED CONFIGURED" of those
                               that are there, each value once

Structures after DSP0134 3.3: entry point 5.2.2, memory array 7.17, memory device 7.18, end 7.45.
"""

import os
import pathlib
import re
import struct
import subprocess
import sys

DDR4, DDR5, LPDDR5, HBM3, FLASH, PERSISTENT = 0x1a, 0x22, 0x23, 0x24, 0x09, 0x1f
MEMORY_ID = "/usr/lib/udev/dmi_memory_id"


def device(locator, bank, kind=DDR5, size=32768, width=64, rated=4800, configured=4800, array=0x1000):
    return locals()


def letters(pattern, bank, names="ABCDEFGH", slots=1, **more):
    return [device(pattern.format(c, s + 1), bank, **more) for c in names for s in range(slots)]


MACHINES = {
    # eight channels, one module each
    "spr": letters("CPU1_DIMM_{}{}", "NODE 1"),
    # two modules on each channel, the slower of two speeds
    "twice": letters("CPU1_DIMM_{}{}", "NODE 1", slots=2, configured=4400)[:-1]
    + [device("CPU1_DIMM_H2", "NODE 1", configured=4000)],
    # half of the slots empty: theirs are no channels; beside them what is no DRAM
    "half": letters("P1-DIMM{}{}", "P0_Node0_Channel0_Dimm0", "ABCD")
    + letters("P1-DIMM{}{}", "P0_Node0_Channel0_Dimm0", "EFGH", size=0, width=0xffff, rated=0, configured=0)
    + [device("SYSTEM ROM", "", FLASH, 32, 8, 0, 0), device("P1-DIMMA2", "", PERSISTENT, 0x7fff)]
    + [device("CXL 1", "", array=0x1001)],
    # what no text tells: fifteen modules; sixteen, two for each PMU
    "untold": [device(f"PROC 1 DIMM {i}", "Not Specified") for i in range(1, 16)],
    "filled": [device(f"PROC 1 DIMM {i}", "Not Specified") for i in range(1, 17)],
    # a clock of half the transfers; speeds of more than 16 bits; ECC counted in
    "clock": letters("CPU1_DIMM_{}{}", "NODE 1", kind=DDR4, width=72, rated=2133, configured=1067),
    "fast": letters("CPU1_DIMM_{}{}", "NODE 1", kind=HBM3, rated=65536, configured=65536),
    # a board of two generations of firmware: the clocks of modules that run below their rating
    "slowed": letters("CPU1_DIMM_{}{}", "NODE 1", "ABCD", kind=DDR4, rated=2666, configured=1333)
    + letters("CPU1_DIMM_{}{}", "NODE 1", "EFGH", kind=DDR4, rated=3200, configured=1333),
    "impossible": letters("CPU1_DIMM_{}{}", "NODE 1", kind=DDR4, rated=3200, configured=700),
    # NVIDIA Grace: all channels in one entry, and the configured speed not told
    "grace": [device("LP5x_0", "LP5x_0", LPDDR5, 245760, 480, 8532, 0)],
    # a guest of QEMU
    "guest": [device("DIMM 0", "Not Specified", 7, 4096, 0xffff, 0, 0)],
    "none": [],
}


def entry(kind, handle, body, texts):
    strings = b"".join(t.encode() + b"\0" for t in texts) + (b"\0" if texts else b"\0\0")
    return struct.pack("<BBH", kind, len(body) + 4, handle) + body + strings


def memory_array(handle, location):
    # location, use (system memory), correction, capacity, error handle, devices, extended capacity
    return entry(16, handle, struct.pack("<BBBIHHQ", location, 3, 6, 0x80000000, 0xfffe, 64, 1 << 45), [])


def speeds(mts):
    return (0xffff, mts) if mts >= 0xffff else (mts, 0)


def memory_device(handle, d):
    rated, rated_more = speeds(d["rated"])
    configured, configured_more = speeds(d["configured"])
    size, size_more = (0x7fff, d["size"]) if d["size"] >= 0x7fff else (d["size"], 0)
    texts = [d["locator"]] + ([d["bank"]] if d["bank"] else []) + ["maker"]
    body = struct.pack(
        "<HHHHHBBBBBHHBBBBBIHHHHBHBHHHHQQQQII",
        d["array"], 0xfffe, d["width"], d["width"], size, 9, 0,
        1, 2 if d["bank"] else 0, d["kind"], 0x80, rated, len(texts), 0, 0, 0, 1, size_more, configured,
        1100, 1100, 1100, 3, 8, 0, 0, 0, 0, 0, d["size"] << 20, 0, 0, 0, rated_more, configured_more)
    return entry(17, handle, body, texts)


def write(machine, root):
    table = memory_array(0x1000, 3) + memory_array(0x1001, 0xa4)
    for i, d in enumerate(MACHINES[machine]):
        table += memory_device(0x1100 + i, d)
    table += entry(127, 0xfeff, b"", [])
    path = pathlib.Path(root, "sys/firmware/dmi/tables/DMI")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(table)
    point = bytearray(b"_SM3_\0\x18\3\3\0\1\0" + struct.pack("<IQ", len(table), 32))
    point[5] = -sum(point) & 0xff
    pathlib.Path(root, "dump").write_bytes(bytes(point).ljust(32, b"\0") + table)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def udev(root):
    if not os.access(MEMORY_ID, os.X_OK):
        sys.exit(77)
    record = pathlib.Path(root, "run/udev/data/+dmi:id")
    record.parent.mkdir(parents=True, exist_ok=True)
    lines = run(MEMORY_ID, "-F", f"{root}/dump").splitlines()
    record.write_text("I:1\n" + "".join(f"E:{line}\n" for line in lines) + "V:1\n", encoding="utf-8")


def entries(root):
    table = pathlib.Path(root, "sys/firmware/dmi/tables/DMI")
    data, at, numbers = table.read_bytes(), 0, {}
    while data[at] != 127:
        end = data.index(b"\0\0", at + data[at + 1]) + 2
        number = numbers[data[at]] = numbers.get(data[at], -1) + 1
        raw = pathlib.Path(root, f"sys/firmware/dmi/entries/{data[at]}-{number}/raw")
        raw.parent.mkdir(parents=True)
        raw.write_bytes(data[at:end])
        at = end
    table.unlink()


def judge(root):
    found = []
    for text in run("dmidecode", "--from-dump", f"{root}/dump", "-t", "17").split("\n\n"):
        values = dict(re.findall(r"^\t([^:]*): (.*)$", text, re.M))
        if values and values["Size"] != "No Module Installed":
            found.append(values)
    keys = ("Data Width", "Speed", "Configured Memory Speed")
    print(len(found), *(",".join(sorted({v[key].split()[0] for v in found})) for key in keys))


if __name__ == "__main__":
    {"write": write, "udev": udev, "entries": entries, "judge": judge}[sys.argv[1]](*sys.argv[2:])
